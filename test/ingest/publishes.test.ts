import fc from 'fast-check'
import mqttPacket, { type Packet } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { endOfPacket, type Publish, readPublish } from '../../ingest/mqtt/publishes.ts'
import { createDevice, readHistory } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'
import { openRaw } from './raw.ts'

const TOPIC = 'devices/0190a0a0-0000-7000-8000-000000000001/location'

/** Any packet that a client may send after it has connected, most of them to its own topic. */
const packet: fc.Arbitrary<Packet> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      cmd: fc.constant('publish' as const),
      topic: fc.oneof(
        { weight: 6, arbitrary: fc.constant(TOPIC) },
        fc.constantFrom('a', `${TOPIC}x`, 'owntracks/a/b'),
      ),
      payload: fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
      qos: fc.constantFrom(0 as const, 1 as const, 2 as const),
      messageId: fc.integer({ min: 1, max: 65_535 }),
      retain: fc.boolean(),
      dup: fc.constant(false),
    }),
  },
  fc.constant({ cmd: 'pingreq' as const }),
  fc.record({
    cmd: fc.constantFrom('puback' as const, 'pubrel' as const),
    messageId: fc.integer({ min: 1, max: 65_535 }),
  }),
)

/** Returns the packets that mqtt-packet reads, or its error. */
function parse(bytes: Buffer, protocolVersion: 4 | 5 = 4): Packet[] | Error {
  const parser = mqttPacket.parser({ protocolVersion })
  const packets: Packet[] = []
  let failure: Error | undefined
  parser.on('packet', read => packets.push(read))
  parser.on('error', error => {
    failure = error
  })
  parser.parse(bytes)
  return failure ?? packets
}

function read(bytes: Buffer, isVersion5 = false) {
  const publishes: Publish[] = []
  let consumed = 0
  for (;;) {
    const publish = readPublish(bytes, consumed, TOPIC, isVersion5)
    if (!publish) return { publishes, consumed }
    const { end, ...fields } = publish
    publishes.push(fields)
    consumed = end
  }
}

const toPublish = ({ length, qos, topic, payload, messageId }: mqttPacket.IPublishPacket) => ({
  length,
  qos,
  topic,
  payload,
  messageId: qos > 0 ? messageId : undefined,
})

