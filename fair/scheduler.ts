import { rootOf } from './roots.ts'

/**
 * Shares the event loop fairly among senders. Each iteration spends a few milliseconds on their work, one piece at a
 * time: the roots of organizations take turns (fair/roots.ts), and within a root the keys. A sender with endless work
 * waits for itself, and delays the others by one piece.
 */
export interface Scheduler {
  /** Whether no work waits and this iteration has time left, so that work may be done at once. */
  readonly isFree: boolean
  /**
   * Calls `work` whenever it is the turn of `key`, until it returns false. Each call does one small piece. The turns
   * go round the roots (fair/roots.ts), and the turns of a root go round its keys.
   */
  enter(key: string, work: () => boolean, root?: string): void
  /**
   * Resolves when it is the turn of `key`, for a piece that cannot be divided: it gets the rest of the iteration for
   * itself if it runs at once.
   */
  pass(key: string): Promise<void>
  /** Runs each step of `work` in a turn of `key`. Resolves to its return value, or rejects with its error. */
  walk<Found>(key: string, work: Generator<void, Found>): Promise<Found>
}

/** Together with the other work of an iteration, this stays far below the quarter of a second that a client may wait. */
const ITERATION_MS = 10
/**
 * The number of pieces in an iteration, if time allows. Each is a callback of its own, so that its promise callbacks
 * count too.
 */
const MAX_TOGETHER = 64

export function createScheduler(): Scheduler {
  /** By root, then by key; the next one comes first. */
  const roots = new Map<string, Map<string, (() => boolean)[]>>()
  let deadline = 0
  let begun = false

  function begin(): void {
    if (begun) return
    begun = true
    deadline = performance.now() + ITERATION_MS
    setImmediate(again)
  }

  function again(): void {
    begun = false
    if (roots.size === 0) return
    begin()
    for (let pieces = 0; pieces < MAX_TOGETHER; pieces++) setImmediate(next)
  }

  function next(): void {
    if (performance.now() >= deadline) return
    const [ofRoot] = roots
    const [ofKey] = ofRoot?.[1] ?? []
    if (!ofRoot || !ofKey) return
    const [[root, lanes], [key, works]] = [ofRoot, ofKey]
    const work = works.shift() as () => boolean
    roots.delete(root)
    lanes.delete(key)
    if (lanes.size > 0) roots.set(root, lanes)
    if (work()) works.push(work)
    // The work may have entered more work for its key.
    const entered = roots.get(root)
    works.push(...(entered?.get(key) ?? []))
    entered?.delete(key)
    if (works.length > 0) roots.set(root, (entered ?? lanes).set(key, works))
    else if (entered?.size === 0) roots.delete(root)
  }

  function enter(key: string, work: () => boolean, root = rootOf(key)): void {
    begin()
    const lanes = roots.get(root) ?? new Map<string, (() => boolean)[]>()
    const works = lanes.get(key)
    if (works) works.push(work)
    else lanes.set(key, [work])
    roots.set(root, lanes)
  }

  return {
    get isFree() {
      begin()
      return roots.size === 0 && performance.now() < deadline
    },
    enter,
    pass: key =>
      new Promise(resolve => {
        enter(key, () => {
          deadline = 0
          resolve()
          return false
        })
      }),
    walk: (key, work) =>
      new Promise((resolve, reject) => {
        enter(key, () => {
          try {
            const { done, value } = work.next()
            if (done) resolve(value)
            return !done
          } catch (error) {
            reject(error)
            return false
          }
        })
      }),
  }
}

/** Runs `work` to its end in one piece: for work that no sender can make long. */
export function atOnce<Found>(work: Generator<void, Found>): Found {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}
