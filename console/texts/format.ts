import type { Texts } from './en.ts'

const MINUTE_S = 60
const HOUR_S = 3_600
const DAY_S = 86_400
const KMH_PER_MPS = 3.6

/** How this organization writes numbers and times. `timeZone` undefined is the browser's. */
export function createFormat(locale: string, timeZone: string | undefined, texts: Texts) {
  const { units } = texts
  const integer = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 })
  const tenths = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
  const percents = new Intl.NumberFormat(locale, { style: 'percent' })
  const clock = new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone })
  const seconds = new Intl.DateTimeFormat(locale, { timeStyle: 'medium', timeZone })
  const dated = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone })
  const day = new Intl.DateTimeFormat('en-CA', { dateStyle: 'short', timeZone })
  const relative = new Intl.RelativeTimeFormat(locale, { style: 'short', numeric: 'always' })
  return {
    count: (value: number) => integer.format(value),
    speed: (mps: number) => units.kmh(integer.format(mps * KMH_PER_MPS)),
    distance: (metres: number) =>
      metres < 1_000 ? units.metres(integer.format(metres)) : units.kilometres(tenths.format(metres / 1_000)),
    percent: (value: number) => percents.format(value / 100),
    compass: (degrees: number) => units.compass[Math.round(degrees / 45) % 8] as string,
    duration: (s: number) => {
      const minutes = Math.round(s / MINUTE_S)
      const parts = [Math.floor(minutes / 60), minutes % 60] as const
      const hours = parts[0] > 0 ? units.hours(integer.format(parts[0])) : ''
      return parts[1] > 0 || hours === ''
        ? `${hours} ${units.minutes(integer.format(parts[1]))}`.trim()
        : hours
    },
    clock: (at: number | string) => clock.format(new Date(at)),
    seconds: (at: number | string) => seconds.format(new Date(at)),
    dateTime: (at: number | string) => dated.format(new Date(at)),
    /** "2 min. ago": whole and rough, as one says it. */
    ago: (at: number, now = Date.now()) => {
      const s = Math.max(0, (now - at) / 1_000)
      if (s < MINUTE_S) return units.now
      if (s < HOUR_S) return relative.format(-Math.floor(s / MINUTE_S), 'minute')
      if (s < DAY_S) return relative.format(-Math.floor(s / HOUR_S), 'hour')
      return relative.format(-Math.floor(s / DAY_S), 'day')
    },
    /** When the day began there. */
    startOfDay: (now = Date.now()) => startOfDay(day.format(now), now, timeZone),
  }
}

export type Format = ReturnType<typeof createFormat>

/** The instant that a wall clock shows as 0:00 of `date` (2026-11-21). */
function startOfDay(date: string, now: number, timeZone: string | undefined): number {
  const parts = new Intl.DateTimeFormat('en-CA', {
    dateStyle: 'short',
    timeStyle: 'medium',
    hourCycle: 'h23',
    timeZone,
  }).format(now)
  const shown = Date.parse(`${parts.replace(', ', 'T')}Z`)
  const offset = Math.round((shown - now) / 60_000) * 60_000
  return Date.parse(`${date}T00:00:00Z`) - offset
}
