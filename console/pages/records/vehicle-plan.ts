import { Failure } from '../../api/failure.ts'
import { readNumber } from '../../parts/read-number.ts'
import type { Format } from '../../texts/format.ts'

/** The part of a vehicle that a route planner needs, as a form shows it: in the units of the reader, as texts. */
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
type Weekday = (typeof WEEKDAYS)[number]

interface Hours {
  weekday: Weekday
  from: string
  to: string
}

interface Plan {
  capacity: { weight: number | null; volume: number | null; units: number | null }
  speed: number | null
  workingHours: readonly Hours[]
  constraints: {
    maxDistance: number | null
    maxDuration: number | null
    maxStops: number | null
    skills: readonly string[]
  }
}

const HOUR_S = 3_600
const LONG_M = { metric: 1_000, imperial: 1_609.344 }

const write = (value: number | null | undefined, unit = 1): string =>
  value === null || value === undefined ? '' : String(Number((value / unit).toFixed(3)))

export function planToDraft(plan: Plan | null, format: Format) {
  const { capacity, constraints } = plan ?? {}
  const hoursOf = (day: Weekday) =>
    (plan?.workingHours ?? [])
      .filter(({ weekday }) => weekday === day)
      .map(({ from, to }) => `${from}–${to}`)
      .join(', ')
  return {
    capacity: {
      weight: write(capacity?.weight),
      volume: write(capacity?.volume),
      units: write(capacity?.units),
    },
    speed: plan?.speed ? write(format.perHour(plan.speed)) : '',
    workingHours: Object.fromEntries(WEEKDAYS.map(day => [day, hoursOf(day)])) as Record<Weekday, string>,
    constraints: {
      maxDistance: write(constraints?.maxDistance, LONG_M[format.units]),
      maxDuration: write(constraints?.maxDuration, HOUR_S),
      maxStops: write(constraints?.maxStops),
      skills: constraints?.skills.join(', ') ?? '',
    },
  }
}

export type PlanDraft = ReturnType<typeof planToDraft>

/** Throws with the day whose hours cannot be read. */
export function draftToPlan(draft: PlanDraft, format: Format, badHours: string): Plan {
  const { capacity, constraints } = draft
  return {
    capacity: {
      weight: readNumber(capacity.weight),
      volume: readNumber(capacity.volume),
      units: readNumber(capacity.units),
    },
    speed: readNumber(draft.speed, 1 / format.perHour(1)),
    workingHours: WEEKDAYS.flatMap(weekday => readHours(weekday, draft.workingHours[weekday], badHours)),
    constraints: {
      maxDistance: readNumber(constraints.maxDistance, LONG_M[format.units]),
      maxDuration: readNumber(constraints.maxDuration, HOUR_S),
      maxStops: readNumber(constraints.maxStops),
      skills: readWords(constraints.skills),
    },
  }
}

export const readWords = (text: string): string[] =>
  text
    .split(',')
    .map(word => word.trim())
    .filter(word => word !== '')

/** "8-12, 13:30-17". */
const HOURS = /^(\d{1,2})(?:[:.](\d{2}))?\s*[-–]\s*(\d{1,2})(?:[:.](\d{2}))?$/

function readHours(weekday: Weekday, text: string, badHours: string): Hours[] {
  return readWords(text.replaceAll(';', ',')).map(span => {
    const [, fromHour, fromMinute = '00', toHour, toMinute = '00'] = HOURS.exec(span) ?? []
    if (!fromHour || !toHour)
      throw new Failure(400, { message: badHours }, [{ path: `workingHours.${weekday}`, message: badHours }])
    return {
      weekday,
      from: `${fromHour.padStart(2, '0')}:${fromMinute}`,
      to: `${toHour.padStart(2, '0')}:${toMinute}`,
    }
  })
}
