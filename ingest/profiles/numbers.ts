/** No measured value is longer; a longer text is none. */
const MAX_CHARACTERS = 64
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

/** A number that may be written as text; null if it is none. */
export function readNumber(value: unknown): number | null {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || value.length > MAX_CHARACTERS) return null
  const text = value.trim()
  return NUMBER.test(text) ? Number(text) : null
}
