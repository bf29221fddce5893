/** Letters and marks of right-to-left scripts: they also turn the direction of the text that follows. */
const TURNS =
  /[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u

/** Keeps the direction of a name inside a sentence apart from the sentence's own (first strong isolate, Unicode TR9). */
export const isolate = (name: string): string => (TURNS.test(name) ? `\u2068${name}\u2069` : name)

/** The same texts with every name isolated. */
export function isolateNames<T extends object>(texts: T): T {
  const entries = Object.entries(texts).map(([key, value]) => {
    if (typeof value === 'function') {
      return [
        key,
        (...values: unknown[]) => value(...values.map(one => (typeof one === 'string' ? isolate(one) : one))),
      ]
    }
    return [key, typeof value === 'object' && !Array.isArray(value) ? isolateNames(value) : value]
  })
  return Object.fromEntries(entries)
}
