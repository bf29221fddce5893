import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import mqttPacket, { type Packet } from 'mqtt-packet'

/** MQTT as bytes on a socket, so that a test can send bytes that no client library would. */
export interface RawClient {
  stream: Duplex
  /** The answers so far, as `describe` writes them. */
  heard: string[]
  packets: Packet[]
  send(...bytes: (Buffer | number[])[]): void
  /** Resolves when the connection is closed. */
  closed: Promise<void>
  /** Resolves to the first packet of this kind that was not returned yet; rejects if none comes in time. */
  next(cmd: string, timeoutMs?: number): Promise<Packet>
  /**
   * Resolves to the answers: all until the connection is closed, or those until `count` packets have come and a later
   * PINGREQ was answered.
   */
  answers(count: number): Promise<string[]>
  end(): void
}

type Version = 4 | 5

export function openRaw(port: number, version: Version = 4): RawClient {
  return speak(connect({ port, host: '127.0.0.1' }), version)
}

export function speak(stream: Duplex, version: Version = 4): RawClient {
  const parser = mqttPacket.parser({ protocolVersion: version })
  const packets: Packet[] = []
  const heard: string[] = []
  let asked = 0
  let over = false
  const changed = new Set<() => void>()
  const change = () => {
    for (const wake of changed) wake()
  }
  parser.on('packet', packet => {
    packets.push(packet)
    heard.push(describe(packet))
    change()
  })
  stream.on('data', chunk => parser.parse(chunk))
  stream.on('error', () => {})
  const closed = new Promise<void>(resolve => {
    stream.on('close', () => {
      over = true
      change()
      resolve()
    })
  })
  // Both sides close: a server that ends only its own side has closed as well.
  stream.on('end', () => stream.destroy())

  const until = (what: string, test: () => boolean, timeoutMs: number) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!test()) return
        clearTimeout(timer)
        changed.delete(look)
        resolve()
      }
      const timer = setTimeout(() => {
        changed.delete(look)
        reject(new Error(`Not in ${timeoutMs} ms: ${what}; there was ${heard.join(', ') || 'nothing'}`))
      }, timeoutMs)
      changed.add(look)
      look()
    })

  return {
    stream,
    heard,
    packets,
    closed,
    send(...bytes) {
      if (!stream.destroyed) stream.write(Buffer.concat(bytes.map(part => Buffer.from(part))))
    },
    async next(cmd, timeoutMs = 120_000) {
      const at = () => packets.findIndex((packet, index) => index >= asked && packet.cmd === cmd)
      await until(cmd, () => at() !== -1 || over, timeoutMs)
      if (at() === -1) throw new Error(`Closed before ${cmd}; there was ${heard.join(', ') || 'nothing'}`)
      asked = at() + 1
      return packets[asked - 1] as Packet
    },
    async answers(count) {
      const come = () => over || packets.length >= count
      await until('that many', come, 120_000).catch(() => {})
      this.send(PINGREQ)
      await until('an end', () => over || heard.includes('pingresp'), 15_000).catch(() => {})
      return [...heard.filter(text => !/^(pingresp|publish )/.test(text)), over ? 'closed' : 'open']
    },
    end: () => stream.destroy(),
  }
}

/** Describes a packet in a few words. */
function describe(packet: Packet): string {
  const { cmd, messageId } = packet
  switch (cmd) {
    case 'connack':
      return `connack ${packet.reasonCode ?? packet.returnCode}${packet.sessionPresent ? ' present' : ''}`
    case 'suback':
      return `suback ${messageId} ${packet.granted.join(' ')}`
    case 'publish':
      return `publish ${packet.topic} qos ${packet.qos}${packet.dup ? ' dup' : ''}${packet.retain ? ' retain' : ''}`
    case 'unsuback':
      return [cmd, messageId, ...((packet.granted as number[] | undefined) ?? [])].join(' ')
    default: {
      const { reasonCode = 0 } = packet as { reasonCode?: number }
      const reason = reasonCode === 0 ? '' : ` 0x${reasonCode.toString(16)}`
      return `${messageId === undefined ? cmd : `${cmd} ${messageId}`}${reason}`
    }
  }
}

