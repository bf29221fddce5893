/** The heading of the column that says what is wrong with a row, by which a file of failed rows is known again. */
export const ERROR_HEADING = 'Import error'

/** What a spreadsheet would run as a formula, blanks and lines before it or not, and an apostrophe that was there; full width is no other. */
const RUN = /^'*(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/
/** Numbers and phone numbers are none. */
const isNumber = (text: string) => /^[+-]?[\d\s.,]+$/.test(text.trimStart())

/** Where a spreadsheet that goes by another delimiter begins a cell: within quotation marks, which are none for it in the middle of a cell. */
const DELIMITERS = /([,;\t|\r\n])/
const RUN_WITHIN = /^['"\s]*[=+\-@\uff1d\uff0b\uff0d\uff20]/

/** A cell of CSV that a spreadsheet shows as a text: with an apostrophe before what it would run. */
export function asShown(text: string): string {
  const shown = eachPart(text, part => (RUN_WITHIN.test(part) && !isNumber(part) ? `'${part}` : part))
  return RUN.test(shown) && !isNumber(shown) ? `'${shown}` : shown
}

/** The cell as it was. */
export function asGiven(text: string): string {
  const shown = text.startsWith("'") && RUN.test(text) && !isNumber(text.slice(1)) ? text.slice(1) : text
  return eachPart(shown, part =>
    part.startsWith("'") && RUN_WITHIN.test(part) && !isNumber(part.slice(1)) ? part.slice(1) : part,
  )
}

/** The text with each part behind a delimiter made another one. */
function eachPart(text: string, change: (part: string) => string): string {
  if (!DELIMITERS.test(text)) return text
  const parts = text.split(DELIMITERS)
  return parts.map((part, at) => (at > 0 && at % 2 === 0 ? change(part) : part)).join('')
}

/** Whether a header is of a file of failed rows. */
export const isOfFailedRows = (headings: readonly string[]): boolean =>
  headings.some(heading => /^Import error( \d+)?$/.test(heading))
