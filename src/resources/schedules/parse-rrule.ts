import { WEEKDAYS } from '../../calendar/days.ts'

/** An RRULE of RFC 5545, section 3.3.10. */
export interface RecurrenceRule {
  frequency: Frequency
  interval: number
  count: number | null
  /** As written: a date, or a time, which is UTC with `isUtc`. */
  until: { local: number; isUtc: boolean; isDate: boolean } | null
  byMonth: readonly number[] | null
  byMonthDay: readonly number[] | null
  byYearDay: readonly number[] | null
  byWeekNo: readonly number[] | null
  /** `nth` is 0 for every such weekday. */
  byDay: readonly { nth: number; weekday: number }[] | null
  byHour: readonly number[] | null
  byMinute: readonly number[] | null
  bySecond: readonly number[] | null
  bySetPos: readonly number[] | null
  weekStart: number
}

const FREQUENCIES = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY'] as const
type Frequency = (typeof FREQUENCIES)[number]

/** Enough for every number of every list of the RFC, with signs. */
export const MAX_RRULE_CHARACTERS = 4_000
/** More digits than any bound needs. */
const WHOLE_NUMBER = /^[1-9]\d{0,8}$/

/** The error of a rule, in a sentence. */
export class InvalidRule extends Error {}

/** Parses a rule. Throws an InvalidRule if it is malformed or useless for planning work. */
export function parseRrule(text: string): RecurrenceRule {
  const parts = readParts(text)
  const frequency = parts.get('FREQ') as Frequency
  if (parts.get('FREQ') === 'SECONDLY') throw new InvalidRule('A schedule repeats once a minute at the most.')
  if (!FREQUENCIES.includes(frequency))
    throw new InvalidRule(`FREQ has to be one of ${FREQUENCIES.join(', ')}.`)
  const number = (name: string) => {
    const value = parts.get(name)
    if (value === undefined) return null
    if (!WHOLE_NUMBER.test(value))
      throw new InvalidRule(`${name} has to be a whole number from 1 to 999999999.`)
    return Number(value)
  }
  const list = (name: string, min: number, max: number, signed = false) =>
    parts
      .get(name)
      ?.split(',')
      .map(item => readNumber(name, item, min, max, signed)) ?? null
  const rule: RecurrenceRule = {
    frequency,
    interval: number('INTERVAL') ?? 1,
    count: number('COUNT'),
    until: readUntil(parts.get('UNTIL')),
    byMonth: list('BYMONTH', 1, 12),
    byMonthDay: list('BYMONTHDAY', 1, 31, true),
    byYearDay: list('BYYEARDAY', 1, 366, true),
    byWeekNo: list('BYWEEKNO', 1, 53, true),
    byDay: parts.get('BYDAY')?.split(',').map(readDay) ?? null,
    byHour: list('BYHOUR', 0, 23),
    byMinute: list('BYMINUTE', 0, 59),
    bySecond: list('BYSECOND', 0, 59),
    bySetPos: list('BYSETPOS', 1, 366, true),
    weekStart: readWeekday('WKST', parts.get('WKST') ?? 'MO'),
  }
  checkTogether(rule)
  return rule
}

const KNOWN = new Set(
  'FREQ INTERVAL COUNT UNTIL BYMONTH BYMONTHDAY BYYEARDAY BYWEEKNO BYDAY BYHOUR BYMINUTE BYSECOND BYSETPOS WKST'.split(
    ' ',
  ),
)

function readParts(text: string): Map<string, string> {
  if (/[\r\n]/.test(text.trim()))
    throw new InvalidRule(
      'This has to be one RRULE: startTime, timezone and exceptions have fields of their own.',
    )
  const parts = new Map<string, string>()
  for (const part of text
    .trim()
    .toUpperCase()
    .replace(/^RRULE:/, '')
    .replace(/;$/, '')
    .split(';')) {
    const [name = '', value = '', ...more] = part.split('=')
    if (!KNOWN.has(name))
      throw new InvalidRule(`An RRULE has no part ${name.slice(0, 20) || 'without a name'} here.`)
    if (value === '' || more.length > 0) throw new InvalidRule(`${name} has to have one value.`)
    if (parts.has(name)) throw new InvalidRule(`${name} stands there twice.`)
    parts.set(name, value)
  }
  return parts
}

