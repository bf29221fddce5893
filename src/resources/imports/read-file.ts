import type { Rows, Source } from '../../sheets/cell.ts'
import { openSource, readHeadings } from '../../sheets/open-source.ts'
import { createColumnWriting, hasAmbiguousTexts, type Shown } from './column-writing.ts'
import { styleOf } from './convert.ts'
import { columnsOf, type Reading, type ReadRow, readRows } from './read-rows.ts'

/** Rows between two signs of life: many rows may be skipped before the first new one, and many may be blank. */
const ROWS_BETWEEN_SIGNS = 10_000

export interface OpenFile {
  rows: AsyncGenerator<ReadRow>
  /** The part of the file that is read, 0 to 1. */
  fraction(): number
  close(): void
}

/**
 * The rows of a file that have values. At the first ambiguous text the whole file is read once to see how its columns
 * are written; then the rows continue after the last one returned. `alive` is called from time to time during reading.
 */
export function openFile(reading: Reading, alive: () => void): OpenFile {
  let source: Source | undefined
  const open = async () => {
    source?.close()
    const opened = await openSource(
      reading,
      reading.fields.map(({ key }) => key),
    )
    source = { ...opened, rows: withSigns(opened.rows, alive) }
    return source
  }

  async function* rows(): AsyncGenerator<ReadRow> {
    let { after } = reading
    let shown: { [key: string]: Shown } | undefined
    for (;;) {
      const found = readRows({ ...reading, after, shown }, await open())
      let next = await found.next()
      for (; !next.done; next = await found.next()) {
        yield next.value
        after = next.value.row
      }
      if (next.value === 'complete') return
      shown = await lookThrough(reading, await open())
    }
  }
  return {
    rows: rows(),
    fraction: () => source?.fraction() ?? 0,
    close: () => source?.close(),
  }
}

async function* withSigns(rows: Rows, alive: () => void): Rows {
  let count = 0
  for await (const row of rows) {
    if (++count % ROWS_BETWEEN_SIGNS === 0) alive()
    yield row
  }
}

/** How each column is written, by the key of its field. */
async function lookThrough(reading: Reading, source: Source): Promise<{ [key: string]: Shown }> {
  const header = await readHeadings(source)
  const style = styleOf(reading, source.date1904?.())
  const columns = columnsOf(reading, header)
    .filter(({ field }) => hasAmbiguousTexts(field))
    .map(({ field, columns: [column = -1] }) => ({
      field,
      column,
      writing: createColumnWriting(field, style),
    }))
  for await (const { cells } of source.rows) {
    for (const { column, writing } of columns) writing.add(cells[column] ?? null)
  }
  return Object.fromEntries(columns.map(({ field, writing }) => [field.key, writing.shown()]))
}
