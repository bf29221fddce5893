import { columnOf, type Entry, readDirectory, readText, sheetsIn } from './workbook.ts'

/**
 * The file of failed rows with some of its rows, and in them with other texts in some cells. Every other cell stays as it is
 * written, so that a date stays a date. The sheet is stored unpacked; the other parts of the archive are taken over.
 */
const MAX_CHARACTERS = 32_000_000

/** The new texts of cells, by the index of the row below the heading and then of the column. */
export type Edits = ReadonlyMap<number, ReadonlyMap<number, string>>

export async function rewriteWorkbook(file: Blob, edits: Edits): Promise<Blob> {
  const entries = await readDirectory(file)
  const [sheet] = sheetsIn(entries)
  if (!sheet) throw new Error('The workbook has no sheet')
  const last = Math.max(...edits.keys())
  const isEnough = (text: string) => text.split('</row>').length > last + 3
  const text = rewriteSheet(await readText(file, sheet, MAX_CHARACTERS, isEnough), edits)
  return pack(file, entries, sheet, new TextEncoder().encode(text))
}

function rewriteSheet(xml: string, edits: Edits): string {
  const head = xml.slice(0, xml.indexOf('<sheetData>') + '<sheetData>'.length)
  const rows = xml.match(/<row[^>]*>[\s\S]*?<\/row>/g) ?? []
  const kept = rows.flatMap((row, index) => {
    if (index === 0) return row
    const changes = edits.get(index - 1)
    return changes ? [...changes].reduce(withText, row) : []
  })
  return `${head}${kept.join('')}</sheetData></worksheet>`
}

const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** The row with the text of one cell replaced; a row without that cell gets it. */
function withText(row: string, [column, text]: [number, string]): string {
  const number = /<row[^>]*\sr="(\d+)"/.exec(row)?.[1] ?? ''
  const cell = `<c r="${nameOf(column)}${number}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(text)}</t></is></c>`
  for (const found of row.matchAll(/<c(?:\s[^>]*?)?(?:\/>|>[\s\S]*?<\/c>)/g)) {
    const at = columnOf(/\sr="([A-Z]+)\d+"/.exec(found[0])?.[1]) ?? 0
    if (at < column) continue
    const end = found.index + (at === column ? found[0].length : 0)
    return row.slice(0, found.index) + cell + row.slice(end)
  }
  return row.replace('</row>', `${cell}</row>`)
}

/** A for the first column, AA for the 27th. */
function nameOf(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26))
  return column < 26 ? letter : nameOf(Math.floor(column / 26) - 1) + letter
}

const [LOCAL, CENTRAL, END] = [0x04034b50, 0x02014b50, 0x06054b50]
const VERSION = 20
const UTF8_NAMES = 0x800
/** 1 January 1980, the first day that an archive knows. */
const DAY = 0x21

/** A ZIP archive with the same parts, of which one has other bytes. [APPNOTE.TXT 4.3] */
async function pack(file: Blob, entries: readonly Entry[], changed: Entry, bytes: Uint8Array): Promise<Blob> {
  const parts: (Blob | Uint8Array<ArrayBuffer>)[] = []
  const directory: Uint8Array<ArrayBuffer>[] = []
  let offset = 0
  for (const entry of entries) {
    const isChanged = entry === changed
    const data = isChanged ? new Blob([bytes as Uint8Array<ArrayBuffer>]) : await packedOf(file, entry)
    const name = new TextEncoder().encode(entry.name)
    const fields = [
      ...[VERSION, UTF8_NAMES, isChanged || !entry.isDeflated ? 0 : 8, 0, DAY],
      ...halves(isChanged ? crcOf(bytes) : entry.crc),
      ...halves(data.size),
      ...halves(isChanged ? bytes.length : entry.fullSize),
      name.length,
      0,
    ]
    const local = header(LOCAL, fields, name)
    directory.push(header(CENTRAL, [VERSION, ...fields, 0, 0, 0, 0, 0, ...halves(offset)], name))
    parts.push(local, data)
    offset += local.length + data.size
  }
  const size = directory.reduce((sum, one) => sum + one.length, 0)
  const end = header(
    END,
    [0, 0, entries.length, entries.length, ...halves(size), ...halves(offset), 0],
    new Uint8Array(),
  )
  return new Blob([...parts, ...directory, end])
}

const halves = (value: number): [number, number] => [value & 0xffff, value >>> 16]

/** A signature, numbers of two bytes each, and a name. */
function header(signature: number, fields: readonly number[], name: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(4 + 2 * fields.length + name.length)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, signature, true)
  for (const [index, field] of fields.entries()) view.setUint16(4 + 2 * index, field, true)
  bytes.set(name, 4 + 2 * fields.length)
  return bytes
}

async function packedOf(file: Blob, { at, size }: Entry): Promise<Blob> {
  const local = new DataView(await file.slice(at, at + 30).arrayBuffer())
  const from = at + 30 + local.getUint16(26, true) + local.getUint16(28, true)
  return file.slice(from, from + size)
}

function crcOf(bytes: Uint8Array): number {
  let crc = ~0
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}
