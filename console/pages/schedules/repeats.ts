import type { components } from '../../api/interface.d.ts'
import type { ScheduleTexts } from '../../texts/en/schedules.ts'

export type Schedule = components['schemas']['Schedule']
type Repeat = components['schemas']['NewRepeat']

export const FREQUENCIES = ['daily', 'weekly', 'monthly', 'yearly'] as const
export type Frequency = (typeof FREQUENCIES)[number]
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]
/** The choices of a month's days; the others are possible over the API. */
export const MONTH_DAYS = [...Array.from({ length: 31 }, (_, index) => index + 1), -1]

/** The rule of a schedule as its form edits it. */
export interface RepeatDraft {
  frequency: Frequency
  interval: string
  weekdays: Weekday[]
  monthDays: number[]
  /** A rule in RFC 5545's own words, instead of all the others. */
  rrule: string
}

export const repeatDraftOf = (repeat: Schedule['repeat'] | undefined): RepeatDraft => ({
  frequency: repeat?.frequency ?? 'weekly',
  interval: String(repeat?.interval ?? 1),
  weekdays: repeat?.byWeekday ?? [],
  monthDays: repeat?.byMonthDay ?? [],
  rrule: repeat?.rrule ?? '',
})

/** The rule that is sent. Days belong to some units alone. */
export function readRepeat({ frequency, interval, weekdays, monthDays, rrule }: RepeatDraft): Repeat {
  if (rrule !== '') return { rrule }
  const isByWeekday = frequency === 'weekly' || frequency === 'daily'
  return {
    frequency,
    interval: Number(interval) || 1,
    ...(isByWeekday && weekdays.length > 0 && { byWeekday: weekdays }),
    ...(!isByWeekday && monthDays.length > 0 && { byMonthDay: monthDays }),
  }
}

/** A Monday; the days after it are the others. */
const MONDAY = Date.UTC(2026, 0, 5, 12)
const DAY_MS = 86_400_000

export const weekdayName = (day: Weekday, locale: string, weekday: 'short' | 'long' = 'long'): string =>
  new Intl.DateTimeFormat(locale, { weekday, timeZone: 'UTC' }).format(
    MONDAY + WEEKDAYS.indexOf(day) * DAY_MS,
  )

interface Described {
  repeat: Repeat
  startTime: string
  endTime: string | null
  timezone: string
}

/** A schedule in one sentence: "Every second week on Monday at 09:00, Europe/Berlin, until 30 June 2026". */
export function sayRepeat(
  { repeat, startTime, endTime, timezone }: Described,
  t: ScheduleTexts,
  locale: string,
): string {
  if (repeat.rrule !== undefined) return repeat.rrule
  const list = new Intl.ListFormat(locale)
  const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone: timezone })
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: timezone })
  const days = [
    ...(repeat.byWeekday ?? []).map(day => weekdayName(day, locale)),
    ...(repeat.byMonthDay ?? []).map(t.day),
  ]
  return t.sentence({
    every: t.everyUnit(repeat.frequency ?? 'daily', repeat.interval ?? 1),
    on: list.format(days),
    at: clock.format(Date.parse(startTime)),
    zone: timezone.replaceAll('_', ' '),
    until: endTime === null ? '' : date.format(Date.parse(endTime)),
  })
}

/** Minutes that the clocks of a time zone are ahead of UTC. */
export function offsetAt(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(at)
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign = '+', hours = '0', minutes = '0'] = /([+-])(\d+):?(\d*)/.exec(name) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}
