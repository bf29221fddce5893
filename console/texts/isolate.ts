/** Letters and signs of right to left: what is written after them goes their way. */
const TURNS =
  /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** A name for the middle of a sentence, whose own direction stays its own (first strong isolate, Unicode TR9). */
export const isolate = (name: string): string => (TURNS.test(name) ? `\u2068${name}\u2069` : name)

/** The same texts, in which every name is isolated. */
export function isolateNames<T extends object>(texts: T): T {
  const entries = Object.entries(texts).map(([key, value]) => {
    if (typeof value === 'function') {
      return [
        key,
        (...said: unknown[]) => value(...said.map(one => (typeof one === 'string' ? isolate(one) : one))),
      ]
    }
    return [key, typeof value === 'object' && !Array.isArray(value) ? isolateNames(value) : value]
  })
  return Object.fromEntries(entries)
}
