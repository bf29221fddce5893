import type { IPublishPacket } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { TopicAliases } from '../../ingest/mqtt/aliases.ts'
import type { Packet } from '../../ingest/mqtt/protocol.ts'
import { Sessions } from '../../ingest/mqtt/sessions.ts'
import { createDevice, readHistory, type TestDevice } from '../support/client.ts'
import { readCommands, sendCommand, untilState } from '../support/commands.ts'
import { heldHeapBytes } from '../support/held-bytes.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import {
  connectPacket,
  DISCONNECT,
  numberProperty,
  openRaw,
  PINGREQ,
  packet,
  publishPacket,
  type RawClient,
  subscribePacket,
} from './raw.ts'

const [SESSION_EXPIRY, WILL_DELAY, RECEIVE_MAXIMUM, MAX_PACKET] = [17, 24, 33, 39]
const KEPT = [numberProperty(SESSION_EXPIRY, 600, 4)]

describe('The bounds of a device over MQTT 5', () => {
  const { server, owner } = useOrganization()
  const topicOf = (device: TestDevice) => `devices/${device.id}/location`
  let time = Date.now() - 3_600_000
  const pointAt = (lat: number) => JSON.stringify({ lat, lng: 1, timestamp: time++ })
  const publishAt = (device: TestDevice, lat: number, options = {}) =>
    publishPacket({ topic: topicOf(device), payload: pointAt(lat), properties: [], ...options })

  async function open(device: TestDevice, options: Partial<Parameters<typeof connectPacket>[0]> = {}) {
    const raw = openRaw(server.mqttPort, 5)
    const own = { clientId: 'tracker', username: device.id, password: device.key, level: 5 }
    raw.send(connectPacket({ ...own, properties: KEPT, clean: false, ...options }))
    expect(await raw.next('connack')).toMatchObject({ reasonCode: 0 })
    return raw
  }
  const willAt = (device: TestDevice, lat: number, delay: number) => ({
    topic: topicOf(device),
    payload: pointAt(lat),
    properties: [numberProperty(WILL_DELAY, delay, 4)],
  })
  /** The points of a device once one that it sends now is stored, so that all earlier ones are too. */
  async function latsOf(device: TestDevice, last: number): Promise<number[]> {
    const raw = await open(device, { clientId: 'last' })
    raw.send(publishAt(device, last))
    await raw.next('puback')
    raw.end()
    const read = async () => (await readHistory(owner, device.id)).map(({ lat }) => lat as number)
    await until('the last point is stored', async () => (await read()).includes(last))
    return (await read()).sort()
  }
  async function listen(raw: RawClient, filter: string): Promise<void> {
    raw.send(subscribePacket([[filter, 1]], 1, []))
    expect(await raw.next('suback')).toMatchObject({ granted: [1] })
  }
  const commandsIn = ({ packets }: RawClient) =>
    (packets.filter(({ cmd }) => cmd === 'publish') as IPublishPacket[])
      .filter(({ topic }) => topic.endsWith('/commands'))
      .map(({ payload }) => JSON.parse(String(payload)).id as string)

  it('keep nothing of a topic that is too long under its alias', () => {
    const before = heldHeapBytes()
    const kept = Array.from({ length: 100 }, (_, n) => {
      const aliases = new TopicAliases()
      const topic = Buffer.from(`${n}ć${'a'.repeat(60_000)}`).toString()
      aliases.resolve({ topic } as Packet, 1)
      return aliases
    })
    expect(heldHeapBytes() - before).toBeLessThan(1_000_000)
    expect(kept[0]?.resolve({ topic: '' } as Packet, 1).topic.length).toBeGreaterThan(512)
  })

  it('drop a will that waits once its device has another key', async () => {
    const device = await createDevice(owner)
    const leaving = await open(device, { will: willAt(device, 1, 300) })
    leaving.end()
    await leaving.closed
    // What goes with the credential goes together.
    const watched = await open(device, { clientId: 'another' })
    const { body } = await owner.post(`/device/${device.id}/rotate-key`)
    await watched.closed
    // A clean start ends the session, for whose end the will would have waited.
    const renewed = { ...device, key: body.data.key as string }
    const returned = await open(renewed, { clean: true })
    expect(await latsOf(renewed, 2)).toEqual([2])
    returned.end()
  })

  it('publish no will of a connection after which its client has returned, however late it ends', () => {
    const sessions = new Sessions()
    const connect = () =>
      ({ client: { id: 'tracker', clean: false }, terms: { sessionSeconds: 600 }, opening: 0 }) as never
    const owner = { kind: 'device', id: 'one', organizationId: 'us' } as const
    const [published, taken]: [string[], string[]] = [[], []]
    const will = (name: string) => ({
      bytes: 1,
      publish: () => void published.push(name),
      onTaken: () => void taken.push(name),
    })
    const [first, second] = [connect(), connect()]
    const session = sessions.open(first, owner)
    sessions.leave(session, first)
    sessions.open(second, owner)
    sessions.leave(session, second)
    sessions.delayWill(session, second, will('second'), 60_000)
    sessions.delayWill(session, first, will('first'), 60_000)
    expect([published, taken]).toEqual([[], ['first']])
    sessions.close()
    expect([published, taken]).toEqual([['second'], ['first', 'second']])
  })

  it('publish the will of a DISCONNECT that breaks a rule', async () => {
    const device = await createDevice(owner)
    const raw = await open(device, { properties: [], clean: true, will: willAt(device, 1, 0) })
    raw.send(packet(0xe0, [0, 5, ...(KEPT[0] as Buffer)]))
    await raw.closed
    expect(raw.heard.at(-1)).toBe('disconnect 0x82')
    expect(await latsOf(device, 2)).toEqual([1, 2])
  })

  it('fail a command that is larger than its device takes, and hand over the next one', async () => {
    const device = await createDevice(owner)
    const large = await sendCommand(owner, device, { payload: 'x'.repeat(1_000) })
    const small = await sendCommand(owner, device)
    const limits = [numberProperty(RECEIVE_MAXIMUM, 1, 2), numberProperty(MAX_PACKET, 600, 4)]
    const raw = await open(device, { properties: limits, clean: true })
    await listen(raw, `devices/${device.id}/commands`)
    await until('the small one has come', () => commandsIn(raw).length === 1)
    expect(commandsIn(raw)).toEqual([small])
    const failed = await untilState(owner, device, large, 'failed')
    expect(failed.result).toMatch(/larger/)
    raw.end()
  })

  it('hand over no command that has expired while another message was not acknowledged', async () => {
    const device = await createDevice(owner)
    const raw = await open(device, { properties: [numberProperty(RECEIVE_MAXIMUM, 1, 2)], clean: true })
    await listen(raw, `devices/${device.id}/#`)
    raw.send(publishPacket({ topic: topicOf(device), payload: '[0]', properties: [] }))
    const rejection = (await raw.next('publish')) as IPublishPacket
    const id = await sendCommand(owner, device, { expiresInSeconds: 1 })
    await untilState(owner, device, id, 'expired')
    const { messageId = 0 } = rejection
    raw.send(packet(0x40, [messageId >> 8, messageId & 255]))
    const next = await sendCommand(owner, device)
    await until('the next one has come', () => commandsIn(raw).length > 0)
    expect(commandsIn(raw)).toEqual([next])
    expect((await readCommands(owner, device)).get(id)).toMatchObject({ state: 'expired' })
    raw.end()
  })

  it('complete a message of QoS 2 that began on a lost connection of the session', async () => {
    const device = await createDevice(owner)
    const lost = await open(device)
    lost.send(publishAt(device, 1, { qos: 2, id: 7 }))
    await lost.next('pubrec')
    lost.end()
    await lost.closed
    const resumed = await open(device)
    resumed.send(packet(0x62, [0, 7]))
    expect(await resumed.next('pubcomp')).toMatchObject({ messageId: 7, reasonCode: 0 })
    resumed.send(DISCONNECT)
    await resumed.closed
  })

  it('end a connection whose client takes no SUBACK of that size', async () => {
    const device = await createDevice(owner)
    const raw = await open(device, { properties: [numberProperty(MAX_PACKET, 100, 4)], clean: true })
    const filters = Array.from({ length: 200 }, (_, n): [string, number] => [`devices/${n}`, 1])
    raw.send(subscribePacket(filters, 1, []), PINGREQ)
    await raw.closed
    expect(raw.heard).toEqual(['connack 0', 'disconnect 0x95'])
  })
})
