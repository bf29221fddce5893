import type { ImportFormat } from '../../db/queries/imports.ts'
import { type Cell, cellText, isBlank, type Source } from './cell.ts'
import { FileError, unimportable } from './file-error.ts'
import type { ReadOptions } from './readers/xlsx.ts'

/**
 * Loads only the reader of this format: each file has a thread of its own, and loading the workbook reader took a third
 * of its start.
 */
export async function openSource(
  { path, format, countsSep }: { path: string; format: ImportFormat; countsSep?: boolean },
  keys: readonly string[],
  options: ReadOptions = {},
): Promise<Source> {
  if (format === 'csv') return (await import('./readers/csv.ts')).openCsv(path, countsSep)
  if (format === 'json') return (await import('./readers/json.ts')).openJson(path, keys, options)
  return (await import('./readers/xlsx.ts')).openXlsx(path, options)
}

export interface Header {
  /** The number of the header's row; null if the columns are the keys of records. */
  row: number | null
  /** The names of the columns; an empty text is a column without a name. */
  headings: string[]
}

/** The header of a file: its first row that is not blank. */
export async function readHeadings(source: Source): Promise<Header> {
  for (;;) {
    const next = await source.rows.next()
    if (next.done) throw unimportable('The file is empty: there is no header, and there are no rows.')
    const { cells, number } = next.value
    if (cells.every(isBlank)) continue
    // `Array.from` fills the gaps of a sparse row.
    const headings = Array.from(cells, cell => cellText(cell ?? null).trim())
    while (headings.at(-1) === '') headings.pop()
    return { row: source.isKeyed ? null : number, headings }
  }
}

const SAMPLE_ROWS = 5

/** The first rows below the header. Errors further down are reported when the rows are read. */
export async function readSample({ rows }: Source): Promise<Cell[][]> {
  const sample: Cell[][] = []
  try {
    while (sample.length < SAMPLE_ROWS) {
      const next = await rows.next()
      if (next.done) break
      sample.push(next.value.cells)
    }
  } catch (error) {
    if (!(error instanceof FileError)) throw error
  }
  return sample
}
