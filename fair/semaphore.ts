import { rootOf } from './roots.ts'

/** Too much work waits already, or waits for too long. The work may succeed when it is done again. */
export class BusyError extends Error {
  readonly retryable = true
}

/**
 * A fair semaphore: turns at something scarce. Callers wait in the line of their owner, which is an organization, a user or an
 * address. The roots of organizations take turns (fair/roots.ts), and within a root the owners, so an owner with a thousand
 * waiting requests delays another owner by one of them. A root never holds more than its share, nor more than the others leave
 * free, even while nobody else asks: slow work then stays slow, and the next root finds room.
 *
 * Turns are not equally long. Each has a cost, which is 1 by default, and the costs are shared: of the waiting roots, the one
 * whose turns have cost least is next. So all the short turns of one root follow a long turn of another.
 *
 * Classes are separate. The first class gets half of the costs, the second half of the rest, and so on: after each turn of a
 * class, waiting turns of the later classes follow until they have cost as much. The last class can give way, for turns that may
 * take long: each of them would delay each turn of the other classes.
 */
export interface Semaphore {
  /**
   * Resolves to a function that ends the turn, given its cost. Rejects with a BusyError, or with the signal's reason. The class
   * is the last one by default.
   */
  acquire(
    owner: string | undefined,
    options?: { signal?: AbortSignal | undefined; class?: number; waitMs?: number },
  ): Promise<(cost?: number) => void>
}

interface Waiter {
  give: () => void
  decline: (reason: unknown) => void
}

interface Root {
  held: number
  waiting: number
  /** The cost of its turns so far, on the scale of `Class.used`. */
  used: number
  /** The lines of its owners, in the order of their turns. */
  lines: Map<string | undefined, Waiter[]>
}

/** The number of owners of a root that may each have a full line. */
const FULL_LINES = 4
/** The number of roots that are remembered in each class for their costs alone. Each takes 300 bytes. */
const MAX_IDLE = 1_000

interface Class {
  /** In the order of their turns. */
  roots: Map<string | undefined, Root>
  /** The number of turns that are held or waited for. */
  size: number
  /** The most that a root had used when it was served. A new root begins there. */
  used: number
  /** The cost that the later classes may have before the next turn of this one, while they wait. */
  owed: number
}

