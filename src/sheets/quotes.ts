/** Of a value, as much as a sentence or a report shows. */
const MAX_QUOTED = 200
/** How many names a sentence lists. */
const NAMED = 10

/** A text as it is shown and stored, whatever stood in a file: cut, and with a mark for characters that are none. */
export function quote(text: string, maxCharacters = MAX_QUOTED): string {
  const begin =
    text.length > maxCharacters ? `${text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, '')}…` : text
  return begin.toWellFormed().replaceAll('\0', '\ufffd')
}

/** The first of some names: there may be thousands, of thousands of characters. */
export const listed = (names: readonly string[]): string =>
  `${names
    .slice(0, NAMED)
    .map(name => quote(name))
    .join(', ')}${names.length > NAMED ? ' and others' : ''}`
