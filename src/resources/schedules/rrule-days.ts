import {
  type CalendarDay,
  calendarDay,
  DAY_MS,
  dayOf,
  daysInMonth,
  HOUR_MS,
  LAST_DAY,
  MINUTE_MS,
  modulo,
  weekdayOf,
  weekNumber,
} from '../../calendar/days.ts'
import type { TimeZone } from '../../calendar/time-zones.ts'
import type { RecurrenceRule } from './parse-rrule.ts'
import type { DayTimes, Effort } from './simple-repeats.ts'

/**
 * The days of a rule of RFC 5545 with their times, from a day on. It works in whole numbers day by day, so that the
 * cost of a rule is bounded by the number of days: 36,525 up to the last year. It yields at least once for each period,
 * even a day without times. Parts that the rule lacks are taken from the start. Days that a month does not have and
 * local times that the clocks skip are left out, before BYSETPOS selects and COUNT counts.
 */
export function* rruleDays(
  rule: RecurrenceRule,
  startLocal: number,
  zone: TimeZone,
  fromDay: number,
  effort: Effort,
): Generator<DayTimes> {
  const startDay = Math.floor(startLocal / DAY_MS)
  let left = rule.count ?? Number.POSITIVE_INFINITY
  // With COUNT the days are counted from the start.
  const firstDay = rule.count === null ? fromDay : startDay
  for (const { day, times } of listDays(rule, startLocal, zone, firstDay, effort)) {
    const begun = day > startDay ? times : times.filter(time => day * DAY_MS + time >= startLocal)
    const counted = begun.length > left ? begun.slice(0, left) : begun
    left -= counted.length
    yield day >= fromDay ? { day, times: counted } : { day, times: NONE }
    if (left === 0) return
  }
}

const NONE: readonly number[] = []
/** The cost of going through the times of a day: a step is sixteen of them. */
const stepsOf = (times: number) => times >> 4

function* listDays(
  rule: RecurrenceRule,
  startLocal: number,
  zone: TimeZone,
  fromDay: number,
  effort: Effort,
): Generator<DayTimes> {
  const timesOf = createTimes(rule, startLocal, effort)
  const matches = createDayFilter(rule, startLocal)
  const select = rule.bySetPos && createSelector(rule.bySetPos, effort)
  for (const [first, last] of listPeriods(rule, Math.floor(startLocal / DAY_MS), fromDay)) {
    const found: DayTimes[] = []
    effort.steps += last - first + 1
    for (let day = first; day <= last; day++) {
      if (!matches(day)) continue
      const times = withoutSkipped(day, timesOf(day))
      if (times.length > 0) found.push({ day, times })
    }
    if (found.length === 0) yield { day: last, times: NONE }
    else yield* select ? select(found) : found
  }

  function withoutSkipped(day: number, times: readonly number[]): readonly number[] {
    const skipped = zone.skippedOn(day)
    if (skipped.length === 0) return times
    effort.steps += stepsOf(times.length)
    return times.filter(time => !isSkipped(day * DAY_MS + time, skipped))
  }
}

const isSkipped = (local: number, skipped: ReturnType<TimeZone['skippedOn']>) =>
  skipped.some(([from, to]) => local >= from && local < to)

/**
 * The periods by their first and last days. For units shorter than a day the period is the day, and `createTimes`
 * divides it.
 */
