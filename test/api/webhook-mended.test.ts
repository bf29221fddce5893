import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization } from '../support/people.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const EVENTS = ['data-source-created']
/** A failure that takes longer lets the endpoint rest. */
const SLOW_MS = 2_500

describe('A webhook that gets another address while the old one has yet to answer', () => {
  const { server, database } = useServer({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  let owner: Client
  let receiver: Receiver
  let dataTypeId: string
  let answer = (_status: number) => {}

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
    dataTypeId = (await owner.post('/data-type', { name: 'Customer' })).body.data._id
    receiver = await startReceiver((request, response: ServerResponse) => {
      if (!request.url?.startsWith('/old')) response.end('fine')
      else answer = status => response.writeHead(status).end()
    })
  })
  afterAll(() => receiver.close())

  const addRecord = () => owner.post('/data', { dataTypeId, data: {} })

  const restOf = async (id: string) => {
    const db = await openTestDatabase(database)
    const [row] = await db.system.query(
      `SELECT slow_failures AS "slowFailures", rests_until > now() AS rests FROM webhooks WHERE id = $1`,
      [id],
    )
    await db.close()
    return row
  }

  it.each([
    ['gone', 410, 0],
    ['slow', 500, SLOW_MS],
  ])(
    'stays active, does not rest and gets everything, where the old one is %s',
    async (name, status, afterMs) => {
      const [old, mended] = [`/old-${name}`, `/mended-${name}`]
      const given = { url: `${receiver.url}${old}`, events: EVENTS }
      const { _id } = (await owner.post('/webhook', given)).body.data
      await addRecord()
      await receiver.wait(old, 1)
      await new Promise(resolve => setTimeout(resolve, afterMs))
      const changed = await owner.put(`/webhook/${_id}`, { ...given, url: `${receiver.url}${mended}` })
      expect(changed.status).toBe(200)
      // One waits for its turn while the old address answers.
      await addRecord()
      answer(status)
      const list = async () => (await owner.get(`/webhook/${_id}/deliveries`)).body.data
      await until('the answer is noted', async () => (await list()).at(-1).attempts.length >= 1)
      expect((await owner.get(`/webhook/${_id}`)).body.data.status).toBe('active')
      expect(await restOf(_id)).toEqual({ slowFailures: 0, rests: false })
      const received = await receiver.wait(mended, 2)
      expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
      await owner.delete(`/webhook/${_id}`)
    },
  )
})
