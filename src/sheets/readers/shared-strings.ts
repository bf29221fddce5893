import { tooLarge } from '../file-error.ts'
import { MAX_CELL_CHARACTERS, MAX_SHARED_TEXT_BYTES, SHARED_TEXT_MEMORY_BYTES } from '../limits.ts'
import type { IndexSet } from './index-set.ts'
import { createSpill } from './spill.ts'
import { readXml, SPREADSHEET } from './xml.ts'
import type { Parts } from './zip.ts'

/** The shared texts of cells by index, partly in memory and partly on disk, in any number. */
export interface SharedStrings {
  /** The text; an empty one if it is not needed, and undefined if it is needed but does not exist. */
  get(index: number): string | undefined
  close(): void
}

/** Each text also takes this many bytes for the position where it ends. */
const PLACE_BYTES = 8
/** The maximum number of texts. */
export const MAX_SHARED_TEXTS = MAX_SHARED_TEXT_BYTES / PLACE_BYTES

/**
 * Reads the texts up to the last needed one, or all of them without `needed`. Texts beyond the memory go to a file
 * beside `path`.
 */
export async function readSharedStrings(
  parts: Parts,
  name: string | null,
  path: string,
  needed?: IndexSet,
): Promise<SharedStrings> {
  const texts = createSpill(path, (SHARED_TEXT_MEMORY_BYTES * 2) / 3)
  const ends = createSpill(path, SHARED_TEXT_MEMORY_BYTES / 3)
  const end = Buffer.alloc(PLACE_BYTES)
  const close = () => {
    texts.close()
    ends.close()
  }
  const endOf = (index: number) =>
    index < 0 ? 0 : ends.read(index * PLACE_BYTES, PLACE_BYTES).readDoubleLE()
  let count = 0
  const keep = (text: string) => {
    texts.append(Buffer.from(text))
    end.writeDoubleLE(texts.size())
    ends.append(end)
    count++
    if (texts.size() + ends.size() > MAX_SHARED_TEXT_BYTES) {
      throw tooLarge('The texts of the workbook are too many: split it, or send it as .csv.')
    }
  }

  if (name !== null && needed?.max() !== -1) {
    let text = ''
    let inText = false
    let phonetic = false
    const events = {
      open(element: string) {
        if (element === 'si') text = ''
        else if (element === 'rPh') phonetic = true
        else if (element === 't') inText = !phonetic && (needed?.has(count) ?? true)
      },
      close(element: string) {
        if (element === 'si') keep(text)
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
    try {
      const part = await parts.read(name)
      for await (const _ of readXml(part, 'The list of shared texts', SPREADSHEET, events))
        if (needed && count > needed.max()) break
    } catch (error) {
      close()
      throw error
    }
  }
  return {
    get(index) {
      if (needed && !needed.has(index)) return ''
      if (!(index >= 0 && index < count)) return undefined
      const begin = endOf(index - 1)
      return texts.read(begin, endOf(index) - begin).toString()
    },
    close,
  }
}
