import { BusyError } from './failures.ts'
import { rootOf } from './roots.ts'

/**
 * Turns at something scarce. Whoever has to wait does so in the line of its owner. Roots of organizations take turns
 * (db/roots.ts), and the owners of one root among themselves, so that one with a thousand waiting delays another by one of
 * them. A root never has more than its share, nor more than the others leave free, however little they ask for: what is
 * slow stays slow, and there is room for the next.
 *
 * Turns are not equally long. Each has a cost, one where none is named, and the costs are shared: of the roots that wait, the
 * root whose turns have cost least is next. So after a long turn of one root all the short turns of another come.
 *
 * Classes are apart from each other: the first has half of the costs, the next half of the rest, and so on. After each turn of a
 * class comes a turn of those behind it, if one waits, and further ones until they have cost as much. The last class can give way:
 * a turn of it may take long, and would delay each turn of the others by one of its own.
 */
export interface Turns {
  /**
   * Resolves to how to give the turn back, with its cost. Rejects with a BusyError, or with the signal's reason. The class is
   * the last where none is named.
   */
  take(
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
  /** The costs of its turns, counted from those of the other roots when it came. */
  used: number
  /** By owner, in the order in which they are served; whoever was goes to the end. */
  lines: Map<string | undefined, Waiter[]>
}

/** As many owners of a root may have all waiting that they may. */
const FULL_LINES = 4

interface Class {
  /** In the order in which they are served; whoever was goes to the end. */
  roots: Map<string | undefined, Root>
  /** The costs of the root that was served last, until then: a root that comes now begins there. */
  used: number
  /** The costs that the classes behind it may have before its next turn, while they wait. */
  owed: number
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
    (): Class => ({ roots: new Map(), used: 0, owed: 0 }),
  )
  let held = 0
  const last = classes.length - 1
  /** When the others had a turn at last, and until when the last class rests beside them. */
  let [othersAt, restsUntil] = [Number.NEGATIVE_INFINITY, 0]
  let looking: NodeJS.Timeout | undefined

  const hasShare = (name: string | undefined, root: Root) =>
    name === undefined || root.held < Math.min(options.maxPerRoot, options.max - held)
  const findReady = ({ roots }: Class) => {
    let ready: [string | undefined, Root] | undefined
    for (const [name, root] of roots)
      if (root.waiting > 0 && (!ready || root.used < ready[1].used) && hasShare(name, root))
        ready = [name, root]
    return ready
  }

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

  function ended(place: number, root: Root, begun: number, cost: number): void {
    root.used += cost
    for (const one of classes.slice(0, place)) one.owed = Math.max(0, one.owed - cost)
    const own = classes[place] as Class
    own.owed = cost
    // How long the turn took decides how long the last class rests.
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
      const behind = (place: number) => ready.slice(place + 1).some(Boolean)
      const served = isDue
        ? last
        : ready.findIndex((found, place) => found && (classes[place]?.owed === 0 || !behind(place)))
      const found = ready[served]
      if (!found) return
      const [name, root] = found
      const own = classes[served] as Class
      own.used = root.used
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

  return {
    take(name, { signal, class: place = last, waitMs = options.waitMs } = {}) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      const { roots, used } = classes[place] as Class
      const rootName = name && rootOf(name)
      const root = roots.get(rootName) ?? { held: 0, waiting: 0, used, lines: new Map() }
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
            resolve((cost = 1) => {
              if (!given) return
              given = false
              ended(place, root, begun, cost)
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
