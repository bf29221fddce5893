import { DAY_MS } from '../../calendar/days.ts'
import { findTimeZone } from '../../calendar/time-zones.ts'
import { plainDigits } from './digits.ts'
import { fold, withoutMarks } from './fold.ts'

/** How a language writes dates, and its time zone. */
export interface DateStyle {
  /** Whether 3 is the month in 3/4/2026; null if dates are written both ways. */
  monthFirst: boolean | null
  /** The same for 3.4.2026. With points the month never comes first, unless the rest of a column shows it. */
  pointsMonthFirst: boolean | null
  /** The months by their folded names and abbreviations, English ones included. */
  months: ReadonlyMap<string, number>
  /** For each other calendar used by speakers of the language, the range of years that it counts today. */
  otherYears: readonly (readonly [number, number])[]
  /** Whether a year of two digits comes last in a date and is Gregorian. */
  hasShortYears: boolean
  timeZone: string
}

/** A local time without a zone: `2026-11-21T09:00:00.000`. */
export interface LocalTime {
  local: string
  /** The number that the spreadsheet stores, in its workbook's date system: a duration is shown like a time. */
  serial?: number
}

export function dateStyle(language: string, timeZone: string): DateStyle {
  const calendar = 'gregory'
  const parts = new Intl.DateTimeFormat(language, { dateStyle: 'short', calendar }).formatToParts(0)
  const order = parts.map(({ type }) => type).filter(type => /^(day|month|year)$/.test(type))
  const own = new Intl.DateTimeFormat(language).resolvedOptions().calendar
  const months = new Map<string, number>()
  for (const locale of ['en', language]) {
    for (const month of ['long', 'short'] as const) {
      for (const day of ['numeric', undefined] as const) {
        const format = new Intl.DateTimeFormat(locale, { month, day, calendar, timeZone: 'UTC' })
        for (let at = 0; at < 12; at++) {
          const part = format.formatToParts(Date.UTC(2026, at, 1)).find(({ type }) => type === 'month')
          const name = fold(part?.value ?? '')
          if (/\p{L}/u.test(name)) months.set(name, at + 1)
        }
      }
    }
  }
  const others = calendarsOf(language)
  return {
    monthFirst: order.indexOf('month') < order.indexOf('day'),
    pointsMonthFirst: false,
    months,
    otherYears: OTHER_YEARS.filter(([name]) => others.some(other => other.startsWith(name))).map(
      ([, first, last]) => [first, last],
    ),
    hasShortYears: own === calendar && order[0] !== 'year',
    timeZone,
  }
}

/** The years that other calendars count for 1900 to 2100, as far as nobody means Gregorian years with them. */
const OTHER_YEARS: readonly (readonly [string, number, number])[] = [
  ['buddhist', 2443, 2643],
  ['persian', 1278, 1479],
  ['islamic', 1317, 1524],
]

/** Whether a day long ago, `YYYY-MM-DD`, can mean a present day in another calendar of some language. */
export const hasOtherMeaning = (day: string): boolean =>
  /^1\d{3}-\d\d-\d\d$/.test(day) &&
  !Number.isNaN(Date.parse(day)) &&
  OTHER_YEARS.some(([, first, last]) => isWithin(day, first, last))
const isWithin = (day: string, first: number, last: number) =>
  Number(day.slice(0, 4)) >= first && Number(day.slice(0, 4)) <= last

/** The calendars in use where a language is spoken. Before Node.js 22 they were a property, not a method. */
function calendarsOf(language: string): readonly string[] {
  const locale = new Intl.Locale(language) as Intl.Locale & {
    getCalendars?(): string[]
    calendars?: string[]
  }
  return locale.getCalendars?.() ?? locale.calendars ?? []
}

/** The lookbehind makes the search begin only at the first of several separators, not at each of them. */
const TIME =
  /(?:^|(?<![T\s,])[T\s,]+)(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:\sUhr)?\s*([ap]\.?m\.?)?\s*(Z|UTC|[+-]\d\d:?\d\d)?$/i
const INSTANT = /^\s*\d{4}-\d\d-\d\dT[\d:.]+Z\s*$/
const YEAR_FIRST = /^(\d{4})(?:[-/.]|\s)\s*(\d{1,2})(?:[-/.]|\s)\s*(\d{1,2})\.?$/
/** The form of China, Japan and Korea, with or without the weekday. */
const YEAR_NAMED = /^(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일](?:\s*\(?\p{L}+\)?)?$/u
const COMPACT = /^(\d{4})(\d\d)(\d\d)$/
const NUMERIC = /^(\d{1,2})([-/.]|\s)\s*(\d{1,2})[-/.\s]\s*(\d{2}|\d{4})\.?(?:\s*г\.?)?$/
/** The form of Vietnam, where months have numbers. */
const DAY_NUMBERED =
  /^(?:\p{L}+\s\p{L}+,\s+)?(?:ngày\s+)?(\d{1,2})\s+(?:tháng|thg)\s+(\d{1,2})(?:,|\s+năm)?\s+(\d{4})$/iu
