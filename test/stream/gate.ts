import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Between the clients of a broker and the broker. */
export interface Gate {
  port: number
  /** The broker's port. */
  target: number
  /** Breaks the connection on which the next request of this kind comes, before the broker sees it. */
  breakNext(apiKey: number): void
  close(): Promise<void>
}

/** Kafka's numbers of requests. */
export const JOIN_GROUP = 11
const LEAVE_GROUP = 13
const SIZE_BYTES = 4

/** kafkajs writes each request in one piece, so a chunk begins with the size and the kind of a request. */
const apiKeyOf = (chunk: Buffer) => (chunk.length > SIZE_BYTES + 2 ? chunk.readInt16BE(SIZE_BYTES) : null)

export async function openGate(): Promise<Gate> {
  const open = new Set<Socket>()
  let broken: number | null = null
  const server = createServer(near => {
    const far = connect(gate.target, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        open.delete(socket)
        other.destroy()
      })
    }
    far.pipe(near)
    near.on('data', chunk => {
      if (broken === null || apiKeyOf(chunk) !== broken) return void far.write(chunk)
      broken = null
      near.resetAndDestroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const gate: Gate = {
    port: (server.address() as AddressInfo).port,
    target: 0,
    breakNext(apiKey) {
      broken = apiKey
    },
    async close() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return gate
}

/** Leaves a group for one of its members, as a stranger: the member is unknown to the coordinator from then on. */
export async function expel(port: number, group: string, member: string): Promise<void> {
  const text = (value: string) => Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)])
  const version = 0
  const correlation = Buffer.alloc(4)
  const request = Buffer.concat([
    int16(LEAVE_GROUP),
    int16(version),
    correlation,
    text('expel'),
    text(group),
    text(member),
  ])
  const size = Buffer.alloc(SIZE_BYTES)
  size.writeInt32BE(request.length)
  const socket = connect(port, '127.0.0.1')
  socket.write(Buffer.concat([size, request]))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  const code = answer.readInt16BE(SIZE_BYTES + correlation.length)
  if (code !== 0) throw new Error(`Kafka answers ${code}`)
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}