describe('Publishes that are read straight from a chunk', () => {
  const { server, owner } = useOrganization()

  it('are those at its beginning to the topic, as the parser reads them; the rest is left to it', () => {
    fc.assert(
      fc.property(fc.array(packet, { maxLength: 12 }), fc.nat(), (packets, cut) => {
        const whole = Buffer.concat(packets.map(some => mqttPacket.generate(some)))
        const bytes = whole.subarray(0, whole.length - (cut % 40))
        const parsed = parse(bytes) as Packet[]
        const foreign = parsed.findIndex(some => some.cmd !== 'publish' || some.topic !== TOPIC)
        const own = (foreign < 0 ? parsed : parsed.slice(0, foreign)) as mqttPacket.IPublishPacket[]
        const { publishes, consumed } = read(bytes)
        expect(publishes).toEqual(own.map(toPublish))
        // No packet is read twice, and none is left out.
        expect(parse(bytes.subarray(consumed))).toEqual(parsed.slice(own.length))
      }),
      { numRuns: 500 },
    )
  })

  it('are in version 5 those without properties that are not to be retained', () => {
    const properties = fc.option(fc.record({ messageExpiryInterval: fc.integer({ min: 1, max: 9 }) }), {
      nil: {},
      freq: 8,
    })
    const message = fc.tuple(packet, properties).map(([some, more]) => ({ ...some, properties: more }))
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), fc.nat(), (packets, cut) => {
        const whole = Buffer.concat(
          packets.map(some => mqttPacket.generate(some as Packet, { protocolVersion: 5 })),
        )
        const bytes = whole.subarray(0, whole.length - (cut % 40))
        const parsed = parse(bytes, 5) as Packet[]
        const isUsual = (some: Packet) =>
          some.cmd === 'publish' && some.topic === TOPIC && !some.retain && some.properties === undefined
        const foreign = parsed.findIndex(some => !isUsual(some))
        const own = (foreign < 0 ? parsed : parsed.slice(0, foreign)) as mqttPacket.IPublishPacket[]
        const { publishes, consumed } = read(bytes, true)
        expect(publishes).toEqual(own.map(toPublish))
        expect(parse(bytes.subarray(consumed), 5)).toEqual(parsed.slice(own.length))
      }),
      { numRuns: 500 },
    )
  })

  it('are never more than the parser takes, whatever the bytes are', () => {
    const own = mqttPacket.generate({
      cmd: 'publish',
      topic: TOPIC,
      payload: '{}',
      qos: 1,
      messageId: 7,
      dup: false,
      retain: false,
    })
    const damaged = fc
      .record({ at: fc.nat(own.length - 1), byte: fc.nat(255), rest: fc.uint8Array({ maxLength: 80 }) })
      .map(({ at, byte, rest }) => {
        const bytes = Buffer.concat([own, rest])
        bytes[at] = byte
        return bytes
      })
    fc.assert(
      fc.property(damaged, bytes => {
        const { publishes, consumed } = read(bytes)
        const parsed = parse(bytes.subarray(0, consumed))
        expect(parsed).not.toBeInstanceOf(Error)
        expect((parsed as mqttPacket.IPublishPacket[]).map(toPublish)).toEqual(publishes)
      }),
      { numRuns: 2_000 },
    )
  })

  it('and every packet ends where the parser says, or where the bytes do', () => {
    fc.assert(
      fc.property(fc.array(packet, { minLength: 1, maxLength: 4 }), fc.nat(), (packets, cut) => {
        const pieces = packets.map(some => mqttPacket.generate(some))
        const whole = Buffer.concat(pieces)
        const bytes = whole.subarray(0, whole.length - (cut % 40))
        let at = 0
        for (const { length } of pieces) {
          if (at >= bytes.length) break
          expect(endOfPacket(bytes, at)).toBe(Math.min(bytes.length, at + length))
          at += length
        }
      }),
      { numRuns: 500 },
    )
  })

  it('and the packets between them are answered in order, in whatever pieces they come', async () => {
    const device = await createDevice(owner)
    const client = openRaw(server.mqttPort)
    client.send(
      mqttPacket.generate({
        cmd: 'connect',
        clientId: 'pieces',
        username: device.id,
        password: device.key as unknown as Buffer,
        protocolVersion: 4,
        clean: true,
      } as Packet),
    )
    await client.next('connack')
    const begun = Date.now() - 60_000
    const count = 300
    const packets: Buffer[] = []
    for (let n = 1; n <= count; n++) {
      const payload = JSON.stringify({ lat: 1, lng: n / 1_000, timestamp: begun + n })
      const topic = `devices/${device.id}/location`
      packets.push(
        mqttPacket.generate({
          cmd: 'publish',
          topic,
          payload,
          qos: 1,
          messageId: n,
          dup: false,
          retain: false,
        }),
      )
      if (n % 7 === 0) packets.push(mqttPacket.generate({ cmd: 'pingreq' }))
    }
    const bytes = Buffer.concat(packets)
    for (let at = 0, size = 1; at < bytes.length; at += size, size = 1 + ((size * 31) % 257)) {
      client.send(bytes.subarray(at, at + size))
      if (size % 3 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    const of = (cmd: string) => client.packets.filter(some => some.cmd === cmd)
    await until(
      'all are answered',
      () => of('puback').length + of('pingresp').length === count + Math.floor(count / 7),
    )
    expect(of('puback').map(({ messageId }) => messageId)).toEqual(
      Array.from({ length: count }, (_, n) => n + 1),
    )
    const history = await readHistory(owner, device.id)
    expect(history.map(({ lng }) => lng)).toEqual(Array.from({ length: count }, (_, n) => (n + 1) / 1_000))
    client.end()
  })
})
