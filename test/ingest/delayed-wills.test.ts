import { expect, it } from 'vitest'
import { createDevice, readHistory, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { connectPacket, numberProperty, openRaw, publishPacket } from './raw.ts'

const [SESSION_EXPIRY, WILL_DELAY] = [17, 24]
const { server, owner } = useOrganization()

async function open(device: TestDevice, options: Partial<Parameters<typeof connectPacket>[0]>) {
  const raw = openRaw(server.mqttPort, 5)
  const properties = [numberProperty(SESSION_EXPIRY, 600, 4)]
  const own = { clientId: 'tracker', username: device.id, password: device.key, level: 5 }
  raw.send(connectPacket({ ...own, properties, ...options }))
  expect(await raw.next('connack')).toMatchObject({ reasonCode: 0 })
  return raw
}

it('a will that waits is not published once its device has another key', async () => {
  const device = await createDevice(owner)
  const topic = `devices/${device.id}/location`
  const pointAt = (lat: number) => JSON.stringify({ lat, lng: 1, timestamp: Date.now() - lat })
  const will = { topic, payload: pointAt(1), properties: [numberProperty(WILL_DELAY, 300, 4)] }
  const leaving = await open(device, { clean: false, will })
  leaving.end()
  await leaving.closed
  // What goes with the credential goes together.
  const watched = await open(device, { clientId: 'another' })
  const { body } = await owner.post(`/device/${device.id}/rotate-key`)
  await watched.closed
  // A clean start ends the session, for whose end the will would have waited.
  const returned = await open({ ...device, key: body.data.key }, { clean: true })
  returned.send(publishPacket({ topic, payload: pointAt(2), properties: [], id: 1 }))
  await returned.next('puback')
  await until('the point is stored', async () => (await readHistory(owner, device.id)).length > 0)
  expect((await readHistory(owner, device.id)).map(({ lat }) => lat)).toEqual([2])
  returned.end()
})
