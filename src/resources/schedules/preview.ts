import type { ScheduleDefaults } from '../../../db/queries/schedules.ts'
import { FieldErrors } from '../../http/errors.ts'
import { type Budget, lookThrough, MAX_STEPS, type Timing } from './occurrences.ts'
import { InvalidRule } from './parse-rrule.ts'
import { type Plan, planFrom } from './plan.ts'

/** When a schedule makes its tasks, as a body says it. */
export type GivenTiming = Omit<Timing, 'startTime' | 'timezone'> & {
  startTime?: Date | undefined
  timezone?: string | undefined
}

export const completeTiming = (given: GivenTiming, { now, timezone }: ScheduleDefaults): Timing => ({
  repeat: given.repeat,
  startTime: given.startTime ?? new Date(now),
  endTime: given.endTime,
  timezone: given.timezone ?? timezone,
  exceptions: given.exceptions,
})

/** Where a schedule goes on that has made its tasks of before `from`. 400 where its rule is none, or never occurs. */
export function* planOrRefuse(
  timing: Timing,
  from: number,
  now: number,
  budget: Budget,
): Generator<void, Plan> {
  const plan = yield* told(planFrom(timing, from, now, budget))
  if (plan.nextRunAt || (from > 0 && (yield* told(planFrom(timing, 0, now, budget))).nextRunAt)) return plan
  throw neverOccurs()
}

/** The next occurrences, and how many are over. */
export function* preview(
  timing: Timing,
  count: number,
  now: number,
): Generator<void, { occurrences: string[]; past: number }> {
  const budget = { stepsLeft: MAX_STEPS }
  const { past, next } = yield* told(
    lookThrough(timing, { from: 0, now: now - 1, ahead: () => count, budget }),
  )
  if (past === 0 && next.length === 0) throw neverOccurs()
  return { occurrences: next.map(instant => new Date(instant).toISOString()), past }
}

function* told<Found>(work: Generator<void, Found>): Generator<void, Found> {
  try {
    return yield* work
  } catch (error) {
    if (!(error instanceof InvalidRule)) throw error
    throw new FieldErrors(
      [{ path: 'repeat.rrule', code: 'wrong-format', message: error.message }],
      error.message,
    )
  }
}

function neverOccurs(): FieldErrors {
  const message = 'This has no occurrence from startTime to endTime, or to the end of the century.'
  return new FieldErrors([{ path: 'repeat', code: 'invalid', message }], message)
}
