/** The heading of the column that says what is wrong with a row, by which a file of failed rows is known again. */
export const ERROR_HEADING = 'Import error'

/** What a spreadsheet would run as a formula, blanks and lines before it or not, and an apostrophe that was there; full width is no other. */
const RUN = /^'*(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/
/** Numbers and phone numbers are none. */
const isNumber = (text: string) => /^[+-]?[\d\s.,]+$/.test(text.trimStart())

/** A cell of CSV that a spreadsheet shows as a text: with an apostrophe before what it would run. */
export const asShown = (text: string): string => (RUN.test(text) && !isNumber(text) ? `'${text}` : text)

/** The cell as it was. */
export const asGiven = (text: string): string =>
  text.startsWith("'") && RUN.test(text) && !isNumber(text.slice(1)) ? text.slice(1) : text

/** Whether a header is of a file of failed rows. */
export const isOfFailedRows = (headings: readonly string[]): boolean =>
  headings.some(heading => /^Import error( \d+)?$/.test(heading))
