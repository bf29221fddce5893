/** The number of a value's characters that a sentence or a report shows. */
const MAX_QUOTED = 200
/** The number of names that a sentence lists. */
const NAMED = 10

/** Makes any text from a file fit to show and store: it is cut, and invalid characters are replaced. */
export function quote(text: string, maxCharacters = MAX_QUOTED): string {
  const begin =
    text.length > maxCharacters ? `${text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, '')}…` : text
  return begin.toWellFormed().replaceAll('\0', '\ufffd')
}

/** Lists the first of some names: there may be thousands, each of thousands of characters. */
export const listed = (names: readonly string[]): string =>
  `${names
    .slice(0, NAMED)
    .map(name => quote(name))
    .join(', ')}${names.length > NAMED ? ' and others' : ''}`