function* listPeriods(
  { frequency, interval, weekStart }: RecurrenceRule,
  startDay: number,
  fromDay: number,
): Generator<[first: number, last: number]> {
  const start = calendarDay(startDay)
  const from = calendarDay(Math.max(startDay, fromDay))
  const whole = (periods: number, by = interval) => Math.floor(periods / by) * by
  switch (frequency) {
    case 'YEARLY':
      for (let year = start.year + whole(from.year - start.year); ; year += interval) {
        const first = dayOf(year, 1, 1)
        // NaN beyond the range of a Date.
        if (!(first <= LAST_DAY)) return
        yield [first, dayOf(year, 12, 31)]
      }
    case 'MONTHLY': {
      const months = (from.year - start.year) * 12 + from.month - start.month
      for (let month = start.month + whole(months); ; month += interval) {
        const first = dayOf(start.year, month, 1)
        if (!(first <= LAST_DAY)) return
        yield [first, dayOf(start.year, month + 1, 1) - 1]
      }
    }
    case 'WEEKLY': {
      const weekBegin = startDay - modulo(weekdayOf(startDay) - weekStart, 7)
      const weeks = Math.floor((Math.max(startDay, fromDay) - weekBegin) / 7)
      for (let first = weekBegin + 7 * whole(weeks); first <= LAST_DAY; first += 7 * interval)
        yield [first, first + 6]
      return
    }
    default: {
      const step = frequency === 'DAILY' ? interval : 1
      const days = Math.max(0, fromDay - startDay)
      for (let day = startDay + whole(days, step); day <= LAST_DAY; day += step) yield [day, day]
    }
  }
}

/** Tests whether the rule's BY parts allow a day. Parts that the rule lacks come from its start date (DTSTART). */
function createDayFilter(rule: RecurrenceRule, startLocal: number): (day: number) => boolean {
  const startDay = Math.floor(startLocal / DAY_MS)
  const start = calendarDay(startDay)
  const { frequency } = rule
  let { byMonth, byMonthDay, byDay } = rule
  const { byYearDay, byWeekNo } = rule
  if (!byMonthDay && !byYearDay && !byDay) {
    if (frequency === 'WEEKLY' || byWeekNo) byDay = [{ nth: 0, weekday: weekdayOf(startDay) }]
    else if (frequency === 'MONTHLY' || frequency === 'YEARLY') byMonthDay = [start.dayOfMonth]
    if (frequency === 'YEARLY' && !byWeekNo) byMonth ??= [start.month]
  }
  const months = byMonth && new Set(byMonth)
  const monthDays = byMonthDay && new Set(byMonthDay)
  const yearDays = byYearDay && new Set(byYearDay)
  const weekNumbers = byWeekNo && new Set(byWeekNo)
  const isNamed = byDay && createWeekdayFilter(byDay, frequency === 'MONTHLY' || rule.byMonth !== null)

  return day => {
    const date = calendarDay(day)
    if (months && !months.has(date.month)) return false
    if (monthDays && !counts(monthDays, date.dayOfMonth, daysInMonth(date.year, date.month))) return false
    if (yearDays) {
      const first = dayOf(date.year, 1, 1)
      if (!counts(yearDays, day - first + 1, dayOf(date.year + 1, 1, 1) - first)) return false
    }
    if (weekNumbers) {
      const { week, weeks } = weekNumber(day, rule.weekStart)
      if (!counts(weekNumbers, week, weeks)) return false
    }
    return !isNamed || isNamed(day, date)
  }
}

/** Whether a list contains a number that counts from 1, or from the end if it is negative. */
const counts = (list: ReadonlySet<number>, number: number, total: number) =>
  list.has(number) || list.has(number - total - 1)

/** Tests whether BYDAY names a day, counted within its month or year. */
function createWeekdayFilter(
  byDay: readonly { nth: number; weekday: number }[],
  inMonth: boolean,
): (day: number, date: CalendarDay) => boolean {
  const nths = Array.from({ length: 7 }, () => new Set<number>())
  for (const { nth, weekday } of byDay) nths[weekday]?.add(nth)
  return (day, { year, month }) => {
    const wanted = nths[weekdayOf(day)] as Set<number>
    if (wanted.size === 0 || wanted.has(0)) return wanted.size > 0
    const first = inMonth ? dayOf(year, month, 1) : dayOf(year, 1, 1)
    const last = (inMonth ? dayOf(year, month + 1, 1) : dayOf(year + 1, 1, 1)) - 1
    const before = Math.floor((day - first) / 7)
    return counts(wanted, before + 1, before + 1 + Math.floor((last - day) / 7))
  }
}

