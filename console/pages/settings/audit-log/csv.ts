import { readName } from '../../../api/lists.ts'
import { type Asked, type Entry, readEntries } from './entries.ts'

const ROWS_AT_ONCE = 500
/** The file is built in the browser's memory: 50,000 changes take some 50 MB. */
export const MAX_ROWS = 50_000

/** A spreadsheet would run a cell that begins so as a formula. */
const FORMULA = /^[=+\-@\t\r]/

/** A cell of CSV (RFC 4180). */
function writeCell(text: string): string {
  const plain = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

const writeRow = (cells: readonly string[]) => `${cells.map(writeCell).join()}\r\n`

interface Progress {
  /** Called after each page with the number of rows so far. */
  onRows: (rows: number) => void
  signal: AbortSignal
}

/**
 * Reads every change that is asked for, page by page, and writes it as a row. `isCut` says that older ones were left out.
 */
export async function exportEntries(
  asked: Asked,
  columns: readonly string[],
  { onRows, signal }: Progress,
): Promise<{ file: Blob; rows: number; isCut: boolean }> {
  // Spreadsheets take a file without a byte order mark for one in the system's code page.
  const parts = ['\uFEFF', writeRow(columns)]
  const names = new Map<string, string>()
  let rows = 0
  let cursor: string | undefined
  do {
    const query = { ...asked, limit: ROWS_AT_ONCE, ...(cursor !== undefined && { cursor }) }
    const { data, pagination } = await readEntries(query, signal)
    await learnNames(names, data)
    for (const entry of data.slice(0, MAX_ROWS - rows)) parts.push(writeRow(cellsOf(entry, names)))
    rows = Math.min(MAX_ROWS, rows + data.length)
    onRows(rows)
    cursor = pagination.nextCursor ?? undefined
  } while (cursor !== undefined && rows < MAX_ROWS)
  const file = new Blob(parts, { type: 'text/csv;charset=utf-8' })
  return { file, rows, isCut: cursor !== undefined }
}

async function learnNames(names: Map<string, string>, entries: readonly Entry[]): Promise<void> {
  const unknown = new Set(entries.flatMap(({ userId }) => (userId && !names.has(userId) ? [userId] : [])))
  await Promise.all(
    [...unknown].map(async id => names.set(id, (await readName('users', id).catch(() => null)) ?? '')),
  )
}

const cellsOf = (
  { at, userId, apiKey, action, resource, resourceId, changes }: Entry,
  names: ReadonlyMap<string, string>,
) => [
  at,
  apiKey?.name ?? names.get(userId ?? '') ?? '',
  apiKey?._id ?? userId ?? '',
  action,
  resource,
  resourceId ?? '',
  Object.keys(changes).length > 0 ? JSON.stringify(changes) : '',
]
