import { hash, randomUUID } from 'node:crypto'
import { tooLarge } from '../../sheets/file-error.ts'
import { MAX_SEEN_BYTES } from './limits.ts'

/**
 * Remembers which row of a file had a value first, for a million values in 24 MB: a table of digests, with a chance of
 * confusing two values of 1 in 10 million.
 */
export interface SeenValues {
  /**
   * Returns the row that had the value before and the digest of that row; otherwise keeps the value for this row and
   * returns null.
   */
  add(value: string, row: number, digest: number): { row: number; digest: number } | null
  has(value: string): boolean
}

/**
 * Each thread has another salt and builds its table anew from all rows. So no author of a file knows the place of a
 * value, or two values with the same digest: values chosen for neighbouring places would be searched one by one.
 */
const SALT = randomUUID()
export const digestOf = (text: string): Buffer => hash('sha256', SALT + text, 'buffer')

/** Memory shared by the values of several fields. */
export function createSeenRoom(maxBytes = MAX_SEEN_BYTES): { take(bytes: number): void } {
  let left = maxBytes
  return {
    take(bytes) {
      left -= bytes
      if (left < 0)
        throw tooLarge(
          'The file has too many values of unique fields, which are compared with each other: split it.',
        )
    },
  }
}

export function createSeenValues(room = createSeenRoom()): SeenValues {
  // Each place holds two halves of the value's digest, the row (0 is an empty place), and the row's digest.
  let table = new Uint32Array(4 * 1024)
  let count = 0

  const find = (from: Uint32Array, high: number, low: number): number => {
    const places = from.length / 4
    for (let place = low % places; ; place = (place + 1) % places) {
      const at = place * 4
      if (from[at + 2] === 0 || (from[at] === high && from[at + 1] === low)) return at
    }
  }
  const grow = () => {
    room.take(table.byteLength)
    const larger = new Uint32Array(table.length * 2)
    for (let at = 0; at < table.length; at += 4) {
      if (table[at + 2] === 0) continue
      const to = find(larger, table[at] as number, table[at + 1] as number)
      larger.set(table.subarray(at, at + 4), to)
    }
    table = larger
  }
  const placeOf = (value: string) => {
    const digest = digestOf(value)
    const [high, low] = [digest.readUInt32LE(0), digest.readUInt32LE(4)]
    return { at: find(table, high, low), high, low }
  }

  return {
    add(value, row, digest) {
      const { at, high, low } = placeOf(value)
      if (table[at + 2] !== 0) return { row: table[at + 2] as number, digest: table[at + 3] as number }
      table.set([high, low, row, digest], at)
      if (++count * 2 > table.length / 4) grow()
      return null
    },
    has: value => table[placeOf(value).at + 2] !== 0,
  }
}
