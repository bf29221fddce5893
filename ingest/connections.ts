import type { Socket } from 'node:net'
import { getHeapStatistics } from 'node:v8'
import type { Descriptors } from '../db/descriptors.ts'
import { networkOf } from './mqtt/throttle.ts'

/** An idle connection of MQTT takes 11 to 18 KB (`npm run bench -- connections`), one of HTTP less. */
const CONNECTION_BYTES = 20 * 1024

/**
 * The connections that a process has accepted, by HTTP and MQTT together: below the limit of its descriptors less what the
 * rest of it needs, and in half of its heap. 20,000 without a byte took the last descriptor from the database otherwise.
 *
 * An address has up to half of what the others leave, so whoever comes next finds room as well. Where there is none, the
 * idle connection that has been so longest makes room, of the address itself where that has its share: one between two
 * requests, without a whole request, or with a client of MQTT that is not known yet. One by which nobody has signed in goes
 * first. Where none is idle the newcomer is closed.
 */
export interface Connections {
  readonly size: number
  /** Connections that were closed to make room, and newcomers for whom there was none. */
  readonly closed: number
  /** Counts a connection until it is closed; it is idle at first. Returns false, and closes it, where there is no room. */
  enter(socket: Socket): boolean
  /** Something of it is worked on, until `leaveWork` is called as often. */
  work(socket: Socket): void
  leaveWork(socket: Socket): void
  /** Somebody has signed in by it. */
  know(socket: Socket): void
}

interface Held {
  lane: Lane
  atWork: number
  isKnown: boolean
}

/** The one that has been idle longest comes first. */
interface Idle {
  strangers: Set<Socket>
  known: Set<Socket>
}

/** Of one address. */
interface Lane {
  isProxy: boolean
  size: number
  idle: Idle
}

/** How many connections a process has room for. */
export const countRoom = ({ connections }: Descriptors): number =>
  Math.min(connections, Math.floor(getHeapStatistics().heap_size_limit / 2 / CONNECTION_BYTES))

export function createConnections(options: {
  max: number
  /** Whether an address is a proxy's, through which many come: it has no share. */
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

  /** Closes the first of them. Its descriptor is free at once. */
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
    // What is idle of others they would make room with.
    const atWork = all.size - countIdle(idle) - (lane.size - countIdle(lane.idle))
    return !lane.isProxy && lane.size + 1 > Math.max(1, (max - atWork) / 2)
  }

  return {
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
      const { remoteAddress } = socket
      // It is gone already.
      if (remoteAddress === undefined) {
        socket.destroy()
        return false
      }
      const network = networkOf(remoteAddress)
      const lane = lanes.get(network) ?? { isProxy: isProxy(remoteAddress), size: 0, idle: createIdle() }
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
