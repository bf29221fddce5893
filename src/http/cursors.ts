import { z } from 'zod'
import { isUuid } from '../../db/client.ts'
import type { Sort } from '../../db/queries/page.ts'
import { isStorable } from '../../db/text.ts'
import { invalid } from './errors.ts'
import { MAX_TIME_MS, MIN_TIME_MS } from './times.ts'

// A cursor is opaque to clients: the JSON of the last row's keys. A client may forge one, so every key is checked
// against the range of its column.

/** Schemas for the keys of a cursor, each with the bounds of its column. */
export const cursorKey = {
  /** Milliseconds since 1970. */
  time: z.number().min(MIN_TIME_MS).max(MAX_TIME_MS),
  /** In the format of the answers. */
  timestamp: z.iso.datetime({ precision: 3 }).refine(text => Date.parse(text) >= MIN_TIME_MS),
  /** `subjects.key`, an int4. */
  subject: z.int32().min(0),
}

export function writeCursor(keys: unknown): string {
  return Buffer.from(JSON.stringify(keys)).toString('base64url')
}

/** Reads a cursor that `schema` describes; null if none is given. Throws 400 if it is not a cursor of this list. */
export function readCursor<T>(cursor: string | undefined, schema: z.ZodType<T>): T | null {
  if (cursor === undefined) return null
  try {
    return schema.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')))
  } catch {
    throw invalid('cursor', 'This is not a cursor of this list in this order.')
  }
}

/** Whether a text can be read back as the type of the list's sort key. */
export function isSortKey(text: string, type: Sort['type']): boolean {
  switch (type) {
    case 'timestamptz':
      return isTimestamp(text)
    case 'uuid':
      return isUuid(text)
    case 'float8':
      return isFloat(text)
    case 'text':
      return isStorable(text)
  }
}

const TIMESTAMP =
  /^(\d{4})-(\d\d)-(\d\d) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?[+-](?:0\d|1[0-4])(?::[0-5]\d){0,2}$/

/** A timestamptz as the database writes it, in the years 1 to 9999. */
function isTimestamp(text: string): boolean {
  if (text === '-infinity' || text === 'infinity') return true
  const [, year, month, day] = TIMESTAMP.exec(text)?.map(Number) ?? []
  if (!year || !month || !day) return false
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

/**
 * A float8 as the database writes it. The database rejects numbers that are too large or too small for its exponent.
 */
function isFloat(text: string): boolean {
  const digits = /^-?(\d{1,400}(?:\.\d{1,400})?)(?:e[+-]?\d{1,3})?$/.exec(text)?.[1]
  const number = Number(text)
  return digits !== undefined && Number.isFinite(number) && (number !== 0 || !/[1-9]/.test(digits))
}
