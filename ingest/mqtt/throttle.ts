import type { Duplex } from 'node:stream'
import { TokenBucket } from '../../fair/token-bucket.ts'
import { MAX_UNANSWERED_PER_ADDRESS, MAX_WAITING } from './limits.ts'

/**
 * Makes new connections wait, unread, until they are accepted. It limits the connections accepted in a second, and the
 * unanswered connections of one address. Addresses take turns, so that one that connects a thousand times a second
 * blocks nobody else.
 */
export interface ConnectionThrottle {
  readonly waiting: number
  /** Calls `accept` when it is the stream's turn, with a function to call when its CONNECT is answered. */
  enter(stream: Duplex, address: string, accept: (answered: () => void) => void): void
  close(): void
}

const FILL_EVERY_MS = 20

const MAX_LANES_SEARCHED = 1_000

interface Waiting {
  /** Accepts the stream in its turn. */
  accept(): void
  /** Removes the stream from the queue. */
  leave(): void
}

interface Lane {
  /** The waiting streams, in order of arrival. */
  streams: Map<Duplex, Waiting>
  unanswered: number
}

export function createConnectionThrottle(options: {
  /** The connections accepted in a second; 0 means no limit. */
  perSecond: number
  perAddress?: number
  max?: number
}): ConnectionThrottle {
  const { perSecond, perAddress = MAX_UNANSWERED_PER_ADDRESS, max = MAX_WAITING } = options
  const lanes = new Map<string, Lane>()
  /** The lanes with waiting streams, in the order of their turns. */
  const turns = new Set<Lane>()
  let waiting = 0
  const bucket = perSecond > 0 ? new TokenBucket({ capacity: perSecond, perSecond }) : undefined
  let timer: NodeJS.Timeout | undefined

  function acceptNext(): void {
    timer = undefined
    // Rounds go on until one accepts no connection.
    for (let moved = true; moved; ) {
      moved = false
      for (const lane of [...turns]) {
        if (lane.unanswered >= perAddress) continue
        if (bucket && !bucket.take()) break
        const [next] = lane.streams.values()
        moved = true
        next?.accept()
        if (turns.delete(lane) && lane.streams.size > 0) turns.add(lane)
      }
    }
    if (waiting > 0) timer = setTimeout(acceptNext, FILL_EVERY_MS)
  }

  /** Closes a waiting connection of the address that has the most, so that no address can fill the queue for all. */
  function makeRoom(newcomers: Lane | undefined): boolean {
    // This number of addresses is not a single sender, and searching them takes time as well.
    if (turns.size > MAX_LANES_SEARCHED) return false
    let longest: Lane | undefined
    for (const lane of turns) if (lane.streams.size > (longest?.streams.size ?? 0)) longest = lane
    if (!longest || longest.streams.size <= (newcomers?.streams.size ?? 0) + 1) return false
    // The first is as quick to find as the last, and has waited longest: it is about to give up.
    const [[first, { leave }]] = longest.streams as unknown as [[Duplex, Waiting]]
    leave()
    first.destroy()
    return true
  }

  return {
    get waiting() {
      return waiting
    },

    enter(stream, address, accept) {
      if (waiting >= max && !makeRoom(lanes.get(address))) {
        stream.destroy()
        return
      }
      const lane = lanes.get(address) ?? { streams: new Map(), unanswered: 0 }
      lanes.set(address, lane)
      let state: 'waiting' | 'unanswered' | 'done' = 'waiting'

      const leave = () => {
        if (state === 'unanswered') lane.unanswered--
        else if (state === 'waiting') {
          lane.streams.delete(stream)
          waiting--
          if (lane.streams.size === 0) turns.delete(lane)
        }
        if (lane.unanswered === 0 && lane.streams.size === 0) lanes.delete(address)
        state = 'done'
        stream.removeListener('close', leave)
      }
      lane.streams.set(stream, {
        accept() {
          lane.streams.delete(stream)
          waiting--
          state = 'unanswered'
          lane.unanswered++
          accept(leave)
        },
        leave,
      })
      turns.add(lane)
      waiting++
      // A client that hangs up while it waits must not crash the process.
      stream.on('error', ignore)
      stream.on('close', leave)
      if (!timer) acceptNext()
    },

    close() {
      clearTimeout(timer)
      for (const lane of turns) for (const stream of lane.streams.keys()) stream.destroy()
    },
  }
}

function ignore(): void {}
