import { describe, expect, it } from 'vitest'
import { startReceiver } from '../support/receiver.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

const EVENTS = ['data-source-created']

describe('Webhooks to private addresses', () => {
  const { owner } = useOrganization()

  it('are made, and their deliveries fail with the reason', async () => {
    const receiver = await startReceiver()
    const type = await owner.post('/data-type', { name: 'Any' })
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
      webhooks.push(await owner.post('/webhook', { url: `http://${host}:${port}/`, events: EVENTS }))
    }
    await owner.post('/data', { dataTypeId: type.body.data._id, data: {} })
    for (const { body } of webhooks) {
      const list = () => owner.get(`/webhook/${body.data._id}/deliveries`)
      await until('the end', async () => (await list()).body.data[0]?.status === 'failed')
      const [delivery] = (await list()).body.data
      expect(delivery).toMatchObject({
        attempts: [{ error: expect.stringMatching(/private, loopback or link-local/) }],
        nextAttemptAt: null,
      })
    }
    expect(receiver.received).toEqual([])
    await receiver.close()
  })
})