export function createSemaphore(options: {
  max: number
  /** The limit for each root. Callers without an owner have no limit. */
  maxPerRoot: number
  /** The length of an owner's line in each class. All lines of a root may be four times as long. */
  maxWaiting: number
  waitMs: number
  /** The number of classes; 1 by default. */
  classes?: number
  /**
   * Makes the last class give way. It is served when no other class waits or has had a turn for `quietMs`; or, before all
   * others, when it has rested `restTimes` as long as its last turn took.
   */
  lastGivesWay?: { quietMs: number; restTimes: number; maxRestMs: number }
}): Semaphore {
  const classes = Array.from(
    { length: options.classes ?? 1 },
    (): Class => ({ roots: new Map(), size: 0, used: 0, owed: 0 }),
  )
  let held = 0
  const last = classes.length - 1
  /** The end of the last turn of another class, and the end of the last class's rest. */
  let [othersAt, restsUntil] = [Number.NEGATIVE_INFINITY, 0]
  let timer: NodeJS.Timeout | undefined

  const hasShare = (name: string | undefined, root: Root) =>
    name === undefined || root.held < Math.min(options.maxPerRoot, options.max - held)
  const findReady = ({ roots }: Class) => {
    let ready: [string | undefined, Root] | undefined
    for (const [name, root] of roots)
      if (root.waiting > 0 && (!ready || root.used < ready[1].used) && hasShare(name, root))
        ready = [name, root]
    return ready
  }

  /** Whether the last class, which waits, is served now. Otherwise `next` is called again when it may be. */
  function isLastDue(othersWait: boolean): boolean {
    if (!options.lastGivesWay) return false
    const now = performance.now()
    const quietAt = othersWait ? Number.POSITIVE_INFINITY : othersAt + options.lastGivesWay.quietMs
    const dueAt = Math.min(restsUntil, quietAt)
    if (now >= dueAt) return true
    clearTimeout(timer)
    timer = setTimeout(next, Math.ceil(dueAt - now))
    return false
  }

  function countTurn(place: number, root: Root, begun: number, cost: number): void {
    root.used += cost
    for (const one of classes.slice(0, place)) one.owed = Math.max(0, one.owed - cost)
    const own = classes[place] as Class
    own.owed = cost
    const now = performance.now()
    if (place < last) othersAt = now
    else if (options.lastGivesWay) {
      const { restTimes, maxRestMs } = options.lastGivesWay
      restsUntil = now + Math.min((now - begun) * restTimes, maxRestMs)
    }
  }

  function next(): void {
    while (held < options.max) {
      const ready = classes.map(findReady)
      const isDue = ready[last] && isLastDue(ready.slice(0, last).some(Boolean))
      if (options.lastGivesWay && !isDue) ready[last] = undefined
      const laterWait = (place: number) => ready.slice(place + 1).some(Boolean)
      const served = isDue
        ? last
        : ready.findIndex((found, place) => found && (classes[place]?.owed === 0 || !laterWait(place)))
      const found = ready[served]
      if (!found) return
      const [name, root] = found
      const own = classes[served] as Class
      own.used = Math.max(own.used, root.used)
      own.roots.delete(name)
      own.roots.set(name, root)
      held++
      root.held++
      for (const [owner, line] of root.lines) {
        root.lines.delete(owner)
        root.lines.set(owner, line)
        line[0]?.give()
        break
      }
    }
  }

  function enter(own: Class, name: string | undefined): Root {
    const root = own.roots.get(name) ?? { held: 0, waiting: 0, used: 0, lines: new Map() }
    // Nobody saves up turns by waiting for nothing.
    if (isIdle(root)) root.used = Math.max(root.used, own.used)
    return root
  }

  /**
   * Forgets a root that has no turns left. While others are busy it is remembered if it has used more than they have: a
   * root that asks for one long turn at a time would go first each time otherwise.
   */
  function leave(own: Class, name: string | undefined, root: Root): void {
    own.size--
    if (own.size === 0) own.roots.clear()
    else if (isIdle(root) && (root.used <= own.used || own.roots.size > MAX_IDLE)) own.roots.delete(name)
  }

  return {
    acquire(name, { signal, class: place = last, waitMs = options.waitMs } = {}) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      const own = classes[place] as Class
      const rootName = name && rootOf(name)
      const root = enter(own, rootName)
      const line = root.lines.get(name) ?? []
      const isFull = line.length >= options.maxWaiting || root.waiting >= FULL_LINES * options.maxWaiting
      if (name !== undefined && isFull) {
        return Promise.reject(new BusyError('Too many requests of this organization are waiting'))
      }
      own.roots.set(rootName, root)
      own.size++
      root.lines.set(name, line)
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          give() {
            settle()
            let isHeld = true
            const begun = performance.now()
            resolve((cost = 1) => {
              if (!isHeld) return
              isHeld = false
              countTurn(place, root, begun, cost)
              held--
              root.held--
              leave(own, rootName, root)
              next()
            })
          },
          decline(reason) {
            settle()
            leave(own, rootName, root)
            reject(reason)
          },
        }
        const timeout = setTimeout(
          () => waiter.decline(new BusyError(`No turn came within ${waitMs} ms`)),
          waitMs,
        )
        const onAbort = () => waiter.decline(signal?.reason)
        const settle = () => {
          clearTimeout(timeout)
          signal?.removeEventListener('abort', onAbort)
          line.splice(line.indexOf(waiter), 1)
          if (line.length === 0 && root.lines.get(name) === line) root.lines.delete(name)
          root.waiting--
        }
        signal?.addEventListener('abort', onAbort, { once: true })
        line.push(waiter)
        root.waiting++
        next()
      })
    },
  }
}

const isIdle = (root: Root): boolean => root.held === 0 && root.waiting === 0
