import { readWorkbook } from './workbook.ts'

/** The headings and the first rows of a file, as the browser reads them. */
export interface Preview {
  headings: string[]
  rows: string[][]
}

const ROWS = 5
/** The beginning of a text file: enough for its first rows, whatever its size. */
const HEAD_BYTES = 256 * 1024
/** A JSON file cannot be read in part. */
const MAX_JSON_BYTES = 8 * 1024 * 1024

/** Reads the beginning of a file. Null where this page cannot: the server reads it all the same. */
export async function readPreview(file: File): Promise<Preview | null> {
  try {
    const name = file.name.toLowerCase()
    const table = name.endsWith('.xlsx')
      ? await readWorkbook(file, ROWS + 1)
      : name.endsWith('.json')
        ? await readJson(file)
        : await readCsv(file)
    const [headings = [], ...rows] = table
    return headings.some(heading => heading !== '') ? { headings, rows: rows.slice(0, ROWS) } : null
  } catch {
    return null
  }
}

async function readJson(file: File): Promise<string[][]> {
  if (file.size > MAX_JSON_BYTES) return []
  const records = (JSON.parse(await file.text()) as { data?: object }[]).slice(0, ROWS)
  const values = records.map(record => (record.data ?? record) as { [key: string]: unknown })
  const keys = [...new Set(values.flatMap(Object.keys))]
  return [keys, ...values.map(one => keys.map(key => say(one[key])))]
}

export const say = (value: unknown): string =>
  value === undefined || value === null
    ? ''
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)

async function readCsv(file: File): Promise<string[][]> {
  const text = decode(new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer()))
  const [first = ''] = text.split(/\r?\n/, 1)
  const [delimiter = ','] = [',', ';', '\t'].sort(
    (one, other) => first.split(other).length - first.split(one).length,
  )
  return parseRows(text, delimiter, ROWS + 1)
}

/** UTF-8 and UTF-16 as they announce themselves, else Windows-1252. A character that the slice cuts is left out. */
export function decode(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

/** The first rows with values of a CSV text, without the blanks around them. */
export const parseRows = (text: string, delimiter: string, most: number): string[][] =>
  parseCells(text, delimiter, most).map(values => values.map(value => value.trim()))

/** The same with each value as it is written. */
export function parseCells(text: string, delimiter: string, most: number): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  let cell = ''
  let isQuoted = false
  const endRow = () => {
    row.push(cell)
    if (row.some(value => value.trim() !== '')) rows.push(row)
    row = []
    cell = ''
  }
  for (let at = 0; at < text.length && rows.length < most; at++) {
    const letter = text[at] as string
    if (isQuoted) {
      if (letter !== '"') cell += letter
      else if (text[at + 1] === '"') cell += text[++at]
      else isQuoted = false
    } else if (letter === '"' && cell === '') isQuoted = true
    else if (letter === delimiter) {
      row.push(cell)
      cell = ''
    } else if (letter === '\n') endRow()
    else if (letter !== '\r') cell += letter
  }
  if (rows.length < most) endRow()
  return rows
}
