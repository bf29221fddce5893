import type { Duplex } from 'node:stream'
import { MAX_UNANSWERED_PER_ADDRESS, MAX_WAITING } from './limits.ts'

/**
 * Where new connections wait, unread, until they are let in: so many a second, and of one address so many that are
 * not yet answered. Addresses take turns, so that one that knocks a thousand times a second keeps nobody else out.
 */
export interface WaitingRoom {
  readonly waiting: number
  /** Calls `admit` when it is the stream's turn, with what to call when its CONNECT is answered. */
  enter(stream: Duplex, address: string, admit: (answered: () => void) => void): void
  close(): void
}

const LOOK_EVERY_MS = 20

const MAX_LANES_SEARCHED = 1_000

interface Guest {
  /** Lets it in. */
  admit(): void
  /** Takes it out. */
  leave(): void
}

interface Lane {
  /** First come, first served. */
  guests: Map<Duplex, Guest>
  unanswered: number
}

export function createWaitingRoom(options: {
  /** 0 is no limit. */
  perSecond: number
  perAddress?: number
  most?: number
}): WaitingRoom {
  const { perSecond, perAddress = MAX_UNANSWERED_PER_ADDRESS, most = MAX_WAITING } = options
  const lanes = new Map<string, Lane>()
  /** The lanes with guests; the one whose turn it is comes first. */
  const turns = new Set<Lane>()
  let waiting = 0
  let tokens = perSecond
  let filledAt = performance.now()
  let timer: NodeJS.Timeout | undefined

  function letIn(): void {
    timer = undefined
    const now = performance.now()
    tokens = Math.min(perSecond, tokens + ((now - filledAt) / 1000) * perSecond)
    filledAt = now
    // A round that moves nobody is the last.
    for (let moved = true; moved; ) {
      moved = false
      for (const lane of [...turns]) {
        if (perSecond > 0 && tokens < 1) break
        if (lane.unanswered >= perAddress) continue
        const [next] = lane.guests.values()
        tokens--
        moved = true
        next?.admit()
        if (turns.delete(lane) && lane.guests.size > 0) turns.add(lane)
      }
    }
    if (waiting > 0) timer = setTimeout(letIn, LOOK_EVERY_MS)
  }

  /** One of the address that has most waiting goes: one that fills the room keeps nobody else out. */
  function makeRoom(newcomers: Lane | undefined): boolean {
    // So many addresses are no single one's doing, and looking through them costs as well.
    if (turns.size > MAX_LANES_SEARCHED) return false
    let longest: Lane | undefined
    for (const lane of turns) if (lane.guests.size > (longest?.guests.size ?? 0)) longest = lane
    if (!longest || longest.guests.size <= (newcomers?.guests.size ?? 0) + 1) return false
    // The first is as good as the last to find, and has waited in vain longest: it is about to give up.
    const [[first, { leave }]] = longest.guests as unknown as [[Duplex, Guest]]
    leave()
    first.destroy()
    return true
  }

  return {
    get waiting() {
      return waiting
    },

    enter(stream, address, admit) {
      if (waiting >= most && !makeRoom(lanes.get(address))) {
        stream.destroy()
        return
      }
      const lane = lanes.get(address) ?? { guests: new Map(), unanswered: 0 }
      lanes.set(address, lane)
      let state: 'waiting' | 'unanswered' | 'done' = 'waiting'

      const leave = () => {
        if (state === 'unanswered') lane.unanswered--
        else if (state === 'waiting') {
          lane.guests.delete(stream)
          waiting--
          if (lane.guests.size === 0) turns.delete(lane)
        }
        if (lane.unanswered === 0 && lane.guests.size === 0) lanes.delete(address)
        state = 'done'
        stream.removeListener('close', leave)
      }
      lane.guests.set(stream, {
        admit() {
          lane.guests.delete(stream)
          waiting--
          state = 'unanswered'
          lane.unanswered++
          admit(leave)
        },
        leave,
      })
      turns.add(lane)
      waiting++
      // Whoever hangs up while it waits must not fail the process.
      stream.on('error', ignore)
      stream.on('close', leave)
      if (!timer) letIn()
    },

    close() {
      clearTimeout(timer)
      for (const lane of turns) for (const stream of lane.guests.keys()) stream.destroy()
    },
  }
}

function ignore(): void {}

/** The network of an address, which is what is limited: a customer has a whole /64 of IPv6. */
export function networkOf(address = ''): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  if (mapped) return mapped[1] as string
  if (!address.includes(':')) return address
  const [before = '', after] = address.split('::')
  const head = before === '' ? [] : before.split(':')
  const tail = after ? after.split(':') : []
  const zeros = after === undefined ? 0 : Math.max(0, 8 - head.length - tail.length)
  return [...head, ...Array<string>(zeros).fill('0'), ...tail].slice(0, 4).join(':')
}
