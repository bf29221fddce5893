const AT_ONCE = 8

/** Works on all items, some at once: a request mostly waits for the database. */
export async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

let turn = 0

/**
 * One of `oneOf` values, different ones each time: a sixth is enough where the caller is checked before the request.
 */
export function someOf<T>(values: readonly T[], oneOf = 6): T[] {
  turn++
  return values.filter((_value, index) => (index + turn) % oneOf === 0)
}

/** The items in groups, for checks that would take long after each item. */
export const inGroups = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size))
