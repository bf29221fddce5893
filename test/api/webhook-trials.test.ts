import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization } from '../support/people.ts'
import { type Received, type Receiver, startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const EVENTS = ['data-source-created']

describe('A test of a webhook', () => {
  const { server } = useServer({ WEBHOOK_ALLOW_PRIVATE: 'true' })
  let owner: Client
  let receiver: Receiver
  let dataTypeId: string

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
    const fields = [{ key: 'name', label: 'Name', type: 'text' }]
    dataTypeId = (await owner.post('/data-type', { name: 'Customer', fields })).body.data._id
    receiver = await startReceiver((request, response) => {
      response.writeHead(request.url === '/fails' ? 500 : 200).end('fine')
    })
  })
  afterAll(() => receiver.close())

  const addWebhook = async (path: string) =>
    (await owner.post('/webhook', { url: `${receiver.url}${path}`, events: EVENTS })).body.data
  const deliveries = async (id: string) => (await owner.get(`/webhook/${id}/deliveries`)).body.data

  it.each([
    ['/takes', 'delivered', 200],
    ['/fails', 'failed', 500],
  ] as const)(
    'at %s is a signed message of its own, tried once, and not repeated within ten seconds',
    async (path, status, statusCode) => {
      const { _id, secret } = await addWebhook(path)
      const sent = await owner.post(`/webhook/${_id}/test`)
      expect([sent.status, sent.body.data.event, sent.body.data.status]).toEqual([
        ...[202, 'webhook-test', 'pending'],
      ])
      const soon = await owner.post(`/webhook/${_id}/test`)
      expect([soon.status, soon.body.code]).toEqual([429, 'rate-limited'])
      expect(Number(soon.headers.get('retry-after'))).toBeGreaterThan(0)
      const [got] = (await receiver.wait(path, 1)) as [Received]
      expect(got.headers['webhook-event']).toBe('webhook-test')
      const read = new Webhook(secret).verify(got.body, got.headers as Record<string, string>)
      expect(read).toMatchObject({ test: true, webhookId: _id })
      await until('the attempt is noted', async () => (await deliveries(_id))[0].status === status)
      expect((await deliveries(_id))[0]).toMatchObject({
        ...{ nextAttemptAt: null, messageId: got.headers['webhook-id'] },
        attempts: [{ statusCode }],
      })
      // The next event is another message.
      await owner.post('/data', { dataTypeId, data: { name: 'After the test' } })
      await receiver.wait(path, 2)
      expect(new Set(receiver.at(path).map(({ headers }) => headers['webhook-id'])).size).toBe(2)
      await owner.delete(`/webhook/${_id}`)
    },
  )

  it('is refused for a disabled webhook and for that of others, and is no event to subscribe to', async () => {
    const { _id, url } = await addWebhook('/off')
    await owner.put(`/webhook/${_id}`, { url, events: EVENTS, status: 'disabled' })
    expect((await owner.post(`/webhook/${_id}/test`)).status).toBe(409)
    const stranger = (await addOrganization(server, await signIn(server))).client
    expect((await stranger.post(`/webhook/${_id}/test`)).status).toBe(404)
    const own = await stranger.post('/webhook', { url: 'https://a.example', events: ['webhook-test'] })
    expect(own.status).toBe(400)
  })
})
