import { statSync } from 'node:fs'
import type { Cell, Rows, Source, SourceRow } from '../cell.ts'
import { tooLarge, unimportable, unsupported } from '../file-error.ts'
import { MAX_CELL_CHARACTERS, MAX_NESTED } from '../limits.ts'
import { quote } from '../quotes.ts'
import { detectEncoding, openText } from './text-file.ts'

/** The number of a record's unknown keys that are reported. */
const MAX_NAMED = 10
const NO_RECORD = 'This is no record as an export makes it: { "data": { … } }.'

/**
 * Reads an export in JSON: an array of records as `GET /data` returns them. The columns are the requested keys; a
 * record may lack some of them. With `header` the first element must be a record.
 */
export async function openJson(
  path: string,
  keys: readonly string[],
  { header = false }: { header?: boolean } = {},
): Promise<Source> {
  const size = statSync(path).size
  const encoding = await detectEncoding(path)
  if (encoding === 'windows1252') throw unsupported('JSON is read in UTF-8 or UTF-16 alone.')
  const { pieces, file } = openText(path, encoding)

  async function* rows(): Rows {
    const records = readRecords()
    if (header) {
      const first = await records.next()
      if (!first.done && first.value.wrong?.some(({ message }) => message === NO_RECORD))
        throw unimportable(
          'Record 1 has no "data": send the records as an export makes them, [{ "data": { … } }].',
        )
    }
    yield { number: 1, cells: [...keys] }
    yield* records
  }
  async function* readRecords(): Rows {
    let number = 1
    for await (const text of elements(pieces)) {
      number++
      let record: unknown
      try {
        record = JSON.parse(text)
      } catch {
        throw unimportable(`Row ${number}, record ${number - 1} of the file, is not valid JSON.`)
      }
      yield { number, record, ...readRecord(record, keys) }
    }
  }
  return {
    rows: rows(),
    isKeyed: true,
    fraction: () => (size === 0 ? 1 : file.bytesRead / size),
    close: () => file.destroy(),
  }
}

function readRecord(record: unknown, keys: readonly string[]): Pick<SourceRow, 'cells' | 'wrong'> {
  const data = (record as { data?: unknown } | null)?.data
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    return { cells: [], wrong: [{ value: JSON.stringify(record), message: NO_RECORD }] }
  const values = data as { [key: string]: unknown }
  const unknown = Object.keys(values).filter(key => !keys.includes(key))
  return {
    cells: keys.map((key): Cell => (Object.hasOwn(values, key) ? { json: values[key] } : null)),
    wrong: unknown.slice(0, MAX_NAMED).map(key => ({
      value: key,
      message: `The data type has no field ${quote(key)}.`,
    })),
  }
}

/** The elements of an array, each as text. An element that is no object or array may have trailing blanks. */
async function* elements(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let state: 'before' | 'first' | 'value' | 'between' | 'after' = 'before'
  let current = ''
  let depth = 0
  let inText = false
  let escaped = false
  const wrong = () => unimportable('The file is not a JSON array of records.')
  for await (const piece of pieces) {
    let begin = 0
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      if (state === 'value') {
        if (inText) {
          if (escaped) escaped = false
          else if (code === 0x5c) escaped = true
          else if (code === 0x22) inText = false
          continue
        }
        if (code === 0x22) inText = true
        else if (code === 0x7b || code === 0x5b) {
          if (++depth > MAX_NESTED) {
            throw tooLarge(`A record has lists and objects within others, more than ${MAX_NESTED} deep.`)
          }
        } else if (depth === 0 && (code === 0x2c || code === 0x5d)) {
          yield current + piece.slice(begin, at)
          current = ''
          state = code === 0x2c ? 'first' : 'after'
        } else if (code === 0x7d || code === 0x5d) {
          if (--depth > 0) continue
          if (depth < 0) throw wrong()
          yield current + piece.slice(begin, at + 1)
          current = ''
          state = 'between'
        }
        continue
      }
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) continue
      if (state === 'before' && code === 0x5b) state = 'first'
      else if (state === 'first' && code !== 0x5d && code !== 0x2c) {
        state = 'value'
        depth = code === 0x7b || code === 0x5b ? 1 : 0
        inText = code === 0x22
        begin = at
      } else if (state === 'between' && code === 0x2c) {
        state = 'first'
      } else if (code === 0x5d && (state === 'first' || state === 'between')) state = 'after'
      else throw wrong()
    }
    if (state !== 'value') continue
    current += piece.slice(begin)
    if (current.length > MAX_CELL_CHARACTERS) {
      throw tooLarge(`A record has more than ${MAX_CELL_CHARACTERS.toLocaleString('en')} characters.`)
    }
  }
  if (state !== 'after') throw unimportable('The file ends in the middle of a record: it is not whole.')
}
