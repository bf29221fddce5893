import type { Socket } from 'node:net'
import { getHeapStatistics } from 'node:v8'
import type { Descriptors } from '../db/descriptors.ts'
import { networkOf } from '../fair/network.ts'

/** An idle connection of MQTT takes 11 to 18 KB (`npm run bench -- connections`), one of HTTP less. */
const CONNECTION_BYTES = 20 * 1024

/**
 * The connections that a process has accepted, HTTP and MQTT together. Their number stays below the limit of file
 * descriptors less what the rest of the process needs, and within half of the heap. Without that limit 20,000 silent
 * connections took the last descriptor from the database.
 *
 * An address may have half of the room that the others leave, so the next address finds room too. If there is no room,
 * the connection that has been idle longest is closed; if the address has used up its share, one of its own. A
 * connection is idle between two requests, before its first whole request, or while its MQTT client is not
 * authenticated. Connections without a sign-in are closed first. If no connection is idle, the new one is closed.
 */
export interface Connections {
  readonly size: number
  readonly max: number
  /** The number of connections closed to make room, and of new ones closed for lack of it. */
  readonly closed: number
  /** Counts a connection until it closes; it begins as idle. Without room it closes the connection and returns false. */
  enter(socket: Socket): boolean
  /** Counts it for another address from now on: that of the client behind a proxy. Without room it closes it, as `enter`. */
  move(socket: Socket, address: string): boolean
  /** Marks the connection as busy, until `leaveWork` has been called as often. */
  work(socket: Socket): void
  leaveWork(socket: Socket): void
  /** Marks the connection as one that has signed in. */
  know(socket: Socket): void
}

interface Held {
  lane: Lane
  atWork: number
  isKnown: boolean
}

/** Idle connections, the longest idle first. */
interface Idle {
  strangers: Set<Socket>
  known: Set<Socket>
}

/** The connections of one address. */
interface Lane {
  isProxy: boolean
  size: number
  idle: Idle
}

/** The number of connections that a process has room for. */
export const countRoom = ({ connections }: Descriptors): number =>
  Math.min(connections, Math.floor(getHeapStatistics().heap_size_limit / 2 / CONNECTION_BYTES))

export function createConnections(options: {
  max: number
  /** Whether an address is a proxy that serves many clients; it has no share. */
  isProxy: (address: string) => boolean
}): Connections {
  const { max, isProxy } = options
  const all = new Map<Socket, Held>()
  const lanes = new Map<string, Lane>()
  const idle = createIdle()
  let closed = 0

  function rest(socket: Socket, { lane, isKnown }: Held): void {
    for (const { strangers, known } of [idle, lane.idle]) (isKnown ? known : strangers).add(socket)
  }

  function wake(socket: Socket, { lane }: Held): void {
    for (const { strangers, known } of [idle, lane.idle]) if (!strangers.delete(socket)) known.delete(socket)
  }

  /** Closes the connection that has been idle longest. Its descriptor is free at once. */
  function closeOldest({ strangers, known }: Idle): boolean {
    const [oldest] = strangers.size > 0 ? strangers : known
    if (!oldest) return false
    forget(oldest)
    oldest.destroy()
    closed++
    return true
  }

  function forget(socket: Socket): void {
    const held = all.get(socket)
    if (!held) return
    all.delete(socket)
    wake(socket, held)
    held.lane.size--
  }

  const exceeds = (lane: Lane) => {
    // The idle connections of others can be closed, so only the busy ones count.
    const atWork = all.size - countIdle(idle) - (lane.size - countIdle(lane.idle))
    return !lane.isProxy && lane.size + 1 > Math.max(1, (max - atWork) / 2)
  }

  function add(socket: Socket, address: string | undefined): boolean {
    // The connection has closed already.
    if (address === undefined) {
      socket.destroy()
      return false
    }
    const network = networkOf(address)
    const lane = lanes.get(network) ?? { isProxy: isProxy(address), size: 0, idle: createIdle() }
    const hasRoom = (!exceeds(lane) || closeOldest(lane.idle)) && (all.size < max || closeOldest(idle))
    if (!hasRoom) {
      closed++
      socket.destroy()
      return false
    }
    lanes.set(network, lane)
    lane.size++
    const held = { lane, atWork: 0, isKnown: false }
    all.set(socket, held)
    rest(socket, held)
    socket.once('close', () => {
      forget(socket)
      if (lane.size === 0 && lanes.get(network) === lane) lanes.delete(network)
    })
    return true
  }

  return {
    max,
    get size() {
      return all.size
    },
    get closed() {
      return closed
    },
    enter(socket) {
      const known = all.get(socket)
      if (known) {
        known.atWork = 0
        rest(socket, known)
        return true
      }
      return add(socket, socket.remoteAddress)
    },
    move(socket, address) {
      forget(socket)
      return add(socket, address)
    },
    work(socket) {
      const held = all.get(socket)
      if (held && held.atWork++ === 0) wake(socket, held)
    },
    leaveWork(socket) {
      const held = all.get(socket)
      if (held && --held.atWork === 0) rest(socket, held)
    },
    know(socket) {
      const held = all.get(socket)
      if (held) held.isKnown = true
    },
  }
}

const createIdle = (): Idle => ({ strangers: new Set(), known: new Set() })

const countIdle = ({ strangers, known }: Idle): number => strangers.size + known.size
