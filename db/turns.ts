import { BusyError } from './demand.ts'

/**
 * Turns at something scarce. Whoever has to wait does so in the line of its owner, and owners take turns, so that one with
 * a thousand waiting delays another by one of them. An owner never has more than its share, however little others ask for:
 * what is slow stays slow, and there is always room for the next.
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

interface Owner {
  held: number
  line: Waiter[]
}

interface Class {
  /** In the order in which they are served; whoever was goes to the end. */
  owners: Map<string | undefined, Owner>
  /** Whether of it and those behind it, it was served last. */
  wasServed: boolean
}

export function createTurns(options: {
  max: number
  /** Of an owner that is named; nobody else has a share. */
  maxPerOwner: number
  /** Waiting, per owner that is named, in each class. */
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
    (): Class => ({ owners: new Map(), wasServed: false }),
  )
  let held = 0
  const last = classes.length - 1
  /** When the others had a turn at last, and until when the last class rests beside them. */
  let [othersAt, restsUntil] = [Number.NEGATIVE_INFINITY, 0]
  let looking: NodeJS.Timeout | undefined

  const share = (name: string | undefined) => (name === undefined ? options.max : options.maxPerOwner)
  const findReady = ({ owners }: Class) =>
    [...owners].find(([name, owner]) => owner.line.length > 0 && owner.held < share(name))

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
      const [name, owner] = found
      const owners = classes[served]?.owners
      owners?.delete(name)
      owners?.set(name, owner)
      held++
      owner.held++
      owner.line.shift()?.give()
    }
  }

  return {
    take(name, { signal, class: place = last, waitMs = options.waitMs } = {}) {
      if (signal?.aborted) return Promise.reject(signal.reason)
      const { owners } = classes[place] as Class
      const owner = owners.get(name) ?? { held: 0, line: [] }
      if (name !== undefined && owner.line.length >= options.maxWaiting) {
        return Promise.reject(new BusyError('Too many requests of this organization are waiting'))
      }
      owners.set(name, owner)
      const forget = () => {
        if (owner.held === 0 && owner.line.length === 0) owners.delete(name)
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
              owner.held--
              forget()
              next()
            })
          },
          decline(reason) {
            settle()
            owner.line.splice(owner.line.indexOf(waiter), 1)
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
        }
        signal?.addEventListener('abort', onAbort, { once: true })
        owner.line.push(waiter)
        next()
      })
    },
  }
}
