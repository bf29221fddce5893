import type { ImportFormat } from '../../db/queries/imports.ts'
import { type Cell, cellText, isBlank, type Source } from './cell.ts'
import { FileError, unimportable } from './file-error.ts'
import type { ReadOptions } from './readers/xlsx.ts'

/** Loads the reader of this format alone: each file has a thread of its own, and the one of workbooks took a third of its start. */
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
  /** Which row it is; null where the columns are the keys of records. */
  row: number | null
  /** The names of the columns; an empty text is one without. */
  headings: string[]
}

/** The header of a file: the first row with anything in it. */
export async function readHeadings(source: Source): Promise<Header> {
  for (;;) {
    const next = await source.rows.next()
    if (next.done) throw unimportable('The file is empty: there is no header, and there are no rows.')
    const { cells, number } = next.value
    if (cells.every(isBlank)) continue
    // Of a sparse row, too.
    const headings = Array.from(cells, cell => cellText(cell ?? null).trim())
    while (headings.at(-1) === '') headings.pop()
    return { row: source.isKeyed ? null : number, headings }
  }
}

const SAMPLE_ROWS = 5

/** The first rows below the header. What is wrong with the file further down is said when its rows are read. */
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
