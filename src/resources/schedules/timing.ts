import { z } from 'zod'
import { FREQUENCIES, type Repeat, WEEKDAYS } from '../../../db/schema/schedules.ts'
import { FIRST_YEAR, LAST_YEAR } from '../../calendar/days.ts'
import { MAX_RRULE_CHARACTERS } from './parse-rrule.ts'

// The timing of a schedule's tasks in a request's body.

const MAX_INTERVAL = 1_000
/** Ten years of holidays and closing days. */
const MAX_EXCEPTIONS = 500

/** A text in ISO 8601 with an offset; times in other centuries are refused. */
export const plannedTime = z.iso
  .datetime({ offset: true })
  .max(40)
  .transform((text, context) => {
    const time = new Date(text)
    const year = time.getUTCFullYear()
    if (year >= FIRST_YEAR && year <= LAST_YEAR) return time
    const message = `This has to be in the years ${FIRST_YEAR} to ${LAST_YEAR}.`
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

const simple = {
  frequency: z.enum(FREQUENCIES).meta({ examples: ['weekly'] }),
  interval: z.int().min(1).max(MAX_INTERVAL),
  byWeekday: z
    .array(z.enum(WEEKDAYS))
    .min(1)
    .max(7)
    .transform(names => [...new Set(names)])
    .describe('With daily and weekly'),
  byMonthDay: z
    .array(
      z
        .int()
        .min(-1)
        .max(31)
        .refine(day => day !== 0, 'This has to be from 1 to 31, or -1 for the last day.'),
    )
    .min(1)
    .max(32)
    .transform(days => [...new Set(days)])
    .describe('With monthly and yearly; -1 is the last day of the month'),
}

export const repeat = z
  .strictObject({
    ...simple,
    rrule: z.string().max(MAX_RRULE_CHARACTERS).describe('RFC 5545, instead of all the others'),
  })
  .partial()
  .transform((given, context): Repeat => {
    const { rrule, ...rest } = given
    const wrong = (path: string, message: string) => {
      context.addIssue({ code: 'custom', path: [path], message })
      return z.NEVER
    }
    if (rrule !== undefined) {
      const [other] = Object.keys(rest)
      return other ? wrong(other, 'This does not go with rrule, which says it itself.') : { rrule }
    }
    const { frequency, interval = 1, byWeekday, byMonthDay } = rest
    if (!frequency) return wrong('frequency', 'This is required, or else rrule.')
    const inMonths = frequency === 'monthly' || frequency === 'yearly'
    if (byWeekday && inMonths) {
      return wrong('byWeekday', 'This goes with daily and weekly; for weekdays of a month give an rrule.')
    }
    if (byMonthDay && !inMonths) return wrong('byMonthDay', 'This goes with monthly and yearly.')
    return { frequency, interval, ...(byWeekday && { byWeekday }), ...(byMonthDay && { byMonthDay }) }
  })
  .meta({ examples: [{ frequency: 'weekly', interval: 1, byWeekday: ['mon', 'thu'] }] })

export const shownRepeat = z
  .object({
    frequency: z.enum(FREQUENCIES),
    interval: z.int(),
    byWeekday: z.array(z.enum(WEEKDAYS)),
    byMonthDay: z.array(z.int()),
    rrule: z.string(),
  })
  .partial()
  .meta({ examples: [{ frequency: 'weekly', interval: 1, byWeekday: ['mon', 'thu'] }] })

const day = z.iso.date()

export const exceptions = z
  .array(
    z
      .string()
      .max(40)
      .transform((text, context) => {
        if (day.safeParse(text).success) return text
        const time = plannedTime.safeParse(text)
        if (time.success) return time.data.toISOString()
        const message = 'This has to be a day such as 2026-12-25, or the time of an occurrence with its zone.'
        context.addIssue({ code: 'custom', message })
        return z.NEVER
      }),
  )
  .max(MAX_EXCEPTIONS)
  .describe('Days in the time zone, and times of single occurrences, that make no task')
  .meta({ examples: [['2026-12-25', '2026-12-26']] })