function readNumber(name: string, item: string, min: number, max: number, signed: boolean): number {
  const digits = (signed ? /^[+-]?(\d{1,3})$/ : /^(\d{1,2})$/).exec(item)?.[1]
  const size = Number(digits)
  if (digits === undefined || size < min || size > max) {
    const range = signed ? `from ${min} to ${max} or -${max} to -${min}` : `from ${min} to ${max}`
    throw new InvalidRule(`${name} takes numbers ${range}.`)
  }
  return item.startsWith('-') ? -size : size
}

function readWeekday(name: string, text: string): number {
  const weekday = (WEEKDAYS as readonly string[]).indexOf(text)
  if (weekday === -1) throw new InvalidRule(`${name} takes the weekdays ${WEEKDAYS.join(', ')}.`)
  return weekday
}

function readDay(item: string): { nth: number; weekday: number } {
  const [, nth = '', name = ''] = /^([+-]?\d{0,2})([A-Z]*)$/.exec(item) ?? []
  const weekday = readWeekday('BYDAY', name)
  return { nth: nth === '' ? 0 : readNumber('BYDAY', nth, 1, 53, true), weekday }
}

function readUntil(text: string | undefined): RecurrenceRule['until'] {
  if (text === undefined) return null
  const match = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?$/.exec(text)
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] =
    match?.slice(1, 7).map(Number) ?? []
  const isDate = match?.[4] === undefined
  const local = isDate ? Date.UTC(year, month - 1, day) : Date.UTC(year, month - 1, day, hour, minute, second)
  const date = new Date(local)
  const real =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && (isDate || date.getUTCHours() === hour)
  if (!match || !real || minute > 59 || second > 59)
    throw new InvalidRule('UNTIL has to be a date such as 20271231, or a time such as 20271231T235959Z.')
  return { local, isUtc: match[7] === 'Z', isDate }
}

/** Checks combinations that the RFC excludes, or that would create more tasks than anybody can do. */
function checkTogether(rule: RecurrenceRule): void {
  const { frequency, byDay, bySetPos } = rule
  const refuse = (wrong: unknown, sentence: string) => {
    if (wrong) throw new InvalidRule(sentence)
  }
  refuse(rule.count !== null && rule.until, 'COUNT and UNTIL exclude each other.')
  refuse(
    (rule.bySecond?.length ?? 1) > 1,
    'BYSECOND takes one second: a schedule repeats once a minute at the most.',
  )
  const within = (...frequencies: Frequency[]) => frequencies.includes(frequency)
  refuse(rule.byWeekNo && !within('YEARLY'), 'BYWEEKNO goes with FREQ=YEARLY alone.')
  refuse(
    rule.byYearDay && within('MONTHLY', 'WEEKLY', 'DAILY'),
    `BYYEARDAY does not go with FREQ=${frequency}.`,
  )
  refuse(rule.byMonthDay && within('WEEKLY'), 'BYMONTHDAY does not go with FREQ=WEEKLY.')
  const counted = byDay?.some(({ nth }) => nth !== 0)
  refuse(
    counted && !within('MONTHLY', 'YEARLY'),
    'A number in BYDAY goes with FREQ=MONTHLY and FREQ=YEARLY alone.',
  )
  refuse(counted && rule.byWeekNo, 'A number in BYDAY does not go with BYWEEKNO.')
  const others = Object.entries(rule).some(
    ([name, value]) => /^by/.test(name) && name !== 'bySetPos' && value,
  )
  refuse(bySetPos && !others, 'BYSETPOS needs another part that begins with BY.')
  refuse(bySetPos && within('HOURLY', 'MINUTELY'), `BYSETPOS does not go with FREQ=${frequency} here.`)
}
