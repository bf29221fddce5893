import type { Repeat } from '../../../db/schema/schedules.ts'
import { DAY_MS, dayOf, FIRST_YEAR, LAST_DAY } from '../../calendar/days.ts'
import { findTimeZone, type TimeZone } from '../../calendar/time-zones.ts'
import { InvalidRule, parseRrule, type RecurrenceRule } from './parse-rrule.ts'
import { rruleDays } from './rrule-days.ts'
import { type DayTimes, type Effort, simpleDays } from './simple-repeats.ts'

/** The timing of a schedule's tasks. */
export interface Timing {
  repeat: Repeat
  startTime: Date
  /** The last moment of an occurrence. */
  endTime: Date | null
  /** A name of the tz database. The repeat is interpreted in this time zone. */
  timezone: string
  /** Exceptions: days (`2026-12-25`) of the time zone, and times of occurrences as the interface returns them. */
  exceptions: string[]
}

/** The occurrences of one day of the time zone. */
interface OccurrenceDay {
  day: number
  count: number
  /** In milliseconds since 1970, in order. */
  instants: () => readonly number[]
}

/** Limits the work. One step is a day, an occurrence, or sixteen times of a day: 0.1 to 1.2 µs. */
export interface Budget {
  stepsLeft: number
}

/** A century of days, five times over; every realistic rule takes less than one. */
export const MAX_STEPS = 200_000
/** Some 2 ms of work, and then it is another organization's turn. */
const PIECE_STEPS = 2_000
const TOO_MUCH =
  'This takes too long to look through. Let it begin later, name fewer times, or send fewer schedules at once.'

interface Wanted {
  /** Earlier occurrences do not count. */
  from: number
  now: number
  /** The number of the last past occurrences to return. */
  keep?: number
  /** The number of future occurrences to search for, depending on the number of past ones. */
  futureCount: (past: number) => number
  budget?: Budget
}

/** Occurrences of a schedule, in milliseconds since 1970 and in order. */
interface Occurrences {
  /** The number of past ones, including one at `now`. */
  past: number
  /** The last of the past ones. */
  kept: number[]
  /** The first of the future ones. */
  next: number[]
}

/**
 * Goes through the occurrences of a schedule up to the end of the last year, piece by piece; past ones are counted by
 * day. Throws an InvalidRule if the budget does not suffice, and the errors of `parseRrule` and `findTimeZone`.
 */
export function* lookThrough(
  timing: Timing,
  { from, now, keep = 0, futureCount, budget = { stepsLeft: Number.POSITIVE_INFINITY } }: Wanted,
): Generator<void, Occurrences> {
  const effort: Effort = { steps: 0 }
  const days: OccurrenceDay[] = []
  const next: number[] = []
  let [past, held] = [0, 0]
  const spend = () => {
    budget.stepsLeft -= effort.steps
    effort.steps = 0
    if (budget.stepsLeft < 0) throw new InvalidRule(TOO_MUCH)
  }
  const hold = (day: OccurrenceDay) => {
    past += day.count
    if (keep === 0 || day.count === 0) return
    held += day.count
    days.push(day)
    while (held - (days[0] as OccurrenceDay).count >= keep) held -= (days.shift() as OccurrenceDay).count
  }

  for (const found of listOccurrenceDays(timing, from, effort)) {
    if (effort.steps >= PIECE_STEPS) {
      spend()
      yield
    }
    if ((found.day + 2) * DAY_MS <= now) {
      hold(found)
      continue
    }
    const instants = found.instants()
    effort.steps += instants.length
    const ended = instants.filter(instant => instant <= now)
    hold({ day: found.day, count: ended.length, instants: () => ended })
    for (const instant of instants) if (instant > now) next.push(instant)
    if ((found.day - 1) * DAY_MS > now && next.length >= futureCount(past)) break
  }
  spend()
  const kept = keep === 0 ? [] : days.flatMap(({ instants }) => instants()).slice(-keep)
  return { past, kept, next: next.slice(0, futureCount(past)) }
}

/** The days from an instant on. Days without an occurrence are included, so that the caller may pause at any of them. */
function* listOccurrenceDays(timing: Timing, from: number, effort: Effort): Generator<OccurrenceDay> {
  const zone = findTimeZone(timing.timezone)
  const start = timing.startTime.getTime()
  const startLocal = zone.toLocal(start)
  const isSimple = !('rrule' in timing.repeat)
  const rule = 'rrule' in timing.repeat ? parseRrule(timing.repeat.rrule) : null
  const [first, last] = [Math.max(from, start), endOf(timing, rule, zone)]
  // Local days begin up to 14 hours before or after UTC's, and a skipped time moves on by up to a day.
  const fromDay = Math.floor(first / DAY_MS) - 2
  const exceptions = readExceptions(timing.exceptions, zone)
  // If the clock shows the start's time twice, the start may mean the second one.
  const toInstant = (local: number) => (local === startLocal ? start : zone.toInstant(local))
  let previous = Number.NEGATIVE_INFINITY

  const days = rule
    ? rruleDays(rule, startLocal, zone, fromDay, effort)
    : simpleDays(timing.repeat as Exclude<Repeat, { rrule: string }>, startLocal, fromDay, effort)
  for (const { day, times } of days) {
    if ((day - 2) * DAY_MS > last) return
    if (times.length === 0 || exceptions.days.has(day)) {
      yield { day, count: 0, instants: () => [] }
      continue
    }
    const inside = (day - 1) * DAY_MS > first && (day + 2) * DAY_MS < last
    if (inside && !isSimple && !exceptions.daysOfInstants.has(day)) {
      yield { day, count: times.length, instants: () => toInstants({ day, times }, toInstant) }
      continue
    }
    effort.steps += times.length
    const instants = toInstants({ day, times }, toInstant).filter(instant => {
      // The times of a day that a time zone skips move on to the next day, which has times of its own.
      if (instant < first || instant > last || instant <= previous) return false
      previous = instant
      return !exceptions.instants.has(instant)
    })
    yield { day, count: instants.length, instants: () => instants }
  }
}

const toInstants = ({ day, times }: DayTimes, toInstant: (local: number) => number) =>
  times.map(time => toInstant(day * DAY_MS + time))

/** The last possible instant of an occurrence. */
function endOf({ endTime }: Timing, rule: RecurrenceRule | null, zone: TimeZone): number {
  const ends = [(LAST_DAY + 1) * DAY_MS]
  if (endTime) ends.push(endTime.getTime())
  if (rule?.until) {
    const { local, isUtc, isDate } = rule.until
    const known = Math.max(dayOf(FIRST_YEAR, 1, 1) * DAY_MS, Math.min(local, LAST_DAY * DAY_MS))
    if (isUtc) ends.push(local)
    else ends.push(isDate ? zone.toInstant(known + DAY_MS) - 1 : zone.toInstant(known))
  }
  return Math.min(...ends)
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/

function readExceptions(
  exceptions: readonly string[],
  zone: TimeZone,
): { days: ReadonlySet<number>; instants: ReadonlySet<number>; daysOfInstants: ReadonlySet<number> } {
  const days = new Set<number>()
  const instants = new Set<number>()
  for (const exception of exceptions) {
    const [, year, month, day] = DATE.exec(exception)?.map(Number) ?? []
    if (year && month && day) days.add(dayOf(year, month, day))
    else instants.add(Date.parse(exception))
  }
  const daysOfInstants = new Set([...instants].map(instant => Math.floor(zone.toLocal(instant) / DAY_MS)))
  return { days, instants, daysOfInstants }
}
