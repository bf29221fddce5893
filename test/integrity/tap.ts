import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type Packet, parser } from 'mqtt-packet'

/**
 * Stands between Fieldline and another broker, passes on every byte, and knows which messages Fieldline has acknowledged.
 * Messages are those of publishers (`publisher.ts`).
 */
export interface Tap {
  url: string
  /** The port from which Fieldline is connected at present; null if it is not. */
  readonly clientPort: number | null
  /** Whether the broker has accepted a subscription on the present connection. */
  readonly isSubscribed: boolean
  /** How often the broker has accepted a subscription. */
  readonly subscriptions: number
  /** The number of messages that Fieldline has acknowledged, each counted once, and of deliveries beyond the first. */
  readonly acknowledged: number
  readonly redelivered: number
  hasAcknowledged(deviceId: string, n: number): boolean
  /** Called when the broker has accepted a subscription. */
  onSubscribed: () => void
  close(): Promise<void>
}

interface Message {
  deviceId: string
  n: number
}

const NUMBER = /"attributes":\{"n":(\d+)\}/

export async function startTap(brokerPort: number): Promise<Tap> {
  const delivered = new Map<string, Set<number>>()
  const acknowledged = new Map<string, Set<number>>()
  const sockets = new Set<Socket>()
  const figures = { subscriptions: 0, acknowledged: 0, redelivered: 0 }
  let client: Socket | null = null
  let isSubscribed = false

  const server = createServer({ noDelay: true }, fieldline => {
    client = fieldline
    isSubscribed = false
    const broker = connect({ port: brokerPort, host: '127.0.0.1', noDelay: true })
    const waiting = new Map<number, Message>()
    watch(broker, packet => {
      if (packet.cmd === 'suback') {
        figures.subscriptions++
        isSubscribed = true
        tap.onSubscribed()
      }
      if (packet.cmd !== 'publish') return
      const n = Number(NUMBER.exec(packet.payload.toString())?.[1])
      const message = { deviceId: packet.topic.split('/')[1] ?? '', n }
      if (!add(delivered, message)) figures.redelivered++
      waiting.set(packet.messageId ?? 0, message)
    })
    watch(fieldline, packet => {
      if (packet.cmd !== 'puback') return
      const message = waiting.get(packet.messageId ?? 0)
      if (!message) throw new Error('Fieldline has acknowledged what it has not received on this connection')
      waiting.delete(packet.messageId ?? 0)
      if (add(acknowledged, message)) figures.acknowledged++
    })
    join(fieldline, broker)
    join(broker, fieldline)
    fieldline.once('close', () => {
      if (client !== fieldline) return
      client = null
      isSubscribed = false
    })
    for (const socket of [fieldline, broker]) {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  const tap: Tap = {
    url: `mqtt://127.0.0.1:${(server.address() as { port: number }).port}`,
    get clientPort() {
      return client?.remotePort ?? null
    },
    get isSubscribed() {
      return isSubscribed
    },
    get subscriptions() {
      return figures.subscriptions
    },
    get acknowledged() {
      return figures.acknowledged
    },
    get redelivered() {
      return figures.redelivered
    },
    hasAcknowledged: (deviceId, n) => acknowledged.get(deviceId)?.has(n) ?? false,
    onSubscribed() {},
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return tap
}

/** Returns whether it is new. */
function add(to: Map<string, Set<number>>, { deviceId, n }: Message): boolean {
  const known = to.get(deviceId) ?? new Set()
  to.set(deviceId, known)
  const before = known.size
  return known.add(n).size > before
}

function watch(socket: Socket, onPacket: (packet: Packet) => void): void {
  const packets = parser({ protocolVersion: 5 })
  packets.on('packet', onPacket)
  socket.on('data', chunk => packets.parse(chunk))
}

function join(from: Socket, to: Socket): void {
  from.on('data', chunk => {
    if (!to.destroyed && !to.write(chunk)) from.pause()
  })
  to.on('drain', () => from.resume())
  from.on('error', () => {})
  from.once('close', () => to.destroy())
}
