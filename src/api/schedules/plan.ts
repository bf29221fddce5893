import type { ScheduleDefaults } from '../../../db/queries/schedules.ts'
import { FieldErrors } from '../../http/errors.ts'
import { countOccurrences, listOccurrences, type Timing } from '../../jobs/schedules/occurrences.ts'
import { InvalidRule } from '../../jobs/schedules/parse-rrule.ts'
import { type Plan, planFrom } from '../../jobs/schedules/plan.ts'

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

/**
 * Where a schedule goes on that has made its tasks of before `from`. 400 where its rule is none, or never occurs. Takes
 * some milliseconds at the most.
 */
export function planOrRefuse(timing: Timing, from: number, now: number): Plan {
  try {
    const plan = planFrom(timing, from, now)
    if (plan.nextRunAt || planFrom(timing, 0, now).nextRunAt) return plan
  } catch (error) {
    if (!(error instanceof InvalidRule)) throw error
    throw new FieldErrors([{ path: 'repeat.rrule', message: error.message }], error.message)
  }
  const message = 'This has no occurrence from startTime to endTime, or to the end of the century.'
  throw new FieldErrors([{ path: 'repeat', message }], message)
}

/** The next occurrences, and how many are over. */
export function preview(timing: Timing, count: number, now: number): { occurrences: string[]; past: number } {
  planOrRefuse(timing, 0, now)
  const occurrences: string[] = []
  for (const instant of listOccurrences(timing, now)) {
    occurrences.push(new Date(instant).toISOString())
    if (occurrences.length === count) break
  }
  return { occurrences, past: countOccurrences(timing, 0, now - 1, 1).total }
}
