import type { ScheduleDefaults } from '../../../db/queries/schedules.ts'
import { FieldErrors } from '../../http/errors.ts'
import { type Budget, lookThrough, MAX_STEPS, type Timing } from './occurrences.ts'
import { InvalidRule } from './parse-rrule.ts'
import { type Plan, planFrom } from './plan.ts'

/** The timing of a schedule in a request's body. */
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

/** Plans a schedule whose tasks before `from` are created. Throws 400 if its rule is invalid or has no occurrence. */
export function* planOrRefuse(
  timing: Timing,
  from: number,
  now: number,
  budget: Budget,
): Generator<void, Plan> {
  const plan = yield* refuseInvalidRule(planFrom(timing, from, now, budget))
  if (plan.nextRunAt || (from > 0 && (yield* refuseInvalidRule(planFrom(timing, 0, now, budget))).nextRunAt))
    return plan
  throw neverOccurs()
}

/** The next occurrences, and the number of past ones. */
export function* preview(
  timing: Timing,
  count: number,
  now: number,
): Generator<void, { occurrences: string[]; past: number }> {
  const budget = { stepsLeft: MAX_STEPS }
  const { past, next } = yield* refuseInvalidRule(
    lookThrough(timing, { from: 0, now: now - 1, futureCount: () => count, budget }),
  )
  if (past === 0 && next.length === 0) throw neverOccurs()
  return { occurrences: next.map(instant => new Date(instant).toISOString()), past }
}

function* refuseInvalidRule<Found>(work: Generator<void, Found>): Generator<void, Found> {
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
