import type { Repeat } from '../../../db/schema/schedules.ts'
import { DAY_MS, dayOf, FIRST_YEAR, LAST_DAY } from '../../calendar/days.ts'
import { findTimeZone, type TimeZone } from '../../calendar/time-zones.ts'
import { InvalidRule, parseRrule, type RecurrenceRule } from './parse-rrule.ts'
import { rruleDays } from './rrule-days.ts'
import { type DayTimes, type Effort, simpleDays } from './simple-repeats.ts'

/** When a schedule makes its tasks. */
export interface Timing {
  repeat: Repeat
  startTime: Date
  /** The last moment of an occurrence. */
  endTime: Date | null
  /** A name of the tz database, in which the repeat is read. */
  timezone: string
  /** What is left out: days (`2026-12-25`) of the time zone, and times of occurrences as they are answered. */
  exceptions: string[]
}

/** The occurrences of one day of the time zone. */
interface OccurrenceDay {
  count: number
  /** In milliseconds since 1970, in order. */
  instants: () => readonly number[]
}

/** The occurrences of one day of the time zone. */
interface OccurrenceDay {
  day: number
  count: number
  /** In milliseconds since 1970, in order. */
  instants: () => readonly number[]
}

/** What may be looked at. One step is a day, an occurrence, or sixteen times of a day: 0.1 to 1.2 µs. */
export interface Budget {
  stepsLeft: number
}

/** A century of days, five times over: each rule that somebody works by takes less than one. */
export const MAX_STEPS = 200_000
/** Some 2 ms, and then it is somebody else's turn. */
const PIECE_STEPS = 2_000
const TOO_MUCH =
  'This takes too long to look through. Let it begin later, name fewer times, or send fewer schedules at once.'

interface Wanted {
  /** Occurrences before it do not count. */
  from: number
  now: number
  /** So many of the last that are over are listed. */
  keep?: number
  /** So many that are yet to come are looked for, when so many are over. */
  ahead: (past: number) => number
  budget?: Budget
}

/** Of the occurrences of a schedule, in milliseconds since 1970 and in order: */
interface Occurrences {
  /** how many are over, up to `now` itself, */
  past: number
  /** the last of those, */
  kept: number[]
  /** and the first after them. */
  next: number[]
}

/**
 * Looks through the occurrences of a schedule up to the end of the last year, piece by piece: what is over is counted by
 * days. Throws an InvalidRule where the budget does not suffice, and what `parseRrule` and `findTimeZone` throw.
 */
export function* lookThrough(
  timing: Timing,
  { from, now, keep = 0, ahead, budget = { stepsLeft: Number.POSITIVE_INFINITY } }: Wanted,
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
    const over = instants.filter(instant => instant <= now)
    hold({ day: found.day, count: over.length, instants: () => over })
    for (const instant of instants) if (instant > now) next.push(instant)
    if ((found.day - 1) * DAY_MS > now && next.length >= ahead(past)) break
  }
  spend()
  const kept = keep === 0 ? [] : days.flatMap(({ instants }) => instants()).slice(-keep)
  return { past, kept, next: next.slice(0, ahead(past)) }
}

/** The days from an instant on, those without an occurrence too, so that whoever looks may rest at any. */
function* listOccurrenceDays(timing: Timing, from: number, effort: Effort): Generator<OccurrenceDay> {
  const zone = findTimeZone(timing.timezone)
  const start = timing.startTime.getTime()
  const startLocal = zone.toLocal(start)
  const isSimple = !('rrule' in timing.repeat)
  const rule = 'rrule' in timing.repeat ? parseRrule(timing.repeat.rrule) : null
  const [first, last] = [Math.max(from, start), endOf(timing, rule, zone)]
  // Local days begin up to 14 hours off UTC's, and a time that is skipped moves on by up to a day.
  const fromDay = Math.floor(first / DAY_MS) - 2
  const exceptions = readExceptions(timing.exceptions, zone)
  // The start is meant where it is the second of two.
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
      // A day that a time zone skips as a whole moves on to the next, which has its own.
      if (instant < first || instant > last || instant <= previous) return false
      previous = instant
      return !exceptions.instants.has(instant)
    })
    yield { day, count: instants.length, instants: () => instants }
  }
}

const toInstants = ({ day, times }: DayTimes, toInstant: (local: number) => number) =>
  times.map(time => toInstant(day * DAY_MS + time))

/** The last instant that an occurrence may have. */
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
