import { type SimpleRepeat, WEEKDAYS } from '../../../db/schema/schedules.ts'
import { calendarDay, DAY_MS, dayOf, daysInMonth, LAST_DAY, weekdayOf } from '../../calendar/days.ts'

/** A day of a rule with its times, in milliseconds after midnight, in local time. */
export interface DayTimes {
  day: number
  times: readonly number[]
}

/** The steps done so far. */
export interface Effort {
  steps: number
}

/**
 * The days of a simple repeat from a day on, including days without an occurrence. Every period has its occurrence: a
 * day that the month does not have becomes its last day (contract section 6).
 */
export function* simpleDays(
  repeat: SimpleRepeat,
  startLocal: number,
  fromDay: number,
  effort: Effort,
): Generator<DayTimes> {
  const { frequency, interval } = repeat
  const startDay = Math.floor(startLocal / DAY_MS)
  const times = [startLocal - startDay * DAY_MS]
  const start = calendarDay(startDay)
  const weekdays = repeat.byWeekday?.map(name => WEEKDAYS.indexOf(name)).sort((a, b) => a - b)
  const monthDays = repeat.byMonthDay ?? [start.dayOfMonth]

  /** The first day of a period, and those of its days that have occurrences. */
  function listDays(period: number): { begins: number; days: number[] } {
    switch (frequency) {
      case 'daily': {
        const day = startDay + period
        const wanted = !weekdays || weekdays.includes(weekdayOf(day))
        return { begins: day, days: wanted ? [day] : [] }
      }
      case 'weekly': {
        const monday = startDay - weekdayOf(startDay) + 7 * period
        const days = (weekdays ?? [weekdayOf(startDay)]).map(weekday => monday + weekday)
        return { begins: monday, days }
      }
      case 'monthly':
        return daysOfMonth(start.year, start.month + period)
      case 'yearly':
        return daysOfMonth(start.year + period, start.month)
    }
  }

  function daysOfMonth(year: number, month: number): { begins: number; days: number[] } {
    const begins = dayOf(year, month, 1)
    const length = daysInMonth(year, month)
    const days = monthDays.map(day => begins + (day === -1 ? length : Math.min(day, length)) - 1)
    return { begins, days: [...new Set(days)].sort((a, b) => a - b) }
  }

  const fromPeriod = Math.max(0, periodsBetween(frequency, startDay, fromDay))
  for (let period = Math.floor(fromPeriod / interval) * interval; ; period += interval) {
    const { begins, days } = listDays(period)
    // NaN beyond the range of a Date.
    if (!(begins <= LAST_DAY)) return
    effort.steps += days.length + 1
    if (days.length === 0) yield { day: begins, times: [] }
    for (const day of days) if (day >= startDay && day >= fromDay && day <= LAST_DAY) yield { day, times }
  }
}

/** A lower bound of the periods between two days, so that skipping that many misses none. */
function periodsBetween(frequency: SimpleRepeat['frequency'], from: number, to: number): number {
  const days = to - from
  switch (frequency) {
    case 'daily':
      return days
    case 'weekly':
      return Math.floor(days / 7) - 1
    case 'monthly':
      return Math.floor(days / 31) - 1
    case 'yearly':
      return Math.floor(days / 366) - 1
  }
}
