import { type Cell, columnName, type Rows, type Source } from '../cell.ts'
import { tooLarge, unimportable } from '../file-error.ts'
import {
  MAX_CELL_CHARACTERS,
  MAX_CELLS,
  MAX_COLUMNS,
  MAX_ROW_CHARACTERS,
  MAX_ROWS,
  MAX_UNPACKED_BYTES,
} from '../limits.ts'
import { createIndexSet, type IndexSet } from './index-set.ts'
import { MAX_SHARED_TEXTS, readSharedStrings, type SharedStrings } from './shared-strings.ts'
import { readSheetDate, readSheetNumber } from './sheet-numbers.ts'
import { readWorkbook, type Workbook } from './workbook.ts'
import { readXml, SPREADSHEET } from './xml.ts'
import { openParts, type Parts } from './zip.ts'

/**
 * The header is searched in this many rows with cells: whether a cell has a blank text is only known once the text is
 * read.
 */
const HEADER_WITHIN = 10

/** Selects some of the rows, however much is known of their cells. */
export type SomeRows = <Row extends { number: number; cells: readonly unknown[] }>(
  rows: AsyncIterable<Row>,
) => AsyncIterable<Row>

export interface ReadOptions {
  /** Reads only the rows in which the header may be. */
  header?: boolean
  /** The rows whose texts are needed, besides the header's; in other rows shared texts are empty. */
  texts?: SomeRows
}

/**
 * Reads the first sheet of a workbook, with its parts as streams. If only some rows are needed, the sheet is read
 * twice: of the shared texts, up to 192 MiB, only those of needed rows are kept.
 */
export async function openXlsx(path: string, { header = false, texts }: ReadOptions = {}): Promise<Source> {
  const parts = await openParts(path)
  let read = 0
  let size = 1
  let date1904 = false
  let shared: SharedStrings | undefined
  async function* rows(): Rows {
    const workbook = await readWorkbook(parts)
    size = parts.size(workbook.sheet) || 1
    date1904 = workbook.date1904
    const needed = header || texts ? await listTexts(parts, workbook, texts) : undefined
    shared = await readSharedStrings(parts, workbook.sharedStrings, path, needed)
    const all = withTexts(
      readSheet(parts, workbook, bytes => {
        read += bytes
      }),
      shared,
    )
    if (!header) return yield* all
    let count = 0
    for await (const row of firstRows(all)) {
      yield row
      count++
    }
    if (count === HEADER_WITHIN) throw unimportable(`The first ${HEADER_WITHIN} rows name no columns.`)
  }
  return {
    rows: rows(),
    fraction: () => Math.min(1, read / size),
    date1904: () => date1904,
    close() {
      shared?.close()
      parts.close()
    },
  }
}

/**
 * A reference to a shared text. It is resolved late, because a thousand rows unpacked at once may all refer to a large
 * text.
 */
export class SharedText {
  readonly index: number
  constructor(index: number) {
    this.index = index
  }
}

interface SheetRow {
  number: number
  cells: (Cell | SharedText)[]
  /** The number of characters of the texts in its own cells. */
  characters: number
}

const tooLong = (row: number) =>
  tooLarge(`Row ${row} has more than ${MAX_ROW_CHARACTERS.toLocaleString('en')} characters.`)

/** Resolves the shared texts of rows. */
export async function* withTexts(rows: AsyncIterable<SheetRow>, shared: Pick<SharedStrings, 'get'>): Rows {
  let total = 0
  for await (const { number, cells, characters } of rows) {
    let sum = characters
    // A new row, because the other rows unpacked with this one are held in memory together.
    const whole: Cell[] = []
    for (const at in cells) {
      const cell = cells[at] as Cell | SharedText
      if (!(cell instanceof SharedText)) {
        whole[at as unknown as number] = cell
        continue
      }
      const text = shared.get(cell.index)
      if (text === undefined) {
        const place = `row ${number}, column ${columnName(Number(at))}`
        throw unimportable(`The cell in ${place} refers to a text that is not there.`)
      }
      whole[at as unknown as number] = decodeText(text)
      sum += text.length
      if (sum > MAX_ROW_CHARACTERS) throw tooLong(number)
      total += text.length
      // A shared text counts for each cell that refers to it: reading it is as much work as an inline text.
      if (total > MAX_UNPACKED_BYTES)
        throw tooLarge(
          `The texts of all cells together are larger than ${MAX_UNPACKED_BYTES / 1024 ** 3} GiB.`,
        )
    }
    yield { number, cells: whole }
  }
}

/** The indices of the shared texts in the rows that may be the header, and in some others. */
async function listTexts(parts: Parts, workbook: Workbook, others?: SomeRows): Promise<IndexSet> {
  const needed = createIndexSet(MAX_SHARED_TEXTS)
  for (const some of others ? [firstRows, others] : [firstRows]) {
    const rows = readSheet(parts, workbook, () => {})
    for await (const { cells } of some(rows))
      for (const at in cells) {
        const cell = cells[at]
        if (cell instanceof SharedText) needed.add(cell.index)
      }
  }
  return needed
}

/** The first rows with cells, among which the header is. */
const firstRows: SomeRows = async function* (rows) {
  let count = 0
  for await (const row of rows) {
    if (!row.cells.some(cell => cell !== null && cell !== undefined)) continue
    yield row
    if (++count === HEADER_WITHIN) return
  }
}

