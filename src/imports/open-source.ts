import type { ImportFormat } from '../../db/queries/imports.ts'
import { cellText, isBlank, type Source } from './cells.ts'
import { unimportable } from './file-error.ts'
import { openCsv } from './readers/csv.ts'
import { openJson } from './readers/json.ts'
import { openXlsx, type ReadOptions } from './readers/xlsx.ts'

export function openSource(
  { path, format, countsSep }: { path: string; format: ImportFormat; countsSep?: boolean },
  keys: readonly string[],
  options: ReadOptions = {},
): Promise<Source> {
  if (format === 'csv') return openCsv(path, countsSep)
  return format === 'json' ? openJson(path, keys, options) : openXlsx(path, options)
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
