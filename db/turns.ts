import { BusyError } from './failures.ts'
import { rootOf } from './roots.ts'

/**
 * Turns at something scarce. Whoever has to wait does so in the line of its owner. Roots of organizations take turns
 * (db/roots.ts), and the owners of one root among themselves, so that one with a thousand waiting delays another by one of
 * them. A root never has more than its share, nor more than the others leave free, however little they ask for: what is
 * slow stays slow, and there is room for the next.
 *
 * Classes are apart from each other: the first has every second turn, the next every second of the rest, and so on. So
 * between two turns of the first there is at most one of all others, whoever waits. The last one can give way: a turn of it may take
 * long, and would delay each turn of the others by one of its own.
 */
export interface Turns {
  /**
   * Resolves to how to give the turn back. Rejects with a BusyError, or with the signal's reason. The class is the last
   * where none is named.
   */
  take(
    owner: string | undefined,
    options?: { signal?: AbortSignal | undefined; class?: number; waitMs?: number },
  ): Promise<() => void>
}

interface Waiter {
  give: () => void
  decline: (reason: unknown) => void
}

interface Root {
  held: number
  waiting: number
  /** By owner, in the order in which they are served; whoever was goes to the end. */
  lines: Map<string | undefined, Waiter[]>
}

/** As many owners of a root may have all waiting that they may. */
const FULL_LINES = 4

interface Class {
  /** In the order in which they are served; whoever was goes to the end. */
  roots: Map<string | undefined, Root>
  /** Whether of it and those behind it, it was served last. */
  wasServed: boolean
}

export function createTurns(options: {
  max: number
  /** Of a root, where the owner is named; nobody else has a share. */
  maxPerRoot: number
  /** Waiting, per owner that is named, in each class. A root has four times as many. */
  maxWaiting: number
  waitMs: number
  /** How many; one where it is left out. */
  classes?: number
  /**
   * The last class is served when no other has had a turn or waits since `quietMs`, or, before all others, when it has rested for
   * `restTimes` as long as its last turn took. Without this, in its turn.
   */
  lastGivesWay?: { quietMs: number; restTimes: number; maxRestMs: number }
}): Turns {
  const classes = Array.from(
    { length: options.classes ?? 1 },
    (): Class => ({ roots: new Map(), wasServed: false }),
  )
  let held = 0
  const last = classes.length - 1
  /** When the others had a turn at last, and until when the last class rests beside them. */
  let [othersAt, restsUntil] = [Number.NEGATIVE_INFINITY, 0]
  let looking: NodeJS.Timeout | undefined

  const hasShare = (name: string | undefined, root: Root) =>
    name === undefined || root.held < Math.min(options.maxPerRoot, options.max - held)
  const findReady = ({ roots }: Class) =>
    [...roots].find(([name, root]) => root.waiting > 0 && hasShare(name, root))

  /** Whether the last class, of which somebody waits, is served now; else it is looked at again when it may be. */
  function isLastDue(othersWait: boolean): boolean {
    if (!options.lastGivesWay) return false
    const now = performance.now()
    const quietAt = othersWait ? Number.POSITIVE_INFINITY : othersAt + options.lastGivesWay.quietMs
    const dueAt = Math.min(restsUntil, quietAt)
    if (now >= dueAt) return true
    clearTimeout(looking)
    looking = setTimeout(next, Math.ceil(dueAt - now))
    return false
  }

  /** How long it took decides how long the last class rests. */
  function ended(place: number, begun: number): void {
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
      let served = isDue ? last : ready.findIndex((found, index) => found && !classes[index]?.wasServed)
      if (served === -1) served = ready.findLastIndex(found => found)
      const found = ready[served]
      if (!found) return
      for (const [index, one] of classes.entries()) if (index <= served) one.wasServed = index === served
      const [name, root] = found
      const roots = classes[served]?.roots
      roots?.delete(name)
      roots?.set(name, root)
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

  return {
    take(name, { signal, class: place = last, waitMs = options.waitMs } = {}) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      const { roots } = classes[place] as Class
      const rootName = name && rootOf(name)
      const root = roots.get(rootName) ?? { held: 0, waiting: 0, lines: new Map() }
      const line = root.lines.get(name) ?? []
      const isFull = line.length >= options.maxWaiting || root.waiting >= FULL_LINES * options.maxWaiting
      if (name !== undefined && isFull) {
        return Promise.reject(new BusyError('Too many requests of this organization are waiting'))
      }
      roots.set(rootName, root)
      root.lines.set(name, line)
      const forget = () => {
        if (root.held === 0 && root.waiting === 0) roots.delete(rootName)
      }
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          give() {
            settle()
            let given = true
            const begun = performance.now()
            resolve(() => {
              if (!given) return
              given = false
              ended(place, begun)
              held--
              root.held--
              forget()
              next()
            })
          },
          decline(reason) {
            settle()
            forget()
            reject(reason)
          },
        }
        const timer = setTimeout(
          () => waiter.decline(new BusyError(`No turn came within ${waitMs} ms`)),
          waitMs,
        )
        const onAbort = () => waiter.decline(signal?.reason)
        const settle = () => {
          clearTimeout(timer)
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