/** Weekdays of one or two words, and words such as the `de` of Spanish, do not affect the day. */
const DAY_NAMED =
  /^(?:[\p{L}\p{M}]+(?:-\p{L}+)?(?:\.?,?|\s[\p{L}\p{M}]+,)\s+)?(\d{1,2})(?:st|nd|rd|th|º|er)?[.\s-]+(?:de\s+)?([\p{L}\p{M}]+(?:\.[\p{L}\p{M}]+)*)[.,॰׳'’]?[\s-]+(?:de\s+)?(\d{2}|\d{4})\.?(?:\s*[гр]\.?)?$/iu
const NAMED_DAY = /^(?:[\p{L}\p{M}]+,\s+)?([\p{L}\p{M}]+)\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})$/iu
/** Also the Lithuanian form with words for year and day, and with the weekday at the end. */
const YEAR_NAMED_DAY =
  /^(\d{4})[.\s-]+(?:m\.\s+)?([\p{L}\p{M}]+)[.\s-]+(\d{1,2})(?:\.?|\s+d\.(?:,\s+[\p{L}\p{M}]+)?)$/u

const UNCLEAR = {
  message:
    'Other rows of this column have dates both with the day and with the month first, so this could be either: write it as 2026-11-21.',
}

const OTHER_CALENDAR = {
  message: 'This can be a day of another calendar than the Gregorian: write it as 2026-11-21.',
}

const SHORT_YEAR = {
  message: 'Nobody can know which year this means: write it in four digits, as in 2026-11-21.',
}

/** Splits a text into the day and the time. */
function separate(text: string): { day: string; time: RegExpExecArray | null } {
  const given = plainDigits(withoutMarks(text)).trim()
  const time = TIME.exec(given)
  return { day: time ? given.slice(0, time.index).trim() : given, time }
}

/**
 * Whether a numeric date has the day or the month first, or whether that is unclear; null if it does not show the order.
 */
export function orderOf(text: string): { isOfPoints: boolean; first: 'day' | 'month' | 'either' } | null {
  const numeric = NUMERIC.exec(separate(text).day)
  if (!numeric) return null
  const [first, second] = [Number(numeric[1]), Number(numeric[3])]
  if (first === second || (first > 12 && second > 12)) return null
  return {
    isOfPoints: numeric[2] === '.',
    first: first > 12 ? 'day' : second > 12 ? 'month' : 'either',
  }
}

/**
 * Reads a date or time as people write it; with a zone it has an instant too. Null if it is neither, or a message why it
 * is unclear.
 */
