import fc from 'fast-check'
import mqttPacket, { type IPublishPacket } from 'mqtt-packet'
import { describe, expect, it } from 'vitest'
import { MAX_PROPERTIES_BYTES } from '../../ingest/mqtt/limits.ts'
import { readProperties, readVarying } from '../../ingest/mqtt/properties.ts'
import { ProtocolError } from '../../ingest/mqtt/protocol.ts'
import { leastUsualMs, processorMs } from '../support/processor-time.ts'
import { propertyBytes, userProperty } from './raw.ts'

/** The properties of a message, without their length. */
function encode(properties: IPublishPacket['properties']): Buffer {
  const packet = { cmd: 'publish', topic: '', payload: '', qos: 0, dup: false, retain: false } as const
  const bytes = mqttPacket.generate({ ...packet, properties: properties ?? {} }, { protocolVersion: 5 })
  const { end: topic } = readVarying(bytes, 1)
  return bytes.subarray(readVarying(bytes, topic + 2).end)
}

describe('The properties of a packet of version 5', () => {
  const text = fc.string({ maxLength: 10 }).map(value => value.replaceAll('\0', '').toWellFormed())
  const message = fc.record(
    {
      messageExpiryInterval: fc.integer({ min: 0, max: 0xffffffff }),
      contentType: text,
      responseTopic: text,
      correlationData: fc.uint8Array({ maxLength: 10 }).map(bytes => Buffer.from(bytes)),
      topicAlias: fc.integer({ min: 0, max: 65_535 }),
      userProperties: fc.dictionary(text, text, { minKeys: 1, maxKeys: 3 }),
    },
    { requiredKeys: [] },
  )

  it('are read as they were written, but for those of the user', () => {
    fc.assert(
      fc.property(message, properties => {
        const { userProperties: _, ...known } = properties
        expect(readProperties(encode(properties), 'publish')).toEqual(known)
      }),
    )
  })

  it('are a violation or properties, whatever their bytes are', () => {
    const owner = fc.constantFrom('publish', 'connect', 'will', 'subscribe', 'disconnect', 'puback')
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), owner, (bytes, of) => {
        try {
          readProperties(Buffer.from(bytes), of)
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('take a moment, however many there are', async () => {
    const count = Math.floor(MAX_PROPERTIES_BYTES / 5)
    const most = propertyBytes(Array.from({ length: count }, () => userProperty('', ''))).subarray(2)
    const boundMs = 5
    const ms = await leastUsualMs(boundMs, () => processorMs(() => readProperties(most, 'publish')))
    expect(ms).toBeLessThan(boundMs)
  })
})