async function* readSheet(
  parts: Parts,
  { sheet, date1904, formats }: Workbook,
  onRead: (bytes: number) => void,
): AsyncGenerator<SheetRow, void, undefined> {
  let ready: SheetRow[] = []
  let number = 0
  let cells: SheetRow['cells'] = []
  let characters = 0
  let column = -1
  let type = 'n'
  let style = 0
  let value: string | null = null
  /** The text of `<is>`. */
  let inline: string | null = null
  let hasFormula = false
  let inValue = false
  let inInline = false
  let inSheet = false
  let phonetic = false
  let done = false
  let count = 0

  const place = () => `row ${number}, column ${columnName(column)}`
  const readCell = (): Cell | SharedText => {
    // If a cell has both, its type decides, as in spreadsheets.
    const read = type === 'inlineStr' ? (inline ?? value) : (value ?? inline)
    if (read === null) return hasFormula ? { fault: 'a formula that was never calculated' } : null
    switch (type) {
      case 's': {
        if (read.trim() === '') return null
        if (!/^\s*\d+\s*$/.test(read))
          throw unimportable(`The cell in ${place()} refers to a text that is not there.`)
        return new SharedText(Number(read))
      }
      case 'b':
        return BOOLEANS.get(read.trim()) ?? { fault: 'neither true nor false' }
      case 'e':
        return { fault: read }
      case 'n':
        return readSheetNumber(read.trim(), formats[style] ?? 0, date1904)
      case 'd':
        return readSheetDate(read.trim(), date1904) ?? decodeText(read)
      default:
        return decodeText(read)
    }
  }

  const stream = await parts.read(sheet)
  stream.on('data', (chunk: Buffer) => onRead(chunk.length))
  stream.pause()
  const reading = readXml(stream, 'The sheet', SPREADSHEET, {
    open(name, attributes) {
      if (name === 'sheetData') inSheet = true
      if (!inSheet || done) return
      if (name === 'row') {
        const next = attributes.r === undefined ? number + 1 : Number(attributes.r)
        if (!Number.isInteger(next) || next <= number)
          throw unimportable(`After row ${number} the rows of the sheet are not in their order.`)
        if (!(next <= MAX_ROWS))
          throw tooLarge(`The sheet has more than ${MAX_ROWS.toLocaleString('en')} rows.`)
        number = next
        cells = []
        characters = 0
        column = -1
      } else if (name === 'c') {
        column = attributes.r === undefined ? column + 1 : columnOf(attributes.r)
        if (!(column < MAX_COLUMNS)) {
          throw tooLarge(`Row ${number} has more than ${MAX_COLUMNS.toLocaleString('en')} columns.`)
        }
        if (++count > MAX_CELLS)
          throw tooLarge(`The sheet has more than ${MAX_CELLS.toLocaleString('en')} cells.`)
        type = attributes.t ?? 'n'
        style = Number(attributes.s ?? 0)
        value = null
        inline = null
        hasFormula = false
      } else if (name === 'v') inValue = true
      else if (name === 'is') inInline = true
      else if (name === 't') inValue = inInline && !phonetic
      else if (name === 'rPh') phonetic = true
      else if (name === 'f') hasFormula = true
    },
    text(text) {
      if (!inValue) return
      if (inInline) inline = (inline ?? '') + text
      else value = (value ?? '') + text
      if (Math.max(inline?.length ?? 0, value?.length ?? 0) > MAX_CELL_CHARACTERS) {
        throw tooLarge(
          `The cell in ${place()} has more than ${MAX_CELL_CHARACTERS.toLocaleString('en')} characters.`,
        )
      }
    },
    close(name) {
      if (!inSheet || done) return
      if (name === 'v') {
        inValue = false
        value ??= type === 'n' ? null : ''
      } else if (name === 't') inValue = false
      else if (name === 'is') {
        inInline = false
        inline ??= type === 'n' ? null : ''
      } else if (name === 'rPh') phonetic = false
      else if (name === 'c') {
        const cell = readCell()
        if (cell !== null) cells[column] = cell
        if (typeof cell === 'string') characters += cell.length
        if (characters > MAX_ROW_CHARACTERS) throw tooLong(number)
      } else if (name === 'row') ready.push({ number, cells, characters })
      else if (name === 'sheetData') done = true
    },
  })
  // Everything after the cells, mostly merged cells, is not needed.
  for await (const _ of reading) {
    const some = ready
    ready = []
    yield* some
    if (done) return
  }
  if (!inSheet) throw unimportable('The sheet has no cells.')
}

const BOOLEANS = new Map([
  ['1', true],
  ['true', true],
  ['0', false],
  ['false', false],
])

/** Characters that XML cannot hold are written as `_xHHHH_` in a text. [ISO 29500-1, 22.9.2.19] */
const decodeText = (text: string) =>
  text.includes('_x')
    ? text.replaceAll(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      )
    : text

/** The column of a reference such as `AB12`, from 0. */
function columnOf(reference: string): number {
  let column = 0
  let at = 0
  for (; at < reference.length; at++) {
    const code = reference.charCodeAt(at) & ~0x20
    if (code < 65 || code > 90) break
    column = column * 26 + code - 64
    if (column > MAX_COLUMNS) return MAX_COLUMNS
  }
  if (at === 0) throw unimportable(`A cell of the sheet says that it is at "${reference.slice(0, 20)}".`)
  return column - 1
}
