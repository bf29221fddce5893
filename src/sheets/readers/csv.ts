import { statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { type CsvError, type Options, parse } from 'csv-parse'
import { parse as parseText } from 'csv-parse/sync'
import type { Rows, Source } from '../cell.ts'
import { tooLarge, unimportable } from '../file-error.ts'
import { asGiven, isOfFailedRows } from '../formulas.ts'
import { MAX_COLUMNS, MAX_ROW_BYTES } from '../limits.ts'
import { detectEncoding, openText } from './text-file.ts'

const DELIMITERS = [',', ';', '\t', '|']
/** A character that no text contains. */
const NOTHING = '\0'
/** The number of characters in which the delimiter is searched. */
const SAMPLE_CHARACTERS = 64 * 1024
/** The line with which spreadsheets declare the delimiter before the header. */
const SEP_LINE = /^"?sep=(.)"?(?:\r\n|\n|\r)/i
/**
 * All are listed, because the parser would take the first line end for all, and a file put together from others has
 * several.
 */
const LINE_ENDS = ['\r\n', '\n', '\r']

const READING: Options = {
  record_delimiter: LINE_ENDS,
  relax_column_count: true,
  // Allows the inches of `5" pipe`.
  relax_quotes: true,
  max_record_size: MAX_ROW_BYTES,
}
interface RawRecord {
  raw: string
  record: string[]
}

/**
 * A text table in UTF-8, UTF-16 or Windows-1252. Its cells are separated by a comma, semicolon, tab or bar, or by the
 * delimiter that its first line declares. A spreadsheet hides that line and numbers the header 1. So do the rows here,
 * unless `countsSep` is set.
 */
export async function openCsv(path: string, countsSep = false): Promise<Source> {
  const size = statSync(path).size
  const { pieces, file } = openText(path, await detectEncoding(path))
  let begin = ''
  while (begin.length < SAMPLE_CHARACTERS) {
    const next = await pieces.next()
    if (next.done) break
    begin += next.value
  }
  const sep = SEP_LINE.exec(begin)
  const delimiter = sep?.[1] ?? detectDelimiter(begin)
  const skipped = sep && countsSep ? 1 : 0
  async function* text() {
    yield sep ? begin.slice(sep[0].length) : begin
    yield* pieces
  }

  async function* rows(): Rows {
    const parser = parse({ ...READING, delimiter: delimiter ?? NOTHING, raw: delimiter === null })
    let number = skipped
    let hasErrors: boolean | undefined
    const source = Readable.from(text())
    source.on('error', error => parser.destroy(error))
    source.pipe(parser)
    try {
      for await (const record of parser as AsyncIterable<string[] | RawRecord>) {
        const cells = Array.isArray(record) ? record : divide(record)
        number++
        if (cells.length > MAX_COLUMNS) {
          throw tooLarge(`Row ${number} has more than ${MAX_COLUMNS.toLocaleString('en')} columns.`)
        }
        // The header is the first row that is not blank.
        if (hasErrors === undefined && cells.some(cell => cell.trim() !== ''))
          hasErrors = isOfFailedRows(cells)
        yield { number, cells: hasErrors ? cells.map(asGiven) : cells }
      }
    } catch (error) {
      throw explain(error, skipped)
    } finally {
      source.destroy()
      parser.destroy()
    }
  }
  return {
    rows: rows(),
    ...(delimiter !== null && { delimiter }),
    // Excel reads a file with this line as Windows-1252, so it is only kept for other delimiters.
    ...(sep?.[1] && !DELIMITERS.includes(sep[1]) && { sepLine: `sep=${sep[1]}\r\n` }),
    fraction: () => (size === 0 ? 1 : file.bytesRead / size),
    close: () => file.destroy(),
  }
}

/**
 * Splits a row below a header of one column: `"Berlin","Germany"` is two values, whatever the header says, and
 * `"Stop", he sep` is one.
 */
function divide({ raw, record }: RawRecord): string[] {
  if (raw[0] !== '"') return record
  let end = raw.indexOf('"', 1)
  while (end !== -1 && raw[end + 1] === '"') end = raw.indexOf('"', end + 2)
  const delimiter = raw[end + 1] as string
  if (end === -1 || !DELIMITERS.includes(delimiter) || /^[ \t]+[^\s"]/.test(raw.slice(end + 2))) return record
  const first = raw.slice(1, end).replaceAll('""', '"')
  const rest = raw.slice(end + 2).trimEnd()
  try {
    return [first, ...(parseText(rest, { ...READING, delimiter })[0] ?? [rest])]
  } catch {
    // The row ended at a line end within a further value, whose quotation mark is not closed.
    return [first, rest]
  }
}

function explain(error: unknown, skipped: number): unknown {
  const { code, records } = error as CsvError & { records?: number }
  const row = skipped + (records ?? 0) + 1
  if (code === 'CSV_QUOTE_NOT_CLOSED') {
    return unimportable(`A quotation mark that is opened in row ${row} is never closed.`)
  }
  if (code === 'CSV_MAX_RECORD_SIZE') {
    return tooLarge(`Row ${row} has more than 1 MiB of text: perhaps a quotation mark in it is never closed.`)
  }
  return error
}

/**
 * The delimiter of the first row that is not blank, outside of quotation marks. Null for a header of one column: then
 * characters in the values separate nothing.
 */
function detectDelimiter(text: string): string | null {
  const counts = new Map(DELIMITERS.map(delimiter => [delimiter, 0]))
  let quoted = false
  let isBlank = true
  for (const character of text) {
    if (/[\r\n]/.test(character) && !quoted && !isBlank) break
    if (!/\s/.test(character) || character === '\t') isBlank = false
    if (character === '"') quoted = !quoted
    else if (!quoted) {
      const count = counts.get(character)
      if (count !== undefined) counts.set(character, count + 1)
    }
  }
  const best = [...counts].reduce((best, next) => (next[1] > best[1] ? next : best))
  return best[1] > 0 ? best[0] : null
}
