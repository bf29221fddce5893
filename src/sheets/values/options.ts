import { fold } from './fold.ts'

/** An index of a field's options, built once for all cells: a file may look up a million values. */
interface Known {
  exact: ReadonlySet<string>
  /** The options by their likeness; null if several look alike. */
  alike: ReadonlyMap<string, string | null>
  /** The sorted options, and for each the index of the longest other option that it begins with, or -1. */
  sorted: readonly string[]
  shorter: readonly number[]
}
const known = new WeakMap<readonly string[], Known>()

/** Signs that distinguish options: `C` and `C++`, `-5` and `5`, `10 %` and `10`. */
const SIGNS = /[\p{Sm}\p{Sc}%#]|(?<![\p{L}\p{N}])[-–](?=\s*[\d.,])/gu

/**
 * The form in which options are compared: without case, accents and insignificant punctuation. Empty if nothing is left.
 */
function likeness(text: string): string {
  const folded = fold(text)
  const signs = (text.match(SIGNS) ?? []).map(sign => (/[-−–]/.test(sign) ? '-' : sign))
  return folded === '' ? '' : `${folded} ${signs.join('')}`
}

function knownOf(options: readonly string[]): Known {
  const before = known.get(options)
  if (before) return before
  const alike = new Map<string, string | null>()
  for (const option of options) {
    const key = likeness(option)
    if (key !== '') alike.set(key, alike.has(key) ? null : option)
  }
  const sorted = [...options].sort()
  const shorter: number[] = []
  for (const [at, option] of sorted.entries()) {
    let place = at - 1
    while (place >= 0 && !option.startsWith(sorted[place] as string)) place = shorter[place] as number
    shorter.push(place)
  }
  const found = { exact: new Set(options), alike, sorted, shorter }
  known.set(options, found)
  return found
}

/** The maximum length of an option (`api/data-types`). */
const MAX_OPTION = 200
/** A longer text is like no option, and normalizing very many marks takes long. */
const MAX_ALIKE = 1_000

/** The option that a text means: an equal one, or one that differs only in case, accents and punctuation. */
export function findOption(options: readonly string[], text: string): string {
  const { exact, alike } = knownOf(options)
  const given = text.trim()
  if (exact.has(given) || given.length > MAX_ALIKE) return given
  return alike.get(likeness(given)) ?? given
}

/** Splits a list into options, which may themselves contain a separator. The rest is returned as if it were an option. */
export function splitOptions(options: readonly string[], text: string): string[] {
  const given = text.trim()
  const { exact } = knownOf(options)
  if (exact.has(given)) return [given]
  const list = given.startsWith('[') ? readList(given) : null
  if (list) return list
  const exactly = splitExactly(options, given)
  if (exactly) return exactly
  const alike = findOption(options, given)
  return exact.has(alike) ? [alike] : given.split(/[,;|\n]/).map(part => findOption(options, part))
}

/** The form in which an export writes a list that would be ambiguous otherwise. */
function readList(text: string): string[] | null {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : null
  } catch {
    return null
  }
}

const SEPARATOR = /\s*[,;|\n]\s*/y
/** A character that may precede an option in a list. */
const BEFORE = /[\s,;|]/

/**
 * Splits a text that consists of options and separators, preferring the longest options. It goes from the end, so that
 * each position is handled once.
 */
function splitExactly(options: readonly string[], text: string): string[] | null {
  const found = new Map<number, { option: string; next: number }>()
  for (let at = text.length - 1; at >= 0; at--) {
    if (at > 0 && !BEFORE.test(text[at - 1] as string)) continue
    for (const option of listBeginnings(options, text, at)) {
      const end = at + option.length
      SEPARATOR.lastIndex = end
      const next = end === text.length ? end : SEPARATOR.test(text) ? SEPARATOR.lastIndex : -1
      if (next !== end && !found.has(next)) continue
      found.set(at, { option, next })
      break
    }
  }
  const list: string[] = []
  for (let step = found.get(0); step; step = found.get(step.next)) list.push(step.option)
  return list.length > 0 ? list : null
}

/**
 * The options that the text at this position begins with, the longest first. Each begins the last option that sorts
 * before the text.
 */
function* listBeginnings(options: readonly string[], text: string, at: number): Generator<string> {
  const { sorted, shorter } = knownOf(options)
  const rest = text.slice(at, at + MAX_OPTION)
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] as string) <= rest) low = middle + 1
    else high = middle
  }
  for (let place = low - 1; place >= 0; place = shorter[place] as number) {
    const option = sorted[place] as string
    if (rest.startsWith(option)) yield option
  }
}
