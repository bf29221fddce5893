import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { openServer, type Server } from '../support/server.ts'
import { until } from '../support/wait.ts'

const FIRST = { WEBHOOK_ALLOW_PRIVATE: 'true', JWT_SECRET: 'the first secret of the server, long enough' }
const OTHER = { ...FIRST, JWT_SECRET: 'another secret of the server, long enough' }
const EVENTS = ['data-source-created']

describe('The secret of a webhook', () => {
  let database: TestDatabase
  let server: Server
  let owner: Client
  let receiver: Receiver
  let typeId: string

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    receiver = await startReceiver()
    server = await openServer(database, FIRST)
    owner = await signIn(server)
    const fields = [{ key: 'name', label: 'Name', type: 'text' }]
    typeId = (await owner.post('/data-type', { name: 'Customer', fields })).body.data._id
  })
  afterAll(async () => {
    await server.stop()
    await receiver.close()
    await database.remove()
  })

  const restart = async (env: Record<string, string>, meanwhile: () => Promise<unknown> = async () => {}) => {
    await server.stop()
    await meanwhile().finally(async () => {
      server = await openServer(database, env)
      owner = await signIn(server)
    })
  }
  const sql = async (text: string, values: unknown[] = []) => {
    const db = await openTestDatabase(database)
    const rows = await db.system.query<{ secret: string }>(text, values)
    await db.close()
    return rows
  }
  const addWebhook = async (path: string) => {
    const answer = await owner.post('/webhook', { url: `${receiver.url}${path}`, events: EVENTS })
    expect(answer.status).toBe(201)
    return answer.body.data as { _id: string; secret: string }
  }
  const addRecord = () => owner.post('/data', { dataTypeId: typeId, data: { name: 'Ada' } })
  const expectSigned = (path: string, secret: string) => {
    const { body, headers } = receiver.at(path).at(-1) ?? { body: '', headers: {} }
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({ name: 'Ada' })
  }

  it('is stored sealed, and neither the log nor the audit log holds it', async () => {
    const headers = { 'idempotency-key': 'the same' }
    const body = { url: `${receiver.url}/sealed`, events: EVENTS }
    const made = (await owner.post('/webhook', body, headers)).body.data
    const rotated = (await owner.post(`/webhook/${made._id}/rotate-secret`)).body.data
    await addRecord()
    await receiver.wait('/sealed', 1)
    expectSigned('/sealed', rotated.secret)
    expectSigned('/sealed', made.secret)
    expect((await owner.post('/webhook', body, headers)).body.data.secret).toBe(made.secret)
    const audit = JSON.stringify((await owner.get('/audit-log?limit=500')).body)
    // Only one process can open PGlite: its files are read when that process has ended.
    await restart(FIRST, async () => {
      const rows = await sql(
        `SELECT row_to_json(w)::text AS secret FROM webhooks w UNION ALL
         SELECT row_to_json(a)::text FROM audit_log a UNION ALL
         SELECT encode(answer, 'escape') FROM idempotency_keys`,
      )
      const stored = rows.map(({ secret }) => secret).join('\n')
      for (const secret of [made.secret, rotated.secret]) {
        for (const text of [stored, audit, server.output.stderr]) expect(text).not.toContain(secret)
      }
      expect(stored).not.toContain('whsec_')
    })
    await owner.delete(`/webhook/${made._id}`)
  })

  it('that an earlier version stored as it was is sealed at the start, and signs as before', async () => {
    const { _id, secret } = await addWebhook('/plain')
    await restart(FIRST, () => sql('UPDATE webhooks SET secret = $2 WHERE id = $1', [_id, secret]))
    await addRecord()
    await receiver.wait('/plain', 1)
    expectSigned('/plain', secret)
    await restart(FIRST, async () => {
      const [row] = await sql('SELECT secret FROM webhooks WHERE id = $1', [_id])
      expect(row?.secret).not.toContain('whsec_')
    })
    await owner.delete(`/webhook/${_id}`)
  })

  it('cannot be read with another JWT_SECRET: deliveries say so, until it is rotated', async () => {
    const { _id } = await addWebhook('/unreadable')
    const old = owner.token
    await restart(OTHER)
    expect((await createClient(server, old).get('/user')).status).toBe(401)
    await addRecord()
    const newest = async () => (await owner.get(`/webhook/${_id}/deliveries`)).body.data[0]
    let failed = await newest()
    await until('an attempt', async () => {
      failed = await newest()
      return failed?.attempts.length > 0
    })
    // After five seconds there is another one.
    expect([failed.status, failed.attempts[0].statusCode]).toEqual(['pending', null])
    expect(failed.attempts[0].error).toMatch(/Rotate the webhook's secret/)
    expect(receiver.at('/unreadable')).toHaveLength(0)
    const { secret } = (await owner.post(`/webhook/${_id}/rotate-secret`)).body.data
    expect((await owner.post(`/webhook-delivery/${failed._id}/redeliver`)).status).toBe(202)
    await receiver.wait('/unreadable', 1)
    expectSigned('/unreadable', secret)
  })
})
