import { z } from 'zod'
import { readTimestamp } from '../../ingest/fix.ts'

/** The years 1 to 9999: both databases read and write these in four digits. */
export const MIN_TIME_MS = Date.parse('0001-01-01T00:00:00Z')
export const MAX_TIME_MS = Date.parse('9999-12-31T23:59:59.999Z')

/** Longer than any notation of a time. */
const MAX_CHARACTERS = 64

/** A time in a query, in milliseconds since 1970. */
export const queryTime = z
  .string()
  .max(MAX_CHARACTERS)
  // Before the transformation, so that the example shows the input.
  .meta({ examples: ['2026-11-21T10:00:00Z'] })
  .transform((text, context) => {
    const time = readTimestamp(/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)
    if (time !== null && time >= MIN_TIME_MS && time <= MAX_TIME_MS) return time
    const message = 'This has to be RFC 3339 with an offset, or seconds or milliseconds since 1970.'
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

/** The name of a time zone. */
export const timeZone = z
  .string()
  .max(100)
  .refine(isTimeZone, 'This is not a time zone such as Europe/Berlin.')
  .meta({ examples: ['Europe/Berlin'] })

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** A time in a body. */
export const bodyTime = z
  .string()
  .max(MAX_CHARACTERS)
  .meta({ examples: ['2026-11-21T09:00:00Z'] })
  .transform((text, context) => {
    const time = readTimestamp(text)
    if (time !== null && time >= MIN_TIME_MS && time <= MAX_TIME_MS) return new Date(time)
    const message = 'This has to be a time with its zone, such as 2026-11-21T09:00:00Z.'
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
