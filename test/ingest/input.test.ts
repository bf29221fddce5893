import mqttPacket from 'mqtt-packet'
import { expect, it, vi } from 'vitest'
import { Input } from '../../ingest/mqtt/input.ts'

it('Bytes that come alone while a connection waits for its turn are copied once', () => {
  const topic = 'devices/0190a0a0-0000-7000-8000-000000000001/location'
  const payload = Buffer.alloc(20_000, '[')
  const publish = { cmd: 'publish', topic, payload, qos: 1, messageId: 7, retain: false, dup: false } as const
  const packets = Buffer.concat([mqttPacket.generate(publish), mqttPacket.generate(publish)])
  const input = new Input({ missingBytes: null, parse: () => null })
  let copied = 0
  const concat = vi.spyOn(Buffer, 'concat')
  for (const byte of packets) input.add(Buffer.of(byte))
  expect(input.length).toBe(packets.length)
  expect(input.nextPublish(topic)?.payload).toEqual(payload)
  expect(input.nextPublish(topic)?.payload).toEqual(payload)
  for (const [list] of concat.mock.calls) for (const one of list) copied += one.length
  concat.mockRestore()
  expect(input.length).toBe(0)
  expect(copied).toBe(packets.length)
})
