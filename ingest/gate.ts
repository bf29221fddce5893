import type { EventEmitter } from 'node:events'
import type { Client } from 'aedes'
import type { Log, Source, Subject } from '../stream/log.ts'
import type { Entry, Outcomes } from '../stream/point.ts'

/**
 * Where a publish leaves the broker and becomes points.
 *
 * The gate stands between aedes' parser and aedes. A PUBLISH never goes further: its entries are appended to the
 * log, and the acknowledgement (PUBACK for QoS 1, PUBREC for QoS 2) is written when they are durable. Everything
 * else (CONNECT, SUBSCRIBE, PINGREQ, …) goes on to aedes as if there were no gate.
 *
 * This keeps three promises that aedes' own way cannot: while the log is away PINGREQ is still answered and the
 * keepalive stands still; acknowledgements of one batch leave in one write (three times the rate of one by one);
 * and ingested points are never delivered to subscribers.
 *
 * Points are identified by their content, so QoS 2 needs no store of packet identifiers: a PUBLISH that comes again
 * before its PUBREL is the same point again.
 *
 * It leans on private parts of aedes 1.2.0 (`_parser`, `_keepaliveTimer`), which `test/ingest/gate.test.ts` checks.
 */
export interface PublishPacket {
  topic: string
  payload: Buffer
  qos: 0 | 1 | 2
  messageId?: number
}

/** The private parts of an aedes client that the gate uses. */
interface Internals {
  _parser: EventEmitter & { packet: { length: number } }
  _keepaliveTimer: NodeJS.Timeout | null
  connected: boolean
  closed: boolean
  pause(): void
  resume(): void
}

type AnyPacket = PublishPacket & { cmd: string; length: number }

export interface GateOptions {
  log: Log
  /** Who publishes, once it is authenticated. */
  publisher: () => Subject | undefined
  /** The entries of a message, or null where the client may not publish there. */
  read: (packet: PublishPacket) => Entry[] | null
  /** Called when a message with at least one refused point is durable. */
  onRejected: (entries: readonly Entry[], outcomes: Outcomes) => void
  onAcknowledged: (entries: number, receivedAt: number) => void
  /** Called when the log has taken this message but has no room for more. */
  onFull: () => void
}

export interface Gate {
  /** Messages that wait for the log. */
  readonly pending: number
  /** Stops reading: what was read is still acknowledged. */
  hold(): void
  release(): void
}

/** The largest packet, with its header; PUBLISH of 1,000 points is about 150 KiB. */
export const MAX_PACKET_BYTES = 256 * 1024
/** Messages and bytes of one connection that may wait; beyond it the socket is not read. */
const MAX_PENDING = 2_000
const MAX_PENDING_BYTES = 1024 * 1024
/** Messages that a client may send together with its CONNECT, before it is answered. */
const MAX_EARLY = 100

const PUBACK = 0x40
const PUBREC = 0x50

interface Slot {
  qos: 0 | 1 | 2
  messageId: number
  bytes: number
  durable: boolean
}

export function installGate(client: Client, options: GateOptions): Gate {
  const internals = client as unknown as Internals
  const parser = internals._parser
  const [forward] = parser.listeners('packet') as [(packet: AnyPacket) => void]
  parser.removeListener('packet', forward)

  const source: Source = {
    ended: false,
    get subjects() {
      const publisher = options.publisher()
      return publisher ? [publisher] : []
    },
  }
  // [MQTT-4.6.0-2], [MQTT-4.6.0-3]: acknowledgements keep the order in which the messages arrived.
  let slots: Slot[] = []
  let pendingBytes = 0
  let early: AnyPacket[] = []
  let flushing = false
  let heldByUs = false
  let heldByDoor = false

  const refuse = (message: string) => client.emit('error', new Error(message))

  parser.on('packet', (packet: AnyPacket) => {
    if (packet.length > MAX_PACKET_BYTES) refuse('The packet is larger than 256 KiB')
    else if (packet.cmd !== 'publish') forward.call(parser, packet)
    else if (internals.connected) publish(packet)
    else if (early.length < MAX_EARLY) early.push(packet)
    else refuse('Too many messages before the connection was accepted')
  })
  // A length beyond the limit is refused as soon as it is announced, not when 256 MB have come.
  client.conn.on('readable', () => {
    if (parser.packet.length > MAX_PACKET_BYTES && !internals.closed)
      refuse('The packet is larger than 256 KiB')
  })
  client.once('connected', () => {
    const packets = early
    early = []
    for (const packet of packets) publish(packet)
  })
  client.conn.once('close', () => {
    source.ended = true
    slots = []
  })

  function publish(packet: AnyPacket): void {
    if (internals.closed) return
    // [MQTT-3.1.2-24]: any packet shows that the client is alive.
    internals._keepaliveTimer?.refresh()
    const entries = options.read(packet)
    if (!entries) {
      // [MQTT-3.3.5-2]: MQTT 3.1.1 has no way to refuse a PUBLISH but to close the connection.
      refuse(`Publishing to ${packet.topic} is not allowed`)
      return
    }
    const receivedAt = performance.now()
    const slot: Slot = {
      qos: packet.qos,
      messageId: packet.messageId ?? 0,
      bytes: packet.length,
      durable: entries.length === 0,
    }
    slots.push(slot)
    pendingBytes += slot.bytes
    if (slot.durable) scheduleFlush()
    else {
      options.log.append(entries, source).then(
        outcomes => {
          slot.durable = true
          options.onAcknowledged(entries.length, receivedAt)
          if (outcomes.size > 0 || entries.some(entry => entry.kind === 'rejection')) {
            options.onRejected(entries, outcomes)
          }
          scheduleFlush()
        },
        () => {
          // The connection ended or the server stops: there is no acknowledgement, so the device sends it again.
        },
      )
      if (options.log.full) options.onFull()
    }
    updateReading()
  }

  function scheduleFlush(): void {
    if (flushing) return
    flushing = true
    setImmediate(flush)
  }

  function flush(): void {
    flushing = false
    let count = 0
    let acknowledgements = 0
    for (const slot of slots) {
      if (!slot.durable) break
      count++
      pendingBytes -= slot.bytes
      if (slot.qos > 0) acknowledgements++
    }
    const bytes = Buffer.allocUnsafe(acknowledgements * 4)
    let at = 0
    for (const slot of slots.splice(0, count)) {
      if (slot.qos === 0) continue
      bytes[at] = slot.qos === 1 ? PUBACK : PUBREC
      bytes[at + 1] = 2
      at = bytes.writeUInt16BE(slot.messageId, at + 2)
    }
    if (acknowledgements > 0 && !internals.closed) client.conn.write(bytes)
    updateReading()
  }

  function updateReading(): void {
    const over = slots.length > MAX_PENDING || pendingBytes > MAX_PENDING_BYTES
    const under = slots.length <= MAX_PENDING / 2 && pendingBytes <= MAX_PENDING_BYTES / 2
    if (!heldByUs && over) {
      heldByUs = true
      internals.pause()
    } else if (heldByUs && under) {
      heldByUs = false
      if (!heldByDoor) internals.resume()
    }
  }

  return {
    get pending() {
      return slots.length
    },
    hold() {
      if (heldByDoor) return
      heldByDoor = true
      internals.pause()
    },
    release() {
      if (!heldByDoor) return
      heldByDoor = false
      if (!heldByUs && !internals.closed && internals.connected) internals.resume()
    },
  }
}

/** Lets the keepalive of a client stand still while its messages wait for us and not for it. */
export function refreshKeepalive(client: Client): void {
  ;(client as unknown as Internals)._keepaliveTimer?.refresh()
}
