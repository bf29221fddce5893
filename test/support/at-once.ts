const AT_ONCE = 8

/** Works on all of them, some at once: a request waits for the database more than it works. */
export async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

let turn = 0

/** Of the values one of so many, others each time: every sixth where who asks is looked at before what is asked for. */
export function someOf<T>(values: readonly T[], oneOf = 6): T[] {
  turn++
  return values.filter((_value, index) => (index + turn) % oneOf === 0)
}

/** The items twelve at a time, for what is looked at after some of them as it would take long after each. */
export const inTwelves = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / 12) }, (_, n) => items.slice(n * 12, n * 12 + 12))
