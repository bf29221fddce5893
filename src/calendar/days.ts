// Days are counted from 1970-01-01, whatever the time zone, and weekdays from Monday, 0.

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 86_400_000

/** The weekdays as RFC 5545 calls them. */
export const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const

/** Occurrences are searched for up to this year, so that a rule that never matches is recognized. */
export const FIRST_YEAR = 2000
export const LAST_YEAR = 2099

export interface CalendarDay {
  year: number
  /** From 1. */
  month: number
  dayOfMonth: number
}

/** The day of a month; a day beyond its end is in the next month. */
export const dayOf = (year: number, month: number, dayOfMonth: number): number =>
  Date.UTC(year, month - 1, dayOfMonth) / DAY_MS

export function calendarDay(day: number): CalendarDay {
  const date = new Date(day * DAY_MS)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, dayOfMonth: date.getUTCDate() }
}

export const LAST_DAY = dayOf(LAST_YEAR, 12, 31)

export const daysInMonth = (year: number, month: number): number =>
  dayOf(year, month + 1, 1) - dayOf(year, month, 1)

export const weekdayOf = (day: number): number => modulo(day + 3, 7)

/** Never negative, unlike %. */
export const modulo = (value: number, by: number): number => ((value % by) + by) % by

/**
 * The number of a day's week, and the number of weeks in the year of that week. Week 1 is the first with four days or
 * more in the year; weeks start on the given weekday (RFC 5545, BYWEEKNO).
 */
export function weekNumber(day: number, weekStart: number): { week: number; weeks: number } {
  // The fourth day of a week is in the year that the week belongs to.
  const middle = day - modulo(weekdayOf(day) - weekStart, 7) + 3
  const { year } = calendarDay(middle)
  const weeksBefore = (of: number) => Math.floor((of - dayOf(year, 1, 1)) / 7)
  const last = dayOf(year, 12, 31)
  const lastMiddle = last - modulo(weekdayOf(last) - weekStart - 3, 7)
  return { week: weeksBefore(middle) + 1, weeks: weeksBefore(lastMiddle) + 1 }
}
