import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTokens } from '../../ingest/identity/tokens.ts'
import { createBrokerSecrets, renewBrokerSecrets } from '../../src/resources/connections/secrets.ts'
import { createFactorSecrets, renewFactorSecrets } from '../../src/resources/second-factor/secrets.ts'
import { createWebhookSecrets, renewWebhookSecrets } from '../../src/resources/webhooks/secrets.ts'
import { type Client, createClient, signIn } from '../support/client.ts'
import { addConnection } from '../support/connections.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { addPerson } from '../support/people.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { addSecondFactor, challengeFor, codeOf, sendCode } from '../support/second-factor.ts'
import { openServer, type Server } from '../support/server.ts'
import { until } from '../support/wait.ts'

const OLD = 'the old secret of the server is long enough'
const NEW = 'the new secret of the server is long enough'

describe.runIf(usualKind() === 'postgres')('A secret of the server that is replaced', () => {
  const folder = mkdtempSync(join(tmpdir(), 'secret-rotation-'))
  const file = join(folder, 'secrets')
  let database: TestDatabase
  let server: Server
  let owner: Client
  let receiver: Receiver

  const start = async (secrets: string) => {
    writeFileSync(file, secrets)
    const env = { JWT_SECRETS_FILE: file, JWT_SECRET: '', WEBHOOK_ALLOW_PRIVATE: 'true' }
    server = await openServer(database, env)
  }
  beforeAll(async () => {
    database = await createTestDatabase('postgres')
    receiver = await startReceiver()
    await start(OLD)
    owner = await signIn(server)
  })
  afterAll(async () => {
    await server.stop()
    await receiver.close()
    await database.remove()
    rmSync(folder, { recursive: true })
  })

  it('ends no session, silences no webhook, and keeps the keys of yesterday', async () => {
    const fields = [{ key: 'name', label: 'Name', type: 'text' }]
    const typeId = (await owner.post('/data-type', { name: 'Customer', fields })).body.data._id
    const { secret } = (
      await owner.post('/webhook', { url: `${receiver.url}/old`, events: ['data-source-created'] })
    ).body.data
    const url = 'mqtts://127.0.0.1:1'
    const broker = { url, topics: ['a/#'], username: 'me', password: 'of the broker' }
    await addConnection(owner, { kind: 'broker', broker })
    const person = await addPerson(server, owner)
    const factor = await addSecondFactor(person.client)
    const body = { dataTypeId: typeId, data: { name: 'Ada' } }
    const headers = { 'idempotency-key': 'of yesterday' }
    const first = await owner.post('/data', body, headers)

    // Without a restart, and then with one.
    const sessions = owner
    writeFileSync(file, `${NEW},${OLD}`)
    const onlyNew = createWebhookSecrets(NEW)
    await until('the new secret signs', async () => {
      const { token } = await signIn(server)
      return createTokens(NEW).verify(token) !== null
    })
    for (const restarts of [false, true]) {
      if (restarts) {
        await server.stop()
        await start(`${NEW},${OLD}`)
      }
      const before = createClient(server, sessions.token)
      expect((await before.get('/user')).status).toBe(200)
      const again = await before.post('/data', body, headers)
      expect(again.body.data._id).toBe(first.body.data._id)
      const count = receiver.at('/old').length
      await before.post('/data', body)
      await receiver.wait('/old', count + 1)
      const told = receiver.at('/old').at(-1)
      expect(new Webhook(secret).verify(told?.body ?? '', told?.headers as Record<string, string>)).toEqual({
        name: 'Ada',
      })
    }

    const db = await openTestDatabase(database)
    const both = { current: [NEW, OLD] }
    await renewWebhookSecrets(db.system, createWebhookSecrets(both))
    await renewBrokerSecrets(db.system, createBrokerSecrets(both))
    await renewFactorSecrets(db.system, createFactorSecrets(both))
    const webhooks = await db.system.query<{ id: string; secret: string }>('SELECT id, secret FROM webhooks')
    expect(webhooks.map(row => onlyNew.open(row.secret, row.id))).toEqual([secret])
    const brokers = await db.system.query<{ id: string; secrets: string }>(
      'SELECT id, secrets FROM connections',
    )
    expect(brokers.map(row => createBrokerSecrets(NEW).open(row.secrets, row.id)?.password)).toEqual([
      'of the broker',
    ])
    await db.close()

    await server.stop()
    await start(NEW)
    expect((await createClient(server, sessions.token).get('/user')).status).toBe(401)
    const challenge = await challengeFor(server, person)
    expect((await sendCode(server, challenge, codeOf(factor.secret))).status).toBe(200)
    const after = await signIn(server)
    const count = receiver.at('/old').length
    await after.post('/data', body)
    await receiver.wait('/old', count + 1)
    const told = receiver.at('/old').at(-1)
    new Webhook(secret).verify(told?.body ?? '', told?.headers as Record<string, string>)
  })
})
