import type { FieldDefinition } from '../data/data-queries.ts'
import type { ImportRecord } from './import-queries.ts'
import { decode, parseCells, say } from './preview.ts'
import { type Edits, rewriteWorkbook } from './rewrite-workbook.ts'
import { readWorkbook } from './workbook.ts'

/** The failed rows of an import, as texts. */
export interface FailedTable {
  headings: string[]
  rows: string[][]
  /** Writes a file with only the rows that were changed. */
  write(edits: Edits): Promise<Blob>
}

/** As many failures are in the record of an import. */
const MAX_ROWS = 1_000
const MAX_BYTES = 16 * 1024 * 1024
const MAX_JSON_BYTES = 64 * 1024 * 1024

/** Reads the file of failed rows, as far as there is room for it here. Throws where it cannot be read. */
export function readFailed(
  file: Blob,
  fileName: string,
  fields: readonly FieldDefinition[],
): Promise<FailedTable> {
  const name = fileName.toLowerCase()
  return name.endsWith('.xlsx')
    ? readSheet(file)
    : name.endsWith('.json')
      ? readRecords(file, fields)
      : readText(file)
}

async function readSheet(file: Blob): Promise<FailedTable> {
  const [headings = [], ...rows] = await readWorkbook(file, MAX_ROWS + 1, MAX_BYTES)
  return { headings, rows, write: edits => rewriteWorkbook(file, edits) }
}

async function readText(file: Blob): Promise<FailedTable> {
  const text = decode(new Uint8Array(await file.slice(0, MAX_BYTES).arrayBuffer()))
  const [, declared, body = ''] = /^\ufeff?(?:sep=(.)\r?\n)?([\s\S]*)$/.exec(text) ?? []
  const delimiter = declared ?? guessDelimiter(body)
  const cut = file.size > MAX_BYTES ? -1 : undefined
  const [headings = [], ...rows] = parseCells(body, delimiter, MAX_ROWS + 1).slice(0, cut)
  const line = (cells: readonly string[]) =>
    `${cells.map(cell => `"${cell.replaceAll('"', '""')}"`).join(delimiter)}\r\n`
  return {
    headings,
    rows,
    async write(edits) {
      const lines = [...edits].map(([index, changes]) =>
        line(headings.map((_, column) => changes.get(column) ?? rows[index]?.[column] ?? '')),
      )
      return new Blob(['\ufeff', line(headings), ...lines])
    },
  }
}

function guessDelimiter(text: string): string {
  const [first = ''] = text.split(/\r?\n/, 1)
  const [most = ','] = [',', ';', '\t', '|'].sort(
    (one, other) => first.split(other).length - first.split(one).length,
  )
  return most
}

type Values = { [key: string]: unknown }

async function readRecords(file: Blob, fields: readonly FieldDefinition[]): Promise<FailedTable> {
  if (file.size > MAX_JSON_BYTES) throw new Error('Too large')
  const records = (JSON.parse(await file.text()) as { data?: Values }[]).slice(0, MAX_ROWS)
  const values = records.map(({ data }) => data ?? {})
  const headings = [...new Set(values.flatMap(Object.keys))]
  return {
    headings,
    rows: values.map(one => headings.map(key => say(one[key]))),
    async write(edits) {
      const mended = [...edits].map(([index, changes]) => {
        const data = { ...values[index] }
        for (const [column, text] of changes) {
          const key = headings[column] as string
          data[key] = read(text, fields.find(field => field.key === key)?.type)
        }
        return { data }
      })
      return new Blob([JSON.stringify(mended)])
    },
  }
}

/** The fields whose values are no texts in JSON. */
const NO_TEXTS: ReadonlySet<string> = new Set(['number', 'boolean', 'multiselect', 'location'])

/** A text as a value of JSON. The server says what is wrong with one that cannot be read. */
function read(text: string, type = 'text'): unknown {
  if (text === '') return null
  if (!NO_TEXTS.has(type)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Why a cell fails, or the row as a whole where the column is null. */
export interface Fault {
  /** The row's number in the file that was uploaded. */
  row: number
  column: number | null
  message: string
}

/**
 * The faults by the index of the failed row. The file has the failed rows in their order, and the record names each row with its
 * first failures.
 */
export function faultsOf(
  { failures, mapping }: Pick<ImportRecord, 'failures' | 'mapping'>,
  headings: readonly string[],
): Fault[][] {
  const byRow = new Map<number, Fault[]>()
  for (const { row, field, message } of [...failures].sort((one, other) => one.row - other.row)) {
    const columns = field === null ? undefined : (mapping[field] ?? field)
    const heading = [columns].flat()[0]
    const at = headings.findIndex(one => one.toLowerCase() === heading?.toLowerCase())
    const faults = byRow.get(row) ?? []
    faults.push({ row, column: at === -1 ? null : at, message })
    byRow.set(row, faults)
  }
  return [...byRow.values()]
}

/** Whether a column holds the errors that the server wrote. */
export const isErrorColumn = (heading: string): boolean => /^Import error( \d+)?$/.test(heading)
