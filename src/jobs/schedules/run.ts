import { setTimeout as pause } from 'node:timers/promises'
import type { Database, Queryable } from '../../../db/client.ts'
import { isAway, isBusy, isTransient } from '../../../db/errors.ts'
import {
  claimSchedule,
  type DueSchedule,
  delaySchedule,
  listDueOrganizations,
  moveSchedule,
} from '../../../db/queries/schedules.ts'
import type { JobKind } from '../kind.ts'
import { createScheduledTasks, Unmakeable } from './create-tasks.ts'
import { countOccurrences, listOccurrences } from './occurrences.ts'
import { MAX_MISSED } from './plan.ts'

/**
 * Makes the tasks of schedules. A schedule knows its next occurrence (`next_run_at`); whoever finds it due holds its row,
 * makes the task and moves it on in one transaction. So each occurrence makes its task once, however many processes look
 * and whichever of them dies; what was missed is still due when somebody comes back; and a clock that goes back finds
 * nothing to do until it has caught up. The clock is the database's.
 *
 * Organizations take turns, each with some tasks of one schedule. A schedule that cannot make its task says so
 * (`last_error`) and is tried again later, while the others go on.
 */
const POLL_MS = 1_000
/** One process at a time looks; when it dies, another does after the lease of the job. It is told anew now and then. */
const LOOKS_FOR_MS = 5 * 60_000
/** So many tasks in one transaction, some 20 ms, and then it is somebody else's turn. */
const MAX_TASKS = 100
/** A minute, then twice as long each time, to an hour. */
const retryDelayMs = (failures: number) => Math.min(60_000 * 2 ** Math.min(failures, 10), 3_600_000)

export function scheduleJob(db: Database, onError: (error: unknown, doing: string) => void): JobKind {
  return {
    kind: 'schedules',
    slots: 1,
    slotsPerOrganization: 1,
    attempts: 1,
    backoffMs: () => POLL_MS,
    timeoutMs: 2 * LOOKS_FOR_MS,
    everyMs: POLL_MS,
    async run({ signal }) {
      const end = performance.now() + LOOKS_FOR_MS
      while (performance.now() < end) {
        signal.throwIfAborted()
        const organizations = await listDueOrganizations(db.system)
        for (const organizationId of organizations) {
          signal.throwIfAborted()
          await runSchedule(db, organizationId, onError)
        }
        if (organizations.length === 0) await pause(POLL_MS, undefined, { signal })
      }
    },
  }
}

/**
 * Makes the next tasks of the schedule of an organization that is due longest. Resolves to how many; null where no
 * schedule is due that nobody else holds.
 */
export async function runSchedule(
  db: Database,
  organizationId: string,
  onError: (error: unknown, doing: string) => void,
): Promise<number | null> {
  let held: DueSchedule | null = null
  try {
    return await db.tenant(organizationId, async tx => {
      held = await claimSchedule(tx, organizationId)
      return held && (await makeTasks(tx, organizationId, held))
    })
  } catch (error) {
    const failed = held as DueSchedule | null
    // Not the schedule's fault.
    if (!failed || isAway(error) || isBusy(error) || isTransient(error)) throw error
    const isTold = error instanceof Unmakeable
    if (!isTold) onError(error, `creating the tasks of the schedule ${failed._id}`)
    const message = isTold ? error.message : 'Something went wrong on our side.'
    const delay = { error: message, delayMs: retryDelayMs(failed.failures) }
    await db.tenant(organizationId, tx => delaySchedule(tx, failed._id, delay))
    return 0
  }
}

/** Makes tasks of a schedule that the transaction holds, as many as fit, and moves it on. */
async function makeTasks(tx: Queryable, organizationId: string, schedule: DueSchedule): Promise<number> {
  const { now, nextRunAt } = schedule
  const missed = countOccurrences(schedule, nextRunAt.getTime(), now, MAX_MISSED)
  const due: Date[] = []
  let next: number | null = null
  const from = missed.firstKept ?? nextRunAt.getTime()
  for (const instant of listOccurrences(schedule, from)) {
    if (instant > now || due.length === MAX_TASKS) {
      next = instant
      break
    }
    due.push(new Date(instant))
  }
  if (due.length > 0) await createScheduledTasks(tx, organizationId, schedule, due)
  await moveSchedule(tx, schedule._id, {
    nextRunAt: next === null ? null : new Date(next),
    lastRunAt: due.at(-1) ?? schedule.lastRunAt,
    skipped: schedule.skipped + Math.max(0, missed.total - MAX_MISSED),
  })
  return due.length
}
