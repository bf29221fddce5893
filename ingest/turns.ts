/**
 * What strangers' bytes cost, in turns: a few milliseconds in each iteration of the event loop, and of those who wait one
 * piece after the other by key. Whoever sends without end waits for itself, and everybody else for one piece of it.
 */
export interface Turns {
  /** Whether nobody waits and there is time left in this iteration: then work may be done at once. */
  readonly isFree: boolean
  /** Calls `work` whenever it is the turn of `key`, until it returns false. Each call does one small piece. */
  enter(key: string, work: () => boolean): void
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
  /** The lane whose turn it is comes first. */
  const lanes = new Map<string, (() => boolean)[]>()
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
    if (lanes.size === 0) return
    begin()
    for (let pieces = 0; pieces < MAX_TOGETHER; pieces++) setImmediate(next)
  }

  function next(): void {
    const [first] = lanes
    if (!first || performance.now() >= deadline) return
    const [key, works] = first
    const work = works.shift() as () => boolean
    lanes.delete(key)
    if (work()) works.push(work)
    // What it did may have entered again.
    const entered = lanes.get(key)
    if (entered) works.push(...entered)
    lanes.delete(key)
    if (works.length > 0) lanes.set(key, works)
  }

  function enter(key: string, work: () => boolean): void {
    begin()
    const works = lanes.get(key)
    if (works) works.push(work)
    else lanes.set(key, [work])
  }

  return {
    get isFree() {
      begin()
      return lanes.size === 0 && performance.now() < deadline
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
