/**
 * The MQTT load generator, in a process of its own that `run-process.ts` starts. It uses little processor time, so that
 * on two cores the server is measured: raw sockets, packets encoded beforehand, and one write with as many new packets
 * as one read has acknowledged.
 */
import { connect, type Socket } from 'node:net'
import { connectFrame, type PublishRing, publishRing } from './frames.ts'
import { runProcess } from './run-process.ts'
import { Window } from './window.ts'

export interface MqttLoad {
  host: string
  port: number
  /** The devices, each with one connection. */
  devices: { id: string; key: string }[]
  /** Messages in flight on each connection. */
  inFlight: number
  /** Messages per second of all connections; without it each acknowledgement is followed by a new message. */
  perSecond?: number
  /** The timestamps of each device begin here and rise by a second. */
  firstTimeMs: number
  warmUpSeconds: number
  seconds: number
}

const CONNACK_BYTES = 4
const PUBACK = 0x40
const STEP_MS = 1000

runProcess<MqttLoad>(async load => {
  const window = new Window()
  const connections = await Promise.all(load.devices.map(device => openConnection(load, device, window)))
  if (load.perSecond) pace(connections, load.perSecond / connections.length, window)
  else for (const connection of connections) connection.start()
  const inFlight = () => connections.reduce((sum, connection) => sum + connection.inFlight, 0)
  const result = await window.run({ ...load, inFlight })
  for (const connection of connections) connection.close()
  return result
})

interface Connection {
  readonly inFlight: number
  /** Fills the messages in flight, and adds one for each acknowledgement. */
  start(): void
  /** Sends up to `count` messages, as far as there is room. Returns their number. */
  send(count: number): number
  close(): void
}

const PACE_MS = 10

/** Lets each connection send `perSecond` messages per second; messages that found no room are sent later. */
function pace(connections: readonly Connection[], perSecond: number, window: Window): void {
  const begun = performance.now()
  const sent = connections.map(() => 0)
  const timer = setInterval(() => {
    if (window.stopping) return clearInterval(timer)
    const due = Math.floor(((performance.now() - begun) / 1000) * perSecond)
    for (const [index, connection] of connections.entries()) {
      sent[index] = (sent[index] as number) + connection.send(due - (sent[index] as number))
    }
  }, PACE_MS)
}

/** Resolves when the server has accepted the connection. */
function openConnection(
  load: MqttLoad,
  device: { id: string; key: string },
  window: Window,
): Promise<Connection> {
  const slots = load.inFlight
  const ring: PublishRing = publishRing(`devices/${device.id}/location`, slots)
  const sentAt = new Float64Array(slots)
  let time = load.firstTimeMs
  /** The slot whose acknowledgement is next; the messages in flight begin with it. */
  let oldest = 0
  let inFlight = 0
  let filling = false

  return new Promise((resolve, reject) => {
    const fail = (message: string) => {
      const error = new Error(message)
      reject(error)
      socket.destroy(error)
    }
    let receive = (chunk: Buffer): void => {
      if (chunk.length !== CONNACK_BYTES || chunk[0] !== 0x20 || chunk[3] !== 0) {
        fail(`The connection of ${device.id} was refused: ${chunk.toString('hex')}`)
        return
      }
      receive = acknowledge
      resolve({
        get inFlight() {
          return inFlight
        },
        start() {
          filling = true
          send(slots)
        },
        send(count) {
          const sent = Math.min(count, slots - inFlight)
          if (sent > 0) send(sent)
          return sent
        },
        close: () => socket.destroy(),
      })
    }
    const buffer = Buffer.allocUnsafeSlow(64 * 1024)
    const socket: Socket = connect({
      host: load.host,
      port: load.port,
      noDelay: true,
      onread: {
        buffer,
        callback: bytes => {
          receive(buffer.subarray(0, bytes))
          return true
        },
      },
    })
    socket.on('connect', () => socket.write(connectFrame(`load-${device.id}`, device.id, device.key)))
    socket.on('error', error => {
      reject(error)
      throw error
    })
    socket.on('close', () => {
      if (inFlight > 0) throw new Error(`The server closed the connection of ${device.id}`)
    })

    let split = Buffer.alloc(0)
    function acknowledge(read: Buffer): void {
      const chunk = split.length > 0 ? Buffer.concat([split, read]) : read
      const count = chunk.length >> 2
      split = chunk.length % 4 > 0 ? Buffer.from(chunk.subarray(count * 4)) : Buffer.alloc(0)
      const now = performance.now()
      for (let at = 0; at < count * 4; at += 4) {
        const id = ((chunk[at + 2] as number) << 8) | (chunk[at + 3] as number)
        // [MQTT-4.6.0-2]: acknowledgements come in the order in which the messages were sent.
        if (chunk[at] !== PUBACK || id !== oldest + 1) {
          fail(`Not the next PUBACK: ${chunk.toString('hex')}`)
          return
        }
        window.acknowledged(1, now - (sentAt[oldest] as number))
        oldest = oldest + 1 === slots ? 0 : oldest + 1
      }
      inFlight -= count
      if (filling && !window.stopping) send(count)
    }

    function send(count: number): void {
      const now = performance.now()
      const from = (oldest + inFlight) % slots
      for (let index = 0; index < count; index++) {
        const slot = (from + index) % slots
        ring.patch(slot, time)
        sentAt[slot] = now
        time += STEP_MS
      }
      inFlight += count
      const until = from + count
      socket.write(ring.bytes.subarray(from * ring.frameBytes, Math.min(until, slots) * ring.frameBytes))
      if (until > slots) socket.write(ring.bytes.subarray(0, (until - slots) * ring.frameBytes))
    }
  })
}
