import { tooLarge } from '../file-error.ts'
import { MAX_CELL_CHARACTERS, MAX_SHARED_TEXT_BYTES } from '../limits.ts'
import { readXml } from './xml.ts'
import type { Parts } from './zip.ts'

/** The texts that cells share, by their index: as bytes outside the heap, however many they are. */
export interface SharedStrings {
  get(index: number): string | undefined
}

const BLOCK_BYTES = 4 * 1024 * 1024

/** Reads the texts up to an index; without one all of them. */
export async function readSharedStrings(
  parts: Parts,
  name: string | null,
  upTo = Number.POSITIVE_INFINITY,
): Promise<SharedStrings> {
  const blocks: Buffer[] = []
  let used = 0
  let starts = new Float64Array(1024)
  let count = 0
  let total = 0
  const add = (text: string) => {
    const length = Buffer.byteLength(text)
    total += length + 8
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
    if (count * 2 + 2 > starts.length) {
      const larger = new Float64Array(starts.length * 2)
      larger.set(starts)
      starts = larger
    }
    // A place is the number of its block and where it begins in it.
    starts[count * 2] = (blocks.length - 1) * 2 ** 32 + used
    starts[count * 2 + 1] = length
    used += length
    count++
  }

  if (name !== null && upTo >= 0) {
    let text = ''
    let inText = false
    let phonetic = false
    const events = {
      open(element: string) {
        if (element === 'si') text = ''
        else if (element === 'rPh') phonetic = true
        else if (element === 't') inText = !phonetic
      },
      close(element: string) {
        if (element === 'si') add(text)
        else if (element === 'rPh') phonetic = false
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
    for await (const _ of readXml(await parts.read(name), 'The list of shared texts', events))
      if (count > upTo) break
  }
  return {
    get(index) {
      if (!(index >= 0 && index < count)) return undefined
      const place = starts[index * 2] as number
      const begin = place % 2 ** 32
      return blocks[Math.floor(place / 2 ** 32)]?.toString(
        'utf8',
        begin,
        begin + (starts[index * 2 + 1] as number),
      )
    },
  }
}
