/** The row that a key leads to, from row `at` of `count` rows with `page` rows on the screen; undefined for other keys. */
export function stepTo(key: string, at: number, { count, page }: { count: number; page: number }) {
  const steps: { [key: string]: number } = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    Home: 0,
    End: count - 1,
    PageDown: at + page,
    PageUp: at - page,
  }
  const next = steps[key]
  return next === undefined ? undefined : Math.max(0, Math.min(count - 1, next))
}
