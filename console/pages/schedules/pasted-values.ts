import { CalendarDateTime, toZoned } from '@internationalized/date'
import type { components } from '../../api/interface.d.ts'
import type { ColumnName, PastedRow } from './pasted-table.ts'
import { FREQUENCIES, type Frequency, WEEKDAYS, type Weekday } from './repeats.ts'

type NewSchedule = components['schemas']['NewSchedule']

/** Why a cell cannot be taken as it is; the page has a sentence for each. */
export type CellProblem =
  | 'required'
  | 'long'
  | 'repeats'
  | 'interval'
  | 'weekdays'
  | 'monthDays'
  | 'time'
  | 'before'
  | 'zone'
  | 'minutes'
  | 'unknown'
  | 'several'

interface Named {
  _id: string
  name: string
  /** Another word for it: an e-mail address, a number plate. */
  also?: string | null | undefined
}

/** The records that the names in a table may mean. */
export interface KnownNames {
  assignee: readonly Named[]
  vehicle: readonly Named[]
  team: readonly Named[]
  hub: readonly Named[]
}

export interface ReadRow {
  problems: Partial<Record<ColumnName, CellProblem>>
  /** The schedule, where no cell has a problem. */
  body: NewSchedule | null
  /** Whether tasks of the past are created too. */
  isPast: boolean
}

const MAX_NAME = 100
const MAX_MINUTES = 366 * 24 * 60
const MINUTE_S = 60
const USUAL_MINUTES = 60

const FREQUENCY_WORDS: Record<Frequency, RegExp> = {
  daily: /^(daily|days?|every day|täglich|tage?|jeden tag)$/i,
  weekly: /^(weekly|weeks?|every week|wöchentlich|wochen?|jede woche)$/i,
  monthly: /^(monthly|months?|every month|monatlich|monate?|jeden monat)$/i,
  yearly: /^(yearly|annually|years?|every year|jährlich|jahre?|jedes jahr)$/i,
}
const WEEKDAY_WORDS: Record<Weekday, RegExp> = {
  mon: /^(mon?|monday|montag)$/i,
  tue: /^(tue?s?|tuesday|di|dienstag)$/i,
  wed: /^(we|wed|wednesday|mi|mittwoch)$/i,
  thu: /^(thu?r?s?|thursday|do|donnerstag)$/i,
  fri: /^(fri?|friday|freitag)$/i,
  sat: /^(sat?|saturday|samstag|sonnabend)$/i,
  sun: /^(sun?|sunday|so|sonntag)$/i,
}
const LAST = /^(last|last day|letzter?|letzter tag|-1)$/i

class Trouble extends Error {
  readonly column: ColumnName
  readonly problem: CellProblem
  constructor(column: ColumnName, problem: CellProblem) {
    super(problem)
    this.column = column
    this.problem = problem
  }
}

/** Reads a row: each cell by itself, so that all its problems are shown at once. */
export function readRow(
  { cells }: PastedRow,
  { names, timeZone, now }: { names: KnownNames; timeZone: string; now: number },
): ReadRow {
  const problems: ReadRow['problems'] = {}
  const cell = (column: ColumnName) => cells[column]?.trim() ?? ''
  const take = <T>(read: () => T): T | undefined => {
    try {
      return read()
    } catch (trouble) {
      if (!(trouble instanceof Trouble)) throw trouble
      problems[trouble.column] ??= trouble.problem
      return undefined
    }
  }
  const zone = take(() => readZone(cell('timezone'), timeZone))
  const at = zone ?? timeZone
  const startTime = take(() => readTime('start', cell('start'), at, 'start'))
  const endTime = take(() => (cell('until') === '' ? null : readTime('until', cell('until'), at, 'end')))
  if (startTime && endTime && endTime < startTime) problems.until = 'before'
  const body = {
    name: take(() => readName(cell('name'))) ?? '',
    repeat: take(() => readRepeat(cell('repeats'), cell('interval'), cell('days'))) ?? {},
    startTime: startTime ?? '',
    endTime: endTime ?? null,
    timezone: at,
    duration: take(() => readMinutes(cell('minutes'))) ?? null,
    assigneeId: take(() => findNamed('assignee', cell('assignee'), names.assignee)) ?? null,
    vehicleId: take(() => findNamed('vehicle', cell('vehicle'), names.vehicle)) ?? null,
    teamId: take(() => findNamed('team', cell('team'), names.team)) ?? null,
    hubId: take(() => findNamed('hub', cell('hub'), names.hub)) ?? null,
  }
  const isWhole = Object.keys(problems).length === 0
  const isPast = startTime !== undefined && Date.parse(startTime) < now
  return { problems, body: isWhole ? body : null, isPast }
}

