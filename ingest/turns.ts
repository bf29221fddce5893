import { rootOf } from '../db/roots.ts'

/**
 * What strangers' bytes cost, in turns: a few milliseconds in each iteration of the event loop, and of those who wait one
 * piece after the other by key, and first of all by root (db/roots.ts). Whoever sends without end waits for itself, and everybody else for one piece of it.
 */
export interface Turns {
  /** Whether nobody waits and there is time left in this iteration: then work may be done at once. */
  readonly isFree: boolean
  /**
   * Calls `work` whenever it is the turn of `key`, until it returns false. Each call does one small piece. Keys of one root
   * take turns among themselves.
   */
  enter(key: string, work: () => boolean, root?: string): void
  /**
   * Resolves when it is the turn of `key`, for a piece that cannot be cut smaller: what is done at once after it has the rest of
   * the iteration for itself.
   */
  pass(key: string): Promise<void>
  /** Resolves to what `work` returns, each of its pieces in a turn of `key`. Rejects with what it throws. */
  walk<Found>(key: string, work: Generator<void, Found>): Promise<Found>
}

/** With what else an iteration does it stays far below the quarter of a second that anybody may wait. */
const ITERATION_MS = 10
/** Pieces of an iteration, if there is time: each is a callback of its own, so that what it leaves to promises is counted. */
const MAX_TOGETHER = 64

export function createTurns(): Turns {
  /** By root, then by key; the one whose turn it is comes first. */
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
    // What it did may have entered again.
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

/** What `work` returns, in one piece: for what no stranger can make long. */
export function atOnce<Found>(work: Generator<void, Found>): Found {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}
