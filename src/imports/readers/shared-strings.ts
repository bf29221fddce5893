import { tooLarge } from '../file-error.ts'
import { MAX_CELL_CHARACTERS, MAX_SHARED_TEXT_BYTES } from '../limits.ts'
import type { IndexSet } from './index-set.ts'
import { readXml, SPREADSHEET } from './xml.ts'
import type { Parts } from './zip.ts'

/** The texts that cells share, by their index: as bytes outside the heap, however many they are. */
export interface SharedStrings {
  /** An empty text where it is not needed; undefined where it is and there is none. */
  get(index: number): string | undefined
}

const BLOCK_BYTES = 4 * 1024 * 1024
/** Of each text, beside its bytes. */
const PLACE_BYTES = 8
/** As many as can be held. */
export const MAX_SHARED_TEXTS = MAX_SHARED_TEXT_BYTES / PLACE_BYTES

/** Reads the texts that are needed, and none after them; all of them where that is not said. */
export async function readSharedStrings(
  parts: Parts,
  name: string | null,
  needed?: IndexSet,
): Promise<SharedStrings> {
  const blocks: Buffer[] = []
  let used = 0
  let starts = new Float64Array(1024)
  // The index of each text that is kept, where not all are.
  let indices = new Uint32Array(needed ? 512 : 0)
  let count = 0
  let kept = 0
  let total = 0
  const keep = (text: string) => {
    const length = Buffer.byteLength(text)
    total += length + PLACE_BYTES
    if (total > MAX_SHARED_TEXT_BYTES) {
      throw tooLarge('The texts of the workbook are too many: split it, or send it as .csv.')
    }
    let block = blocks.at(-1)
    if (!block || used + length > block.length) {
      block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, length))
      blocks.push(block)
      used = 0
    }
    block.write(text, used)
    if (kept * 2 + 2 > starts.length) {
      const larger = new Float64Array(starts.length * 2)
      larger.set(starts)
      starts = larger
    }
    // A place is the number of its block and where it begins in it.
    starts[kept * 2] = (blocks.length - 1) * 2 ** 32 + used
    starts[kept * 2 + 1] = length
    used += length
    if (needed) {
      if (kept === indices.length) {
        const larger = new Uint32Array(indices.length * 2)
        larger.set(indices)
        indices = larger
      }
      indices[kept] = count
    }
    kept++
  }

  if (name !== null && needed?.max() !== -1) {
    let text = ''
    let inText = false
    let phonetic = false
    const isNeeded = () => needed?.has(count) ?? true
    const events = {
      open(element: string) {
        if (element === 'si') text = ''
        else if (element === 'rPh') phonetic = true
        else if (element === 't') inText = !phonetic && isNeeded()
      },
      close(element: string) {
        if (element === 'si') {
          if (isNeeded()) keep(text)
          count++
        } else if (element === 'rPh') phonetic = false
        else if (element === 't') inText = false
      },
      text(piece: string) {
        if (!inText) return
        text += piece
        if (text.length > MAX_CELL_CHARACTERS) {
          throw tooLarge(`A cell has more than ${MAX_CELL_CHARACTERS.toLocaleString('en')} characters.`)
        }
      },
    }
    const part = await parts.read(name)
    for await (const _ of readXml(part, 'The list of shared texts', SPREADSHEET, events))
      if (needed && count > needed.max()) break
  }
  return {
    get(index) {
      if (needed && !needed.has(index)) return ''
      if (!(index >= 0 && index < count)) return undefined
      const at = (needed ? placeOf(indices, kept, index) : index) * 2
      const place = starts[at] as number
      const begin = place % 2 ** 32
      return blocks[Math.floor(place / 2 ** 32)]?.toString('utf8', begin, begin + (starts[at + 1] as number))
    },
  }
}

/** Where a number is among the first ones of a list, in which it is and which grow. */
function placeOf(list: Uint32Array, length: number, number: number): number {
  let from = 0
  let to = length - 1
  while (from < to) {
    const middle = (from + to) >> 1
    if ((list[middle] as number) < number) from = middle + 1
    else to = middle
  }
  return from
}