export const PINGREQ = [0xc0, 0]
export const DISCONNECT = [0xe0, 0]

/** Encodes a string or bytes with their length in front. */
export function field(value: string | Buffer | number[]): Buffer {
  const bytes = Buffer.from(value as string)
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes])
}

/** Encodes a packet from its first byte and the parts after its length. */
export function packet(first: number, ...parts: (Buffer | number[])[]): Buffer {
  const body = Buffer.concat(parts.map(part => Buffer.from(part)))
  return Buffer.concat([Buffer.from([first]), remainingLength(body.length), body])
}

export function remainingLength(length: number): Buffer {
  const bytes: number[] = []
  for (let rest = length; ; rest >>= 7) {
    if (rest < 128) return Buffer.from([...bytes, rest])
    bytes.push((rest & 127) | 128)
  }
}

type Text = string | Buffer | number[]
/** The properties of a packet of version 5. */
export type Properties = (Buffer | number[])[]

/** Encodes properties with their length. */
export function propertyBytes(properties: Properties = []): Buffer {
  const bytes = Buffer.concat(properties.map(part => Buffer.from(part)))
  return Buffer.concat([remainingLength(bytes.length), bytes])
}

export const userProperty = (name: Text, value: Text) =>
  Buffer.concat([Buffer.of(38), field(name), field(value)])
/** A property that is a number of two or four bytes. */
export function numberProperty(id: number, value: number, size: 2 | 4): Buffer {
  const bytes = Buffer.alloc(1 + size, id)
  bytes.writeUIntBE(value, 1, size)
  return bytes
}

/** Encodes a CONNECT. Its flags follow from the options unless they are given. */
export function connectPacket(options: {
  clientId: Text
  username?: Text
  password?: Text
  will?: { topic: Text; payload: Text; qos?: number; retain?: boolean; properties?: Properties }
  properties?: Properties
  clean?: boolean
  keepalive?: number
  name?: string
  level?: number
  flags?: number
}): Buffer {
  const {
    clientId,
    username,
    password,
    will,
    clean = true,
    keepalive = 60,
    name = 'MQTT',
    level = 4,
  } = options
  const flags =
    (username === undefined ? 0 : 0x80) |
    (password === undefined ? 0 : 0x40) |
    (will ? 4 | ((will.qos ?? 0) << 3) | (will.retain ? 0x20 : 0) : 0) |
    (clean ? 2 : 0)
  const fields = [will?.topic, will?.payload, username, password]
  return packet(
    0x10,
    field(name),
    [level, options.flags ?? flags, keepalive >> 8, keepalive & 0xff],
    level === 5 ? propertyBytes(options.properties) : [],
    field(clientId),
    level === 5 && will ? propertyBytes(will.properties) : [],
    ...fields.filter(value => value !== undefined).map(field),
  )
}

export function publishPacket(options: {
  topic: Text
  payload?: Text
  qos?: 0 | 1 | 2
  id?: number
  retain?: boolean
  dup?: boolean
  /** Those of a PUBLISH of version 5, which has some even if they are none. */
  properties?: Properties
}): Buffer {
  const { topic, payload = '', qos = 1, id = 1, retain = false, dup = false, properties } = options
  const first = 0x30 | (dup ? 8 : 0) | (qos << 1) | (retain ? 1 : 0)
  return packet(
    first,
    field(topic),
    qos > 0 ? [id >> 8, id & 0xff] : [],
    properties ? propertyBytes(properties) : [],
    Buffer.from(payload as string),
  )
}

export function subscribePacket(filters: [Text, number][], id = 1, properties?: Properties): Buffer {
  return packet(
    0x82,
    [id >> 8, id & 0xff],
    properties ? propertyBytes(properties) : [],
    ...filters.flatMap(([filter, options]) => [field(filter), [options]]),
  )
}

export function unsubscribePacket(filters: Text[], id = 1, properties?: Properties): Buffer {
  return packet(
    0xa2,
    [id >> 8, id & 0xff],
    properties ? propertyBytes(properties) : [],
    ...filters.map(field),
  )
}
