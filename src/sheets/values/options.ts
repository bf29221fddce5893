import { fold } from './fold.ts'

/** What is known of the options of a field, found once for all cells: a file may ask a million times. */
interface Known {
  exact: ReadonlySet<string>
  /** The option by its likeness; null where several look alike. */
  alike: ReadonlyMap<string, string | null>
  /** In their order, and of each the longest that it begins with, by its place there; -1 is none. */
  sorted: readonly string[]
  shorter: readonly number[]
}
const known = new WeakMap<readonly string[], Known>()

/** What makes another option of one: `C` and `C++`, `-5` and `5`, `10 %` and `10`. */
const SIGNS = /[\p{Sm}\p{Sc}%#]|(?<![\p{L}\p{N}])[-–](?=\s*[\d.,])/gu

/** By which options are alike: without case, accents and the punctuation that says nothing. Empty where nothing is left. */
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

/** Of an option (`api/data-types`). */
const MAX_OPTION = 200
/** What is longer is like no option, and marks without end take long to put in order. */
const MAX_ALIKE = 1_000

/** The option that a text means: itself, or else one that differs in case, accents and punctuation alone. */
export function findOption(options: readonly string[], text: string): string {
  const { exact, alike } = knownOf(options)
  const given = text.trim()
  if (exact.has(given) || given.length > MAX_ALIKE) return given
  return alike.get(likeness(given)) ?? given
}

/** The options of a list; an option may itself hold what separates them. What is left over is an option that is none. */
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

/** As an export writes a list that could be read in another way. */
function readList(text: string): string[] | null {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list : null
  } catch {
    return null
  }
}

const SEPARATOR = /\s*[,;|\n]\s*/y
/** What may stand before an option within a list. */
const BEFORE = /[\s,;|]/

/** Where all of a text is options and what separates them: the longest first. From its end, so that each place is seen once. */
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

/** The options that a text goes on with, the longest first. Each of them begins the last one that is not behind the text. */
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
