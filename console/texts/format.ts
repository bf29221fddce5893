import { serverNow } from '../clock.ts'
import type { Texts } from './en/en.ts'

const MINUTE_S = 60
const HOUR_S = 3_600
const DAY_S = 86_400

/** The system of lengths and speeds. */
export type Units = 'metric' | 'imperial'

/** The short and the long unit of length, and the unit of speed: long units an hour. */
const MEASURES = {
  metric: { shortM: 1, longM: 1_000, short: 'metres', long: 'kilometres', speed: 'kmh' },
  imperial: { shortM: 0.3048, longM: 1_609.344, short: 'feet', long: 'miles', speed: 'mph' },
} as const
/** From this number of short units on, a length is written in long ones. */
const LONG_FROM = 1_000

/** Slower speeds are written as 0, in miles and in kilometres an hour. */
export const ZERO_MPS = (0.5 * MEASURES.imperial.longM) / HOUR_S

/** Writes numbers and times as the organization does. Without `timeZone` it uses the browser's. */
export function createFormat(locale: string, timeZone: string | undefined, texts: Texts, system: Units) {
  const { units } = texts
  const measures = MEASURES[system]
  const perHour = (mps: number) => (mps * HOUR_S) / measures.longM
  const integer = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 })
  const tenths = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
  const percents = new Intl.NumberFormat(locale, { style: 'percent' })
  const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone })
  const seconds = new Intl.DateTimeFormat(locale, { timeStyle: 'medium', timeZone })
  const dated = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone })
  const datedSeconds = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium', timeZone })
  const day = new Intl.DateTimeFormat('en-CA', { dateStyle: 'short', timeZone })
  const named = new Intl.DateTimeFormat(locale, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  })
  const zone = new Intl.DateTimeFormat(locale, { hour: 'numeric', timeZoneName: 'short', timeZone })
  const isTwice = createTwiceTest(datedSeconds)
  /** When clocks are put back, a time comes twice. The name of the time zone tells the two apart. */
  const zoneOf = (at: number) =>
    isTwice(at) ? ` ${zone.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value}` : ''
  const write = (format: Intl.DateTimeFormat) => (at: number | string) => {
    const ms = new Date(at).getTime()
    return `${format.format(ms)}${zoneOf(ms)}`
  }
  const isToday = (at: number) => day.format(at) === day.format(serverNow())
  const relative = new Intl.RelativeTimeFormat(locale, { style: 'short', numeric: 'always' })
  const duration = (s: number) => {
    const minutes = Math.round(s / MINUTE_S)
    const parts = [Math.floor(minutes / 60), minutes % 60] as const
    const hours = parts[0] > 0 ? units.hours(integer.format(parts[0])) : ''
    return parts[1] > 0 || hours === '' ? `${hours} ${units.minutes(integer.format(parts[1]))}`.trim() : hours
  }
  return {
    count: (value: number) => integer.format(value),
    units: system,
    speed: (mps: number) => units[measures.speed](integer.format(perHour(mps))),
    /** A speed in the unit of `speedUnit`. */
    perHour,
    speedUnit: units[measures.speed]('').trim(),
    distance: (metres: number) =>
      Math.round(metres / measures.shortM) < LONG_FROM
        ? units[measures.short](integer.format(metres / measures.shortM))
        : units[measures.long](tenths.format(metres / measures.longM)),
    percent: (value: number) => percents.format(value / 100),
    compass: (degrees: number) => units.compass[Math.round(degrees / 45) % 8] as string,
    duration,
    clock: write(clock),
    /** Times in a row. The name of the time zone appears where it changes. */
    clocks: (times: readonly number[]) =>
      times.map((at, index) => {
        const named = zoneOf(at)
        return `${clock.format(at)}${index > 0 && named === zoneOf(times[index - 1] as number) ? '' : named}`
      }),
    seconds: write(seconds),
    dateTime: write(dated),
    /** A time of today; for another day with its date. */
    since: (at: number) => write(isToday(at) ? clock : dated)(at),
    /** The same with seconds. */
    sinceSeconds: (at: number) => write(isToday(at) ? seconds : datedSeconds)(at),
    /** "2 min. ago": a rough age in whole units. */
    ago: (at: number, now = serverNow()) => {
      const s = (now - at) / 1_000
      if (s <= -MINUTE_S) return units.ahead(duration(-s))
      if (s < MINUTE_S) return units.now
      if (s < HOUR_S) return relative.format(-Math.floor(s / MINUTE_S), 'minute')
      if (s < DAY_S) return relative.format(-Math.floor(s / HOUR_S), 'hour')
      return relative.format(-Math.floor(s / DAY_S), 'day')
    },
    /** The date in the organization's time zone: 2026-11-21. */
    dateOf: (at: number) => day.format(at),
    /** "Sat, 21 Nov 2026". */
    longDate: (date: string) => named.format(Date.parse(`${date}T12:00:00Z`)),
    /** The instant at which a date begins in the organization's time zone. */
    startOf: (date: string) => startOf(date, day),
    /** The instant at which the current day began there. */
    startOfDay: (now = serverNow()) => startOf(day.format(now), day),
  }
}

export type Format = ReturnType<typeof createFormat>

/** How far clocks are put back: by an hour, on Lord Howe by half an hour, at Troll by two hours. */
const PUT_BACK_MS = [HOUR_S * 1_000, (HOUR_S / 2) * 1_000, 2 * HOUR_S * 1_000]
/** Clocks are put back at quarters of an hour. A chart or a player asks for the same ones again and again. */
const QUARTER_MS = (HOUR_S / 4) * 1_000
const MAX_KNOWN = 1_000

/** Whether a clock shows the same date and time a second time, before or after this instant. */
function createTwiceTest(dated: Intl.DateTimeFormat): (at: number) => boolean {
  const known = new Map<number, boolean>()
  return at => {
    if (Number.isNaN(at)) return false
    const quarter = Math.floor(at / QUARTER_MS)
    const before = known.get(quarter)
    if (before !== undefined) return before
    const shown = dated.format(quarter * QUARTER_MS)
    const isTwice = PUT_BACK_MS.some(ms =>
      [ms, -ms].some(away => dated.format(quarter * QUARTER_MS + away) === shown),
    )
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(quarter, isTwice)
    return isTwice
  }
}

/** No time zone is further than this from UTC. */
const MAX_OFFSET_MS = 15 * HOUR_S * 1_000

/** The first instant of a date there. It is searched for, as some clocks are put forward at midnight. */
function startOf(date: string, day: Intl.DateTimeFormat): number {
  const middle = Date.parse(`${date}T00:00:00Z`)
  let before = middle - MAX_OFFSET_MS
  let from = middle + MAX_OFFSET_MS
  while (from - before > 1) {
    const half = Math.floor((before + from) / 2)
    if (day.format(half) < date) before = half
    else from = half
  }
  return from
}
