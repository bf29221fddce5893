/** The heading of the column with each row's errors, which identifies a file of failed rows. */
export const ERROR_HEADING = 'Import error'

/**
 * A text that a spreadsheet would run as a formula, with or without leading blanks, line ends and apostrophes;
 * full-width signs count too.
 */
const RUN = /^'*(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/
/** Numbers and phone numbers are not formulas. */
const isNumber = (text: string) => /^[+-]?[\d\s.,]+$/.test(text.trimStart())

/**
 * Where a spreadsheet that uses another delimiter begins a cell. For it, quotation marks in the middle of a cell are
 * ordinary characters, so it may begin one within them.
 */
const DELIMITERS = /([,;\t|\r\n])/
const RUN_WITHIN = /^['"\s]*[=+\-@\uff1d\uff0b\uff0d\uff20]/

/** A CSV cell that a spreadsheet shows as text: an apostrophe goes before each part that it would run. */
export function asShown(text: string): string {
  const shown = eachPart(text, part => (RUN_WITHIN.test(part) && !isNumber(part) ? `'${part}` : part))
  return RUN.test(shown) && !isNumber(shown) ? `'${shown}` : shown
}

/** The original text of a cell that `asShown` wrote. */
export function asGiven(text: string): string {
  const shown = text.startsWith("'") && RUN.test(text) && !isNumber(text.slice(1)) ? text.slice(1) : text
  return eachPart(shown, part =>
    part.startsWith("'") && RUN_WITHIN.test(part) && !isNumber(part.slice(1)) ? part.slice(1) : part,
  )
}

/** Applies `change` to each part of the text that follows a delimiter. */
function eachPart(text: string, change: (part: string) => string): string {
  if (!DELIMITERS.test(text)) return text
  const parts = text.split(DELIMITERS)
  return parts.map((part, at) => (at > 0 && at % 2 === 0 ? change(part) : part)).join('')
}

/** Whether a header belongs to a file of failed rows. */
export const isOfFailedRows = (headings: readonly string[]): boolean =>
  headings.some(heading => /^Import error( \d+)?$/.test(heading))
