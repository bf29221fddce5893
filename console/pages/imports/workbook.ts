/**
 * The first rows of a workbook's first sheet. A workbook is a ZIP archive of XML files; the browser inflates them, and reads only
 * as much of each as the first rows need. Formats of cells are not read: a date is shown as the number that the file holds.
 */

const TAIL_BYTES = 66_000
const END_SIGNATURE = 0x06054b50
/** The texts that cells share come in the order of their first use. */
const MAX_SHARED_CHARACTERS = 2_000_000
const MAX_SHEET_CHARACTERS = 1_000_000

export interface Entry {
  name: string
  at: number
  size: number
  isDeflated: boolean
  /** Its check sum, and its size when it is unpacked. */
  crc: number
  fullSize: number
}

export async function readWorkbook(
  file: Blob,
  most: number,
  max = MAX_SHEET_CHARACTERS,
): Promise<string[][]> {
  const entries = await readDirectory(file)
  const [sheet] = sheetsIn(entries)
  if (!sheet) return []
  const shared = entries.find(({ name }) => name === 'xl/sharedStrings.xml')
  const isEnough = (text: string) => text.split('</row>').length > most + 1
  const [rows, texts] = await Promise.all([
    readText(file, sheet, max, isEnough),
    shared ? readText(file, shared, MAX_SHARED_CHARACTERS, () => false) : '',
  ])
  return parseSheet(rows, readShared(texts)).slice(0, most)
}

/** The parts of the workbook that are its sheets, the first one first. */
export const sheetsIn = (entries: readonly Entry[]): Entry[] =>
  entries
    .filter(({ name }) => /^xl\/worksheets\/sheet\d+\.xml$/.test(name))
    .sort((one, other) => numberIn(one.name) - numberIn(other.name))

const numberIn = (name: string) => Number(/\d+/.exec(name)?.[0])

/** The files of the archive, from the directory at its end. */
export async function readDirectory(file: Blob): Promise<Entry[]> {
  const tail = new DataView(await file.slice(Math.max(0, file.size - TAIL_BYTES)).arrayBuffer())
  let end = tail.byteLength - 22
  while (end >= 0 && tail.getUint32(end, true) !== END_SIGNATURE) end--
  if (end < 0) return []
  const [count, size, from] = [
    tail.getUint16(end + 10, true),
    tail.getUint32(end + 12, true),
    tail.getUint32(end + 16, true),
  ]
  const directory = new DataView(await file.slice(from, from + size).arrayBuffer())
  const entries: Entry[] = []
  for (let at = 0, index = 0; index < count; index++) {
    const read = (offset: number) => directory.getUint16(at + offset, true)
    const nameLength = read(28)
    const name = new TextDecoder().decode(new Uint8Array(directory.buffer, at + 46, nameLength))
    entries.push({
      name,
      at: directory.getUint32(at + 42, true),
      crc: directory.getUint32(at + 16, true),
      size: directory.getUint32(at + 20, true),
      fullSize: directory.getUint32(at + 24, true),
      isDeflated: read(10) === 8,
    })
    at += 46 + nameLength + read(30) + read(32)
  }
  return entries
}

/** The text of a file in the archive, until it is enough or has so many characters. */
export async function readText(
  file: Blob,
  { at, size, isDeflated }: Entry,
  max: number,
  isEnough: (text: string) => boolean,
): Promise<string> {
  const header = new DataView(await file.slice(at, at + 30).arrayBuffer())
  const from = at + 30 + header.getUint16(26, true) + header.getUint16(28, true)
  const packed = file.slice(from, from + size).stream()
  const stream = isDeflated ? packed.pipeThrough(new DecompressionStream('deflate-raw')) : packed
  const reader = stream
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    text += value
    if (text.length < max && !isEnough(text)) continue
    await reader.cancel()
    return text
  }
}

const ENTITIES: { [name: string]: string } = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const decodeXml = (text: string) =>
  text.replace(/&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) =>
    hex || decimal
      ? String.fromCodePoint(Number.parseInt(hex ?? decimal, hex ? 16 : 10))
      : (ENTITIES[name as string] ?? whole),
  )

const textIn = (xml: string) =>
  [...xml.matchAll(/<t(?:\s[^>]*)?>([\s\S]*?)<\/t>/g)].map(([, text = '']) => decodeXml(text)).join('')

const readShared = (xml: string): string[] =>
  [...xml.matchAll(/<si>([\s\S]*?)<\/si>/g)].map(([, one = '']) => textIn(one))

function parseSheet(xml: string, shared: readonly string[]): string[][] {
  return [...xml.matchAll(/<row[^>]*>([\s\S]*?)<\/row>/g)]
    .map(([, row = '']) => {
      const cells: string[] = []
      for (const [, attributes = '', inner = ''] of row.matchAll(
        /<c((?:\s[^>]*?)?)(?:\/>|>([\s\S]*?)<\/c>)/g,
      )) {
        const column = columnOf(/\sr="([A-Z]+)\d+"/.exec(attributes)?.[1]) ?? cells.length
        const type = /\st="(\w+)"/.exec(attributes)?.[1]
        const value = decodeXml(/<v[^>]*>([\s\S]*?)<\/v>/.exec(inner)?.[1] ?? '')
        cells[column] =
          type === 's' ? (shared[Number(value)] ?? '') : type === 'inlineStr' ? textIn(inner) : value
      }
      return Array.from(cells, cell => (cell ?? '').trim())
    })
    .filter(cells => cells.some(cell => cell !== ''))
}

export const columnOf = (letters: string | undefined): number | undefined =>
  letters ? [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1 : undefined
