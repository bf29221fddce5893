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
import type { Turns } from '../../../ingest/turns.ts'
import type { JobKind } from '../../jobs/kind.ts'
import { createScheduledTasks, Unmakeable } from './create-tasks.ts'
import { lookThrough } from './occurrences.ts'
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

export function scheduleJob(
  db: Database,
  turns: Turns,
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
            await runSchedule(db, turns, organizationId, onError)
            made = true
          } catch (error) {
            // Its schedule is still due, and found again; the others have their turn.
            onError(error, `making the tasks of the organization ${organizationId}, trying again`)
          }
        }
        if (!made) await pause(POLL_MS, undefined, { signal })
      }
    },
  }
}

/**
 * Makes the next tasks of the schedule of an organization that is due longest. Resolves to how many; null where no
 * schedule is due that nobody else holds. It is looked through while nothing is held: a database of one session has others
 * to serve, and a rule that counts from its start has a century to go through.
 */
export async function runSchedule(
  db: Database,
  turns: Turns,
  organizationId: string,
  onError: (error: unknown, doing: string) => void,
): Promise<number | null> {
  const due = await db.tenant(organizationId, tx => claimSchedule(tx, organizationId))
  if (!due) return null
  try {
    const work = await turns.walk(organizationId, findWork(due))
    return await db.tenant(organizationId, async tx => {
      const held = await claimSchedule(tx, organizationId, due._id)
      // Somebody has changed it meanwhile, or made its tasks.
      if (!held || !isDeepStrictEqual(basisOf(held), basisOf(due))) return 0
      return makeTasks(tx, organizationId, held, work)
    })
  } catch (error) {
    // Not the schedule's fault.
    if (isAway(error) || isBusy(error) || isTransient(error)) throw error
    const told = error instanceof Unmakeable ? error.message : overCap(error)
    if (told === null) onError(error, `creating the tasks of the schedule ${due._id}`)
    const message = told ?? 'Something went wrong on our side.'
    const delay = { error: message, delayMs: retryDelayMs(due.failures) }
    await db.tenant(organizationId, tx => delaySchedule(tx, due._id, delay))
    return 0
  }
}

/** What the occurrences of a schedule follow from. */
const basisOf = ({ repeat, startTime, endTime, timezone, exceptions, nextRunAt }: DueSchedule) => ({
  ...{ repeat, startTime, endTime, timezone, exceptions, nextRunAt },
})

interface Work {
  /** The occurrences that make their tasks now. */
  due: Date[]
  /** The one after them. */
  nextRunAt: Date | null
  /** How many were missed that make none. */
  skipped: number
}

function* findWork(schedule: DueSchedule): Generator<void, Work> {
  const { past, kept, next } = yield* lookThrough(schedule, {
    from: schedule.nextRunAt.getTime(),
    now: schedule.now,
    keep: MAX_MISSED,
    ahead: past => (past > MAX_TASKS ? 0 : 1),
  })
  const after = kept[MAX_TASKS] ?? next[0]
  return {
    due: kept.slice(0, MAX_TASKS).map(instant => new Date(instant)),
    nextRunAt: after === undefined ? null : new Date(after),
    skipped: Math.max(0, past - MAX_MISSED),
  }
}

/** Makes tasks of a schedule that the transaction holds, as many as fit, and moves it on. */
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
