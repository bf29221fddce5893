/**
 * The load generator of connections, in a process of its own: it holds as many as its descriptors allow. It reads one
 * order per line from standard input, and answers each with a line on standard output. It ends with its input.
 */
import { connect, type Socket } from 'node:net'
import { connectFrame, publishRing } from './frames.ts'
import { obeyLines } from './orders.ts'

export type ConnectionOrder =
  /** Opens `count` connections at once and holds them. Answers `{ seconds }` when the last one is accepted. */
  | { do: 'open'; host: string; port: number; devices: { id: string; key: string }[]; count: number }
  /** Breaks off all of them without DISCONNECT. Answers `{ held }`, the number of those that were still open. */
  | { do: 'drop' }
  /** Publishes point by point over one connection. Answers `{}` when it is accepted. */
  | { do: 'publish'; host: string; port: number; device: { id: string; key: string }; everyMs: number }
  /** Ends publishing. Answers `{ latencies }` in milliseconds. */
  | { do: 'latencies' }

const KEEPALIVE_MS = 30_000
const PINGREQ = Buffer.from([0xc0, 0])

const held = new Set<Socket>()
const latencies: number[] = []
let publishing: { socket: Socket; timer: NodeJS.Timeout } | undefined
let round = 0

setInterval(() => {
  for (const socket of held) socket.write(PINGREQ)
}, KEEPALIVE_MS)

obeyLines<ConnectionOrder>(obey)

async function obey(order: ConnectionOrder): Promise<unknown> {
  switch (order.do) {
    case 'open': {
      const begun = performance.now()
      round++
      const names = Array.from({ length: order.count }, (_, index) => `idle-${round}-${index}`)
      await Promise.all(
        names.map((name, index) => {
          const device = order.devices[index % order.devices.length] as { id: string; key: string }
          return open(order, device, name)
        }),
      )
      return { seconds: (performance.now() - begun) / 1000 }
    }
    case 'drop': {
      const answer = { held: held.size }
      for (const socket of held) socket.resetAndDestroy()
      held.clear()
      return answer
    }
    case 'publish':
      return publish(order)
    case 'latencies': {
      clearInterval(publishing?.timer)
      publishing?.socket.destroy()
      return { latencies: latencies.splice(0) }
    }
  }
}

function open(
  at: { host: string; port: number },
  device: { id: string; key: string },
  clientId: string,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: at.host, port: at.port, noDelay: true })
    socket.on('connect', () => socket.write(connectFrame(clientId, device.id, device.key)))
    socket.once('data', chunk => {
      if (chunk[0] !== 0x20 || chunk[3] !== 0) {
        reject(new Error(`${clientId} was refused: ${chunk.toString('hex')}`))
        return
      }
      held.add(socket)
      resolve(socket)
    })
    socket.on('error', reject)
    socket.on('close', () => {
      held.delete(socket)
      reject(new Error(`${clientId} was closed`))
    })
  })
}

async function publish(order: Extract<ConnectionOrder, { do: 'publish' }>): Promise<unknown> {
  const socket = await open(order, order.device, 'publisher')
  held.delete(socket)
  const ring = publishRing(`devices/${order.device.id}/location`, 1)
  let time = Date.now() - 24 * 3600_000
  let sentAt = 0
  const timer = setInterval(() => {
    if (sentAt > 0) return
    ring.patch(0, time++)
    sentAt = performance.now()
    socket.write(ring.bytes)
  }, order.everyMs)
  socket.on('data', () => {
    latencies.push(performance.now() - sentAt)
    sentAt = 0
  })
  publishing = { socket, timer }
  return {}
}
