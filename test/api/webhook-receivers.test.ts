import { describe, expect, it } from 'vitest'
import { signIn } from '../support/client.ts'
import { createTestDatabase, usualKind } from '../support/database.ts'
import { addOrganization } from '../support/people.ts'
import { type Received, startReceiver } from '../support/receiver.ts'
import { openServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const EVENTS = ['data-source-created']

describe('Webhooks to private addresses', () => {
  it('are made, and their deliveries fail with the reason', async () => {
    const database = await createTestDatabase(usualKind())
    const server = await openServer(database)
    const receiver = await startReceiver()
    const { client } = await addOrganization(server, await signIn(server))
    const type = await client.post('/data-type', { name: 'Any' })
    const { port } = new URL(receiver.url)
    const hosts = [
      '127.0.0.1',
      'localhost',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '2130706433',
      '0x7f.1',
      '0.0.0.0',
      '10.0.0.1',
    ]
    const webhooks = []
    for (const host of hosts) {
      webhooks.push(await client.post('/webhook', { url: `http://${host}:${port}/`, events: EVENTS }))
    }
    await client.post('/data', { dataTypeId: type.body.data._id, data: {} })
    for (const { body } of webhooks) {
      const list = () => client.get(`/webhook/${body.data._id}/deliveries`)
      await until('the end', async () => (await list()).body.data[0]?.status === 'failed')
      const [delivery] = (await list()).body.data
      expect(delivery).toMatchObject({
        attempts: [{ error: expect.stringMatching(/private, loopback or link-local/) }],
        nextAttemptAt: null,
      })
    }
    expect(receiver.received).toEqual([])
    await server.stop()
    await receiver.close()
    await database.remove()
  })
})

describe('Webhooks on the embedded database', () => {
  it('are told of a record', async () => {
    const database = await createTestDatabase('pglite')
    const server = await openServer(database, { WEBHOOK_ALLOW_PRIVATE: 'true' })
    const receiver = await startReceiver()
    const owner = await signIn(server)
    const type = await owner.post('/data-type', {
      name: 'Any',
      fields: [{ key: 'a', label: 'A', type: 'text' }],
    })
    await owner.post('/webhook', { url: `${receiver.url}/any`, events: EVENTS })
    await owner.post('/data', { dataTypeId: type.body.data._id, data: { a: 'b' } })
    const [got] = (await receiver.wait('/any', 1)) as [Received]
    expect(JSON.parse(got.body)).toEqual({ a: 'b' })
    await server.stop()
    await receiver.close()
    await database.remove()
  })
})