function readName(text: string): string {
  if (text === '') throw new Trouble('name', 'required')
  if ([...text].length > MAX_NAME) throw new Trouble('name', 'long')
  return text
}

function readRepeat(text: string, interval: string, days: string): NonNullable<NewSchedule['repeat']> {
  if (text === '') throw new Trouble('repeats', 'required')
  if (/FREQ=/i.test(text)) return { rrule: text.replace(/^RRULE:/i, '') }
  const frequency = FREQUENCIES.find(one => FREQUENCY_WORDS[one].test(text))
  if (!frequency) throw new Trouble('repeats', 'repeats')
  const every = interval === '' ? 1 : Number(interval)
  if (!Number.isInteger(every) || every < 1 || every > 999) throw new Trouble('interval', 'interval')
  return { frequency, interval: every, ...readDays(days, frequency) }
}

function readDays(text: string, frequency: Frequency) {
  const words = text.split(/[,;/]|\s(?=\S)/).map(word => word.trim().replace(/\.$/, ''))
  const given = words.filter(word => word !== '')
  if (given.length === 0) return {}
  if (frequency === 'daily' || frequency === 'weekly') {
    const found = given.map(word => WEEKDAYS.find(day => WEEKDAY_WORDS[day].test(word)))
    if (found.includes(undefined)) throw new Trouble('days', 'weekdays')
    return { byWeekday: WEEKDAYS.filter(day => found.includes(day)) }
  }
  const found = given.map(word => (LAST.test(word) ? -1 : Number(word)))
  if (found.some(day => !Number.isInteger(day) || day > 31 || day < -1 || day === 0))
    throw new Trouble('days', 'monthDays')
  return { byMonthDay: [...new Set(found)] }
}

/** `2026-12-01 09:00` or `1.12.2026 9:00`. With slashes, nobody knows which number is the month. */
const ISO = /^(\d{4})-(\d\d?)-(\d\d?)(?:[T ]+(\d\d?):(\d\d)(?::\d\d)?)?$/
const DOTTED = /^(\d\d?)\.(\d\d?)\.(\d{4})(?:,? +(\d\d?):(\d\d)(?::\d\d)?(?: Uhr)?)?$/

function readTime(column: ColumnName, text: string, timeZone: string, edge: 'start' | 'end'): string {
  if (text === '') throw new Trouble(column, 'required')
  const [, a = '', b = '', c = '', hours, minutes] = ISO.exec(text) ?? DOTTED.exec(text) ?? []
  const [year, month, day] = (ISO.test(text) ? [a, b, c] : [c, b, a]).map(Number) as [number, number, number]
  // An end without a time is the end of its day. A start without one is at no time that anybody meant.
  if (hours === undefined && edge === 'start') throw new Trouble(column, 'time')
  const [hour, minute] = hours === undefined ? [23, 59] : [Number(hours), Number(minutes)]
  const local = new CalendarDateTime(year || 1, month || 1, day || 1, hour, minute)
  const isSame = local.year === year && local.month === month && local.day === day
  if (!isSame || hour > 23 || minute > 59) throw new Trouble(column, 'time')
  return toZoned(local, timeZone, 'compatible').toDate().toISOString()
}

function readZone(text: string, usual: string): string {
  if (text === '') return usual
  const name = text.replaceAll(' ', '_')
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone && name
  } catch {
    throw new Trouble('timezone', 'zone')
  }
}

function readMinutes(text: string): number | null {
  if (text === '') return USUAL_MINUTES * MINUTE_S
  const minutes = Number(text.replace(',', '.'))
  if (!(minutes >= 0 && minutes <= MAX_MINUTES)) throw new Trouble('minutes', 'minutes')
  return Math.round(minutes * MINUTE_S)
}

function findNamed(column: ColumnName, text: string, known: readonly Named[]): string | null {
  if (text === '') return null
  const wanted = text.toLowerCase()
  const found = known.filter(
    ({ name, also }) => name.toLowerCase() === wanted || also?.toLowerCase() === wanted,
  )
  if (found.length === 0) throw new Trouble(column, 'unknown')
  if (found.length > 1) throw new Trouble(column, 'several')
  return found[0]?._id ?? null
}

/** The column that shows an error of the server. */
export function columnAt(path: string): ColumnName {
  const [first = '', second = ''] = path.split('.')
  if (first === 'repeat')
    return second === 'interval' ? 'interval' : second.startsWith('by') ? 'days' : 'repeats'
  const columns: Record<string, ColumnName> = {
    name: 'name',
    startTime: 'start',
    endTime: 'until',
    timezone: 'timezone',
    duration: 'minutes',
    assigneeId: 'assignee',
    vehicleId: 'vehicle',
    teamId: 'team',
    hubId: 'hub',
  }
  return columns[first] ?? 'name'
}
