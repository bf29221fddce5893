import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { generate, type Packet, parser } from 'mqtt-packet'

/** A broker that does what a test tells it, to see exactly what a client sends. */
export interface ScriptedBroker {
  url: string
  /** The packets of the present client, in order. */
  received: Packet[]
  /** The number of connections so far. */
  connections: number
  /** Sends messages of QoS 1 with these packet identifiers. */
  publish(messages: { id: number; payload: string | Buffer; dup?: boolean }[]): void
  /** Resolves when the system has taken the bytes. */
  write(bytes: Buffer): Promise<void>
  /** Closes the present connection. */
  hangUp(): void
  close(): Promise<void>
}

export interface Script {
  /** The answer to a CONNECT, in bytes; undefined gives none, null closes. */
  answer?: (connect: { protocolVersion: number }) => Buffer | null | undefined
  /** Whether SUBSCRIBE is answered. */
  subscribes?: boolean
  /** The quality of service that it grants: 1, or this one. */
  grants?: 0
}

const ACCEPTED = { 4: Buffer.from([0x20, 2, 0, 0]), 5: Buffer.from([0x20, 3, 0, 0, 0]) }

export async function startScriptedBroker(script: Script = {}): Promise<ScriptedBroker> {
  let socket: Socket | null = null
  let protocolVersion = 5
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    socket = client
    sockets.add(client)
    broker.connections++
    broker.received = []
    const packets = parser({ protocolVersion: 5 })
    packets.on('packet', (packet: Packet) => {
      broker.received.push(packet)
      if (packet.cmd === 'connect') {
        protocolVersion = packet.protocolVersion ?? 4
        const { answer = () => ACCEPTED[protocolVersion as 4 | 5] } = script
        const bytes = answer({ protocolVersion })
        if (bytes) client.write(bytes)
        else if (bytes === null) client.destroy()
      } else if (packet.cmd === 'subscribe' && script.subscribes !== false) {
        const granted = packet.subscriptions.map(() => script.grants ?? 1)
        client.write(
          generate({ cmd: 'suback', messageId: packet.messageId ?? 0, granted }, { protocolVersion }),
        )
      } else if (packet.cmd === 'pingreq') client.write(generate({ cmd: 'pingresp' }))
    })
    packets.on('error', () => client.destroy())
    client.on('data', chunk => packets.parse(chunk))
    client.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const broker: ScriptedBroker = {
    url: `mqtt://127.0.0.1:${(server.address() as { port: number }).port}`,
    received: [],
    connections: 0,
    publish(messages) {
      for (const { id, payload, dup = false } of messages) {
        const packet = { cmd: 'publish', topic: 'any', qos: 1, retain: false } as const
        socket?.write(generate({ ...packet, messageId: id, payload, dup }, { protocolVersion }))
      }
    },
    write: bytes =>
      new Promise(resolve => {
        if (socket) socket.write(bytes, () => resolve())
        else resolve()
      }),
    hangUp: () => socket?.destroy(),
    async close() {
      for (const one of sockets) one.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return broker
}

/** The packet identifiers that were acknowledged, in order. */
export const acknowledgedBy = ({ received }: ScriptedBroker): number[] =>
  received.flatMap(packet => (packet.cmd === 'puback' ? [packet.messageId ?? 0] : []))
