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

/** Of the values every sixth, others each time: where who asks is looked at before what is asked for. */
export function someOf<T>(values: readonly T[]): T[] {
  turn++
  return values.filter((_value, index) => (index + turn) % 6 === 0)
}
