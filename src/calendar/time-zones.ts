import { calendarDay, DAY_MS, dayOf } from './days.ts'

/**
 * Local times of a time zone. A local time is written as the milliseconds since 1970 that a clock on the wall would show
 * if it were UTC.
 */
export interface TimeZone {
  /** How far its clocks are ahead of UTC at an instant, in milliseconds. */
  offsetAt(instant: number): number
  toLocal(instant: number): number
  /**
   * The instant of a local time. If the time occurs twice, the first one. If the clocks skip it, it moves on by the
   * gap, so that 02:30 is 03:30.
   */
  toInstant(local: number): number
  /** The local times that the clocks skip on a day, as [from, to). */
  skippedOn(day: number): readonly (readonly [from: number, to: number])[]
}

/** Earlier, every place kept its solar time. */
const SOLAR_YEAR = 1800
/** No offset lasts less: the shortest of the tz database since 1901 is 7 days, Gaza's in 2054. */
const PROBE_MS = 6 * DAY_MS
/** A zone with its years takes some 20 KiB. */
const MAX_ZONES = 100

const zones = new Map<string, TimeZone>()

/** A time zone by its name in the tz database. Throws a RangeError if there is none. */
export function findTimeZone(name: string): TimeZone {
  const known = zones.get(name)
  const zone = known ?? createTimeZone(name)
  // The most recently used zone comes last.
  zones.delete(name)
  zones.set(name, zone)
  if (zones.size > MAX_ZONES) zones.delete(zones.keys().next().value as string)
  return zone
}

interface Change {
  at: number
  offset: number
}

function createTimeZone(name: string): TimeZone {
  const readOffset = createOffsetReader(name)
  const years = new Map<number, Change[]>()
  const skipped = new Map<number, [number, number][]>()
  const NONE: readonly [number, number][] = []
  /** The days of the year that was looked into last. */
  let [knownFrom, knownTo] = [0, -1]

  /** The offsets of a year, each with the instant from which it holds: 0.1 ms for a new year. */
  function changesOf(year: number): Change[] {
    const known = years.get(year)
    if (known) return known
    const [begin, end] = [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)]
    const changes: Change[] = [{ at: begin, offset: readOffset(begin) }]
    for (let from = begin; from < end; from += PROBE_MS) {
      const to = Math.min(from + PROBE_MS, end)
      const before = (changes.at(-1) as Change).offset
      if (readOffset(to) === before) continue
      let [low, high] = [from, to]
      while (high - low > 1000) {
        const middle = Math.floor((low + high) / 2000) * 1000
        if (readOffset(middle) === before) low = middle
        else high = middle
      }
      const offset = readOffset(high)
      if (high < end) changes.push({ at: high, offset })
      if (offset > before) rememberSkipped(high + before, high + offset)
    }
    years.set(year, changes)
    return changes
  }

  function rememberSkipped(from: number, to: number): void {
    for (let day = Math.floor(from / DAY_MS); day * DAY_MS < to; day++) {
      skipped.set(day, [...(skipped.get(day) ?? []), [from, to]])
    }
  }

  function offsetAt(instant: number): number {
    const changes = changesOf(Math.max(new Date(instant).getUTCFullYear(), SOLAR_YEAR))
    let at = changes.length - 1
    while (at > 0 && (changes[at] as Change).at > instant) at--
    return (changes[at] as Change).offset
  }

  return {
    offsetAt,
    toLocal: instant => instant + offsetAt(instant),
    toInstant(local) {
      const [before, after] = [offsetAt(local - DAY_MS), offsetAt(local + DAY_MS)]
      const first = local - before
      if (before === after || offsetAt(first) === before) return first
      const second = local - after
      return offsetAt(second) === after ? second : first
    },
    skippedOn(day) {
      if (day < knownFrom || day > knownTo) {
        const { year } = calendarDay(day)
        // Local days begin and end up to 14 hours before or after UTC's.
        for (const near of [year - 1, year, year + 1]) changesOf(near)
        knownFrom = dayOf(year, 1, 1)
        knownTo = dayOf(year, 12, 31)
      }
      return skipped.get(day) ?? NONE
    },
  }
}

function createOffsetReader(timeZone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return instant => {
    const [month = 0, day, year = 0, hour, minute, second] = (format.format(instant).match(/\d+/g) ?? []).map(
      Number,
    )
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1000) * 1000
  }
}
