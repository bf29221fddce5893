import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { pause } from './wait.ts'

/**
 * The conditions of a simulated network. Requests come from the side that connected, answers go back to it. If either
 * is lost the connection is lost finally, as when a router in between has forgotten it: neither end hears of it any
 * more, not even that it is over.
 */
export const BAD_WEATHER = ['late', 'trickling', 'requests lost', 'answers lost', 'reset'] as const
export type Weather = 'clear' | (typeof BAD_WEATHER)[number]

const LATE_MS = 150
const TRICKLE_BYTES = 2_048
const TRICKLE_EVERY_MS = 100
/** A connection lives for a random time up to this. */
const RESET_WITHIN_MS = 100

/** A network between the clients of `port` and a server. */
export interface NetworkProxy {
  port: number
  /** The number of connections opened so far. */
  connections: number
  /** The number of bytes sent to the server so far. */
  bytes: number
  /** Lost connections that one of their ends still uses. */
  readonly believed: number
  set(weather: Weather): void
  close(): Promise<void>
}

interface Connection {
  near: Socket
  far: Socket
  /** The directions whose bytes are dropped. */
  losesRequests: boolean
  losesAnswers: boolean
}

/** Whether its other end has said that no more comes. */
const isGivenUp = (socket: Socket) => socket.destroyed || socket.readableEnded

/**
 * `noticedAfterMs`: the server notices a lost connection after this time, as through the kernel's probes; else only by
 * itself.
 */
export async function startProxy(
  target: () => number,
  { noticedAfterMs }: { noticedAfterMs?: number } = {},
): Promise<NetworkProxy> {
  const open = new Set<Connection>()
  let weather: Weather = 'clear'

  const server = createServer({ allowHalfOpen: true }, near => {
    const far = connect({ allowHalfOpen: true, host: '127.0.0.1', port: target() })
    const connection = { near, far, losesRequests: false, losesAnswers: false }
    proxy.connections++
    open.add(connection)
    const count = (bytes: number) => {
      proxy.bytes += bytes
    }
    const isLostTo = (socket: Socket) => (socket === far ? connection.losesRequests : connection.losesAnswers)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      socket.setNoDelay()
      socket.on('error', () => {})
      socket.once('close', hadError => {
        if (near.destroyed && far.destroyed) open.delete(connection)
        if (isLostTo(other)) return
        if (hadError) other.resetAndDestroy()
        else other.destroySoon()
      })
      void pass(socket, other, () => isLostTo(other), socket === near ? count : undefined)
    }
    suffer(connection)
  })

  async function pass(
    from: Socket,
    to: Socket,
    isLost: () => boolean,
    onBytes?: (count: number) => void,
  ): Promise<void> {
    try {
      // Half of a connection may end before the other.
      const chunks: AsyncIterable<Buffer> = from.iterator({ destroyOnReturn: false })
      for await (const chunk of chunks) {
        onBytes?.(chunk.length)
        if (weather === 'late') await pause(LATE_MS)
        const size = weather === 'trickling' ? TRICKLE_BYTES : chunk.length
        for (let at = 0; at < chunk.length; at += size) {
          if (weather === 'trickling') await pause(TRICKLE_EVERY_MS)
          if (!isLost() && !to.write(chunk.subarray(at, at + size))) await once(to, 'drain')
        }
      }
      if (!isLost()) to.end()
    } catch {
      // `close` reports it.
    }
  }

  /** Applies the weather to a connection. */
  function suffer(connection: Connection): void {
    const { near, far } = connection
    const wasLost = connection.losesRequests || connection.losesAnswers
    connection.losesRequests = wasLost || weather === 'requests lost'
    connection.losesAnswers = wasLost || weather === 'answers lost'
    if (wasLost) return
    if (weather === 'reset') {
      setTimeout(() => {
        near.resetAndDestroy()
        far.resetAndDestroy()
      }, Math.random() * RESET_WITHIN_MS)
    }
    if (noticedAfterMs !== undefined && (connection.losesRequests || connection.losesAnswers)) {
      setTimeout(() => far.resetAndDestroy(), noticedAfterMs).unref()
    }
  }

  server.listen({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  const proxy: NetworkProxy = {
    port: (server.address() as AddressInfo).port,
    connections: 0,
    bytes: 0,
    get believed() {
      const isBelieved = ({ near, far, losesRequests, losesAnswers }: Connection) =>
        (losesRequests || losesAnswers) && !(isGivenUp(near) && isGivenUp(far))
      return [...open].filter(isBelieved).length
    },
    set(next) {
      weather = next
      for (const connection of open) suffer(connection)
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const { near, far } of open) {
        near.destroy()
        far.destroy()
      }
      await closed
    },
  }
  return proxy
}
