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
/** What no text holds. */
const NOTHING = '\0'
/** As much as is looked at for the delimiter. */
const SAMPLE_CHARACTERS = 64 * 1024
/** What spreadsheets write before the header to say it themselves. */
const SAID = /^"?sep=(.)"?(?:\r\n|\n|\r)/i
/** Of the first alone the parser would take all others for, and a file that was put together has several. */
const LINE_ENDS = ['\r\n', '\n', '\r']

const READING: Options = {
  record_delimiter: LINE_ENDS,
  relax_column_count: true,
  // The inches of `5" pipe`.
  relax_quotes: true,
  max_record_size: MAX_ROW_BYTES,
}
interface RawRecord {
  raw: string
  record: string[]
}

/**
 * A table as text: in UTF-8, UTF-16 or Windows-1252, with a comma, semicolon, tab or bar between its cells, or what it says itself. A
 * spreadsheet hides the line that says so, and numbers the header 1: so are rows here, unless `countsSep`.
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
  const said = SAID.exec(begin)
  const delimiter = said?.[1] ?? detectDelimiter(begin)
  const skipped = said && countsSep ? 1 : 0
  async function* text() {
    yield said ? begin.slice(said[0].length) : begin
    yield* pieces
  }

  async function* rows(): Rows {
    const parser = parse({ ...READING, delimiter: delimiter ?? NOTHING, raw: delimiter === null })
    let number = skipped
    let isOfOurs: boolean | undefined
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
        // Its header is the first row with anything in it.
        if (isOfOurs === undefined && cells.some(cell => cell.trim() !== '')) isOfOurs = isOfFailedRows(cells)
        yield { number, cells: isOfOurs ? cells.map(asGiven) : cells }
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
    // Excel takes a file with this line for one of Windows-1252, so others go without.
    ...(said?.[1] && !DELIMITERS.includes(said[1]) && { sepLine: `sep=${said[1]}\r\n` }),
    fraction: () => (size === 0 ? 1 : file.bytesRead / size),
    close: () => file.destroy(),
  }
}

/** The values of a row below a header of one column: `"Berlin","Germany"` are two, whatever the header says, and `"Stop", he said` is one. */
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
    // A line end within a further value has ended the row: it is not closed.
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
 * What separates the cells of the first row with anything in it, outside of quotation marks. Null is a header of one column: what its values
 * hold separates nothing.
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