export function readTime(
  text: string,
  style: DateStyle,
): { local: string; instant?: number } | { message: string } | null {
  const { day, time } = separate(text)
  // A time written by a machine is always Gregorian.
  const date = readDay(day, INSTANT.test(text) ? { ...style, otherYears: [] } : style)
  if (date === null || typeof date === 'object') return date
  const [, hours = '0', minutes = '0', seconds = '0', fraction = '', half, zone] = time ?? []
  let hour = Number(hours)
  if (half) {
    if (hour < 1 || hour > 12) return null
    hour = (hour % 12) + (/^p/i.test(half) ? 12 : 0)
  }
  if (hour > 23 || Number(minutes) > 59 || Number(seconds) > 59) return null
  const ms = fraction.slice(0, 3).padEnd(3, '0')
  const local = `${date}T${pad(hour)}:${minutes.padStart(2, '0')}:${seconds.padStart(2, '0')}.${ms}`
  if (!zone) return { local }
  const offset = /^[+-]/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(-2)}` : 'Z'
  const instant = Date.parse(`${local}${offset}`)
  return Number.isNaN(instant) ? null : { local, instant }
}

const pad = (value: number, length = 2) => String(value).padStart(length, '0')

/** `YYYY-MM-DD`, null if it is no day, or a message why it is unclear. */
function readDay(text: string, style: DateStyle): string | { message: string } | null {
  const day = readGregorian(text, style)
  if (typeof day !== 'string') return day
  return style.otherYears.some(([first, last]) => isWithin(day, first, last)) ? OTHER_CALENDAR : day
}

function readGregorian(text: string, style: DateStyle): string | { message: string } | null {
  const { monthFirst, pointsMonthFirst, months } = style
  const whole = YEAR_FIRST.exec(text) ?? COMPACT.exec(text) ?? YEAR_NAMED.exec(text)
  if (whole) return toDay(Number(whole[1]), Number(whole[2]), Number(whole[3]))
  const numeric = NUMERIC.exec(text)
  if (numeric) {
    const [first, second] = [Number(numeric[1]), Number(numeric[3])]
    const year = readYear(numeric[4] as string)
    if (numeric[4]?.length === 2 && !style.hasShortYears) return SHORT_YEAR
    if (first > 12 || first === second) return toDay(year, second, first)
    if (second > 12) return toDay(year, first, second)
    const isMonthFirst = numeric[2] === '.' ? pointsMonthFirst : monthFirst
    if (isMonthFirst === null) return UNCLEAR
    return isMonthFirst ? toDay(year, first, second) : toDay(year, second, first)
  }
  const numbered = DAY_NUMBERED.exec(text.normalize())
  if (numbered) return toDay(Number(numbered[3]), Number(numbered[2]), Number(numbered[1]))
  const named = DAY_NAMED.exec(text)
  if (named) {
    if (named[3]?.length === 2 && !style.hasShortYears) return SHORT_YEAR
    return toDay(readYear(named[3] as string), monthOf(named[2] as string, months), Number(named[1]))
  }
  const yearNamed = YEAR_NAMED_DAY.exec(text)
  if (yearNamed)
    return toDay(Number(yearNamed[1]), months.get(fold(yearNamed[2] as string)), Number(yearNamed[3]))
  const turned = NAMED_DAY.exec(text)
  if (turned) return toDay(Number(turned[3]), months.get(fold(turned[1] as string)), Number(turned[2]))
  return null
}

/** In a Hebrew date the name has the letter for "in" before it. */
const monthOf = (name: string, months: DateStyle['months']) =>
  months.get(fold(name)) ?? months.get(fold(name).replace(/^ב/, ''))

/** Two digits mean the years 1930 to 2029, as in spreadsheets. */
const readYear = (digits: string) =>
  digits.length === 4 ? Number(digits) : Number(digits) + (Number(digits) < 30 ? 2000 : 1900)

function toDay(year: number, month: number | undefined, day: number): string | null {
  if (!month || month > 12 || year < 1 || day < 1) return null
  const last = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
  return day <= last ? `${pad(year, 4)}-${pad(month)}-${pad(day)}` : null
}

/** Days from 1970 to the first day of the two date systems: 1900, which includes a 29 February 1900, and 1904. */
const EPOCH_1900 = -25_569
const EPOCH_1904 = -24_107
/** 9999-12-31. */
export const LAST_SERIAL = 2_958_466

/** The time that a spreadsheet stores as a number of days; null if it is no day, such as 0 and 60 in the system of 1900. */
export function readSerial(serial: number, date1904: boolean): LocalTime | null {
  if (!(serial >= (date1904 ? 0 : 1) && serial < LAST_SERIAL)) return null
  if (!date1904 && Math.floor(serial) === 60) return null
  // Before 1 March 1900 the 1900 system is one day behind.
  const days = date1904 ? serial + EPOCH_1904 : serial + EPOCH_1900 + (serial < 60 ? 1 : 0)
  const ms = Math.round(days * DAY_MS)
  return { local: new Date(ms).toISOString().slice(0, -1) }
}

/** The number with which a spreadsheet stores a time; null if it cannot store it. */
export function serialOf(local: string, date1904: boolean): number | null {
  const days = Date.parse(`${local}Z`) / DAY_MS
  if (date1904) return days >= EPOCH_1904 ? days - EPOCH_1904 : null
  const serial = days - EPOCH_1900
  if (serial >= 61) return serial
  return serial >= 2 ? serial - 1 : null
}

/** Whether a number without a date format can mean a day: 2026 and 100 cannot. */
export const isPlausibleDay = ({ local }: LocalTime): boolean => local >= '1950' && local < '2101'

/** A time of day or a duration, which a spreadsheet stores as a number of days: `09:00`, `30:00`, `00:01:30`. */
export function writeClock(days: number): string {
  const ms = Math.round(days * DAY_MS)
  const clock = `${pad(Math.floor(ms / 3_600_000))}:${pad(Math.floor(ms / 60_000) % 60)}`
  const rest = ms % 60_000
  if (rest === 0) return clock
  const fraction = rest % 1000 === 0 ? '' : `.${pad(rest % 1000, 3)}`
  return `${clock}:${pad(Math.floor(rest / 1000))}${fraction}`
}

/** The instant of a local time. A time that the clocks skip moves on by the gap; of two instants the first counts. */
export const toInstant = (local: string, timeZone: string): number =>
  findTimeZone(timeZone).toInstant(Date.parse(`${local}Z`))
