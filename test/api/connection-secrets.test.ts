import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { addConnection, readConnection, type TestConnection } from '../support/connections.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type ScriptedBroker, startScriptedBroker } from '../support/scripted-broker.ts'
import { openServer, type Server } from '../support/server.ts'
import { until } from '../support/wait.ts'

const OLD = 'the old secret of the server is long enough'
const NEW = 'the new secret of the server is long enough'

describe.runIf(usualKind() === 'postgres')(
  "A broker's secret that was sealed with another JWT_SECRET",
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'connection-secrets-'))
    const file = join(folder, 'secrets')
    let database: TestDatabase
    let server: Server
    let owner: Client
    let brokers: ScriptedBroker[]
    let connections: TestConnection[]

    const start = async (secrets: string) => {
      writeFileSync(file, secrets)
      const env = { JWT_SECRETS_FILE: file, JWT_SECRET: '', CONNECTIONS_ALLOW_PRIVATE: 'true' }
      server = await openServer(database, env)
      owner = await signIn(server)
    }
    const untilEach = (state: string) =>
      until(`each is ${state}`, async () => {
        const read = await Promise.all(connections.map(one => readConnection(owner, one)))
        return read.every(one => one.state === state)
      })
    beforeAll(async () => {
      database = await createTestDatabase('postgres')
      brokers = [await startScriptedBroker(), await startScriptedBroker()]
      await start(OLD)
      connections = []
      for (const { url } of brokers) {
        const broker = { url, topics: ['a/#'], username: 'me', password: 'of the broker' }
        connections.push(await addConnection(owner, { kind: 'broker', broker }))
      }
      await untilEach('connected')
      await server.stop()
      await start(NEW)
      await untilEach('failed')
    })
    afterAll(async () => {
      await server.stop()
      for (const broker of brokers) await broker.close()
      await database.remove()
      rmSync(folder, { recursive: true })
    })

    it('is not erased by a change of something else, and told about once', async () => {
      const [first] = connections as [TestConnection]
      const answer = await owner.patch(`/connection/${first._id}`, { broker: { topics: ['b/#'] } })
      expect(answer.status).toBe(400)
      expect(answer.body.errors).toMatchObject([
        {
          path: 'broker.password',
          code: 'required',
          message: expect.stringMatching(/^Give this again, or null/),
        },
      ])
      // Fields that are no settings of the broker change.
      expect((await owner.patch(`/connection/${first._id}`, { name: 'Renamed' })).status).toBe(200)
      const db = await openTestDatabase(database)
      await db.system.query('UPDATE connection_states SET last_error = $1 WHERE connection_id = $2', [
        'read by the owner',
        first._id,
      ])
      const before = brokers[0]?.connections
      const second = connections[1] as TestConnection
      const again = { topics: ['b/#'], password: 'entered again' }
      expect((await owner.patch(`/connection/${second._id}`, { broker: again })).status).toBe(200)
      // The process has looked at both by now.
      await until(
        'the second is connected',
        async () => (await readConnection(owner, second)).state === 'connected',
      )
      const kept = await readConnection(owner, first)
      expect([kept.state, kept.lastError, brokers[0]?.connections]).toEqual([
        'failed',
        'read by the owner',
        before,
      ])
      await db.close()
    })

    it('opens without a restart when the old one is among JWT_SECRETS again', async () => {
      writeFileSync(file, `${NEW},${OLD}`)
      await untilEach('connected')
      const connects = brokers.map(({ received }) => received.find(({ cmd }) => cmd === 'connect'))
      expect(connects.map(packet => String((packet as { password?: Buffer }).password))).toEqual([
        'of the broker',
        'entered again',
      ])
    })

    it('may be given up', async () => {
      await server.stop()
      await start('a third secret of the server is long enough')
      await untilEach('failed')
      const [first] = connections as [TestConnection]
      const answer = await owner.patch(`/connection/${first._id}`, { broker: { password: null } })
      expect(answer.status).toBe(200)
      await until('it is connected', async () => (await readConnection(owner, first)).state === 'connected')
      const connect = brokers[0]?.received.find(({ cmd }) => cmd === 'connect')
      expect((connect as { password?: Buffer }).password).toBeUndefined()
    })
  },
)