/** The times of a day in milliseconds after midnight, in order. */
function createTimes(
  rule: RecurrenceRule,
  startLocal: number,
  effort: Effort,
): (day: number) => readonly number[] {
  const { frequency, interval } = rule
  const startTime = modulo(startLocal, DAY_MS)
  const hour = Math.floor(startTime / HOUR_MS)
  const minute = Math.floor(startTime / MINUTE_MS) % 60
  const second = rule.bySecond
    ? (rule.bySecond[0] as number) * 1000 + (startTime % 1000)
    : startTime % MINUTE_MS
  const all = (to: number) => Array.from({ length: to }, (_, index) => index)
  const ordered = (list: readonly number[]) => [...new Set(list)].sort((a, b) => a - b)
  const belowDay = frequency === 'HOURLY' || frequency === 'MINUTELY'
  const hours = ordered(rule.byHour ?? (belowDay ? all(24) : [hour]))
  const minutes = ordered(rule.byMinute ?? (frequency === 'MINUTELY' ? all(60) : [minute]))
  const combined = hours.flatMap(h => minutes.map(m => h * HOUR_MS + m * MINUTE_MS + second))
  if (!belowDay || interval === 1) return () => combined

  // Every interval-th hour or minute since the start; days that begin at the same offset have the same times.
  const unit = frequency === 'HOURLY' ? HOUR_MS : MINUTE_MS
  const byBegin = new Map<number, readonly number[]>()
  const startUnit = Math.floor(startLocal / unit)
  const units = DAY_MS / unit
  return day => {
    const begin = modulo(day * units - startUnit, interval)
    // With an interval longer than a day most days have none.
    if (begin > 0 && interval - begin >= units) return NONE
    const known = byBegin.get(begin)
    if (known) return known
    effort.steps += stepsOf(combined.length)
    const times = combined.filter(time => (begin + Math.floor(time / unit)) % interval === 0)
    byBegin.set(begin, times)
    return times
  }
}

/**
 * Selects the occurrences of a period at these positions, counted from its beginning or, if negative, from its end. The
 * selection is computed once for each number of occurrences, and once for days with the same times: 732 positions for
 * each day of a century took 1.7 s.
 */
function createSelector(
  positions: readonly number[],
  effort: Effort,
): (days: readonly DayTimes[]) => Iterable<DayTimes> {
  const byTotal = new Map<number, readonly number[]>()
  const byTimes = new Map<readonly number[], readonly number[]>()
  const none = (day: number): DayTimes => ({ day, times: NONE })

  function choose(total: number): readonly number[] {
    const known = byTotal.get(total)
    if (known) return known
    const chosen = new Set(positions.map(position => (position > 0 ? position - 1 : total + position)))
    const inOrder = [...chosen].filter(index => index >= 0 && index < total).sort((a, b) => a - b)
    effort.steps += positions.length
    byTotal.set(total, inOrder)
    return inOrder
  }

  function* select(days: readonly DayTimes[]): Generator<DayTimes> {
    const inOrder = choose(days.reduce((sum, { times }) => sum + times.length, 0))
    effort.steps += stepsOf(inOrder.length)
    let before = 0
    let next = 0
    for (const { day, times } of days) {
      const here: number[] = []
      while (next < inOrder.length && (inOrder[next] as number) < before + times.length)
        here.push(times[(inOrder[next++] as number) - before] as number)
      before += times.length
      yield here.length > 0 ? { day, times: here } : none(day)
    }
  }

  return days => {
    const [only, ...others] = days
    if (!only || others.length > 0) return select(days)
    const known = byTimes.get(only.times)
    const times = known ?? [...select(days)].flatMap(day => day.times)
    if (!known) byTimes.set(only.times, times)
    return [{ day: only.day, times }]
  }
}
