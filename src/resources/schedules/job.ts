import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Database, Queryable } from '../../../db/client.ts'
import { isAway, isBusy, isTransient, overCap } from '../../../db/errors.ts'
import {
  claimSchedule,
  type DueSchedule,
  delaySchedule,
  listDueOrganizations,
  moveSchedule,
} from '../../../db/queries/schedules.ts'
import type { Scheduler } from '../../../fair/scheduler.ts'
import type { JobKind } from '../../jobs/kind.ts'
import { CannotCreateTasks, createScheduledTasks } from './create-tasks.ts'
import { lookThrough } from './occurrences.ts'
import { MAX_MISSED } from './plan.ts'

/**
 * Creates the tasks of schedules. A schedule stores its next occurrence (`next_run_at`). A process that finds it due
 * locks its row, creates the task and moves it on in one transaction. So each occurrence creates its task once, however
 * many processes run and whichever of them dies. Missed occurrences stay due until a process runs again, and a clock
 * that goes back finds nothing due until it has caught up. The database's clock counts.
 *
 * Organizations take turns, each with some tasks of one schedule. If the task of a schedule cannot be created, the
 * schedule stores the reason (`last_error`) and is tried again later, while the others continue.
 */
const POLL_MS = 1_000
/**
 * Only one process searches at a time; if it dies, another one follows after the job's lease. The job ends after this
 * time and starts again.
 */
const LOOKS_FOR_MS = 5 * 60_000
/** The number of tasks in one transaction, which takes some 20 ms before another organization's turn. */
const MAX_TASKS = 100
/** A minute, then twice as long each time, up to an hour. */
const retryDelayMs = (failures: number) => Math.min(60_000 * 2 ** Math.min(failures, 10), 3_600_000)

export function scheduleJob(
  db: Database,
  scheduler: Scheduler,
  onError: (error: unknown, doing: string) => void,
): JobKind {
  return {
    kind: 'schedules',
    slots: 1,
    slotsPerRoot: 1,
    attempts: 1,
    backoffMs: () => POLL_MS,
    timeoutMs: 2 * LOOKS_FOR_MS,
    everyMs: POLL_MS,
    async run({ signal }) {
      const end = performance.now() + LOOKS_FOR_MS
      while (performance.now() < end) {
        signal.throwIfAborted()
        const organizations = await listDueOrganizations(db.system)
        let made = false
        for (const organizationId of organizations) {
          signal.throwIfAborted()
          try {
            await runSchedule(db, scheduler, organizationId, onError)
            made = true
          } catch (error) {
            // The schedule is still due and will be found again; meanwhile the others have their turn.
            onError(error, `creating the tasks of the organization ${organizationId}, trying again`)
          }
        }
        if (!made) await pause(POLL_MS, undefined, { signal })
      }
    },
  }
}

/**
 * Creates the next tasks of the organization's schedule that has been due longest. Resolves to their number; null if no
 * schedule is due, except ones that other processes hold. Its occurrences are computed without a transaction, because a
 * database with a single session serves others too, and a rule that counts from its start may cover a century.
 */
export async function runSchedule(
  db: Database,
  scheduler: Scheduler,
  organizationId: string,
  onError: (error: unknown, doing: string) => void,
): Promise<number | null> {
  const due = await db.tenant(organizationId, tx => claimSchedule(tx, organizationId))
  if (!due) return null
  try {
    const work = await scheduler.walk(organizationId, findWork(due))
    return await db.tenant(organizationId, async tx => {
      const held = await claimSchedule(tx, organizationId, due._id)
      // Since it was read, the schedule was changed or deleted, or another process created its tasks.
      if (!held || !isDeepStrictEqual(basisOf(held), basisOf(due))) return 0
      return makeTasks(tx, organizationId, held, work)
    })
  } catch (error) {
    // Not the schedule's fault, so it stays as it is.
    if (isAway(error) || isBusy(error) || isTransient(error)) throw error
    const reason = error instanceof CannotCreateTasks ? error.message : overCap(error)
    if (reason === null) onError(error, `creating the tasks of the schedule ${due._id}`)
    const message = reason ?? 'Something went wrong on our side.'
    const delay = { error: message, delayMs: retryDelayMs(due.failures) }
    await db.tenant(organizationId, tx => delaySchedule(tx, due, delay))
    return 0
  }
}

/** The part of a schedule that decides its occurrences. */
const basisOf = ({ repeat, startTime, endTime, timezone, exceptions, nextRunAt }: DueSchedule) => ({
  ...{ repeat, startTime, endTime, timezone, exceptions, nextRunAt },
})

interface Work {
  /** The occurrences whose tasks are created now. */
  due: Date[]
  /** The occurrence after them. */
  nextRunAt: Date | null
  /** The number of missed occurrences that create no task. */
  skipped: number
}

function* findWork(schedule: DueSchedule): Generator<void, Work> {
  const { past, kept, next } = yield* lookThrough(schedule, {
    from: schedule.nextRunAt.getTime(),
    now: schedule.now,
    keep: MAX_MISSED,
    futureCount: past => (past > MAX_TASKS ? 0 : 1),
  })
  const after = kept[MAX_TASKS] ?? next[0]
  return {
    due: kept.slice(0, MAX_TASKS).map(instant => new Date(instant)),
    nextRunAt: after === undefined ? null : new Date(after),
    skipped: Math.max(0, past - MAX_MISSED),
  }
}

/** Creates as many of the tasks as fit and moves the schedule on. The transaction must hold the schedule. */
async function makeTasks(
  tx: Queryable,
  organizationId: string,
  schedule: DueSchedule,
  { due, nextRunAt, skipped }: Work,
): Promise<number> {
  if (due.length > 0) await createScheduledTasks(tx, organizationId, schedule, due)
  await moveSchedule(tx, schedule._id, {
    nextRunAt,
    lastRunAt: due.at(-1) ?? schedule.lastRunAt,
    skipped: schedule.skipped + skipped,
  })
  return due.length
}
