import type { Database, Queryable } from '../../../db/client.ts'
import { insertJob } from '../../../db/queries/jobs.ts'
import { deletePoints, deleteTenantRows, listSubjectKeys } from '../../../db/queries/removal.ts'
import { doublingBackoff, type JobKind } from '../../jobs/kind.ts'

/**
 * Removes the remains of a deleted organization. The jobs belong to no organization, since an organization's own jobs
 * are deleted with it.
 */
const REMOVE = 'remove-organization'
const SWEEP = 'sweep-points'

/** Points that were in the log when their subjects were deleted are stored later; no log lags by more than this. */
const SWEEP_AFTER_MS = 24 * 3600_000

export async function orderRemoval(tx: Queryable, organizationId: string): Promise<void> {
  await insertJob(tx, {
    kind: REMOVE,
    organizationId: null,
    payload: { organizationId },
    uniqueKey: organizationId,
  })
}

/**
 * Orders the removal of the points of deleted subjects, and of those that are stored later. Call it across
 * organizations.
 */
export async function orderSweep(tx: Queryable, subjects: readonly number[]): Promise<void> {
  if (subjects.length === 0) return
  const sweep = { kind: SWEEP, organizationId: null, payload: { subjects } }
  await insertJob(tx, sweep)
  await insertJob(tx, { ...sweep, delayMs: SWEEP_AFTER_MS })
}

const often = {
  slots: 1,
  slotsPerRoot: 1,
  attempts: 20,
  backoffMs: doublingBackoff,
  timeoutMs: 6 * 3600_000,
}

/** Each step deletes what still exists, so that repeating it is harmless. */
export function removalJobs(db: Database): JobKind[] {
  const remove: JobKind<{ organizationId: string }> = {
    kind: REMOVE,
    ...often,
    async run({ job, signal, commit }) {
      const { organizationId } = job.payload
      const subjects = await db.tenant(organizationId, tx => listSubjectKeys(tx, organizationId))
      if (subjects.length > 0) {
        // Sweeps once more later, even if this attempt fails.
        const sweep = { kind: SWEEP, organizationId: null, payload: { subjects }, uniqueKey: organizationId }
        await commit(tx => insertJob(tx, { ...sweep, delayMs: SWEEP_AFTER_MS }))
      }
      await deletePoints(db, subjects, signal)
      await deleteTenantRows(db, organizationId, signal)
    },
  }
  const sweep: JobKind<{ subjects: number[] }> = {
    kind: SWEEP,
    ...often,
    run: ({ job, signal }) => deletePoints(db, job.payload.subjects, signal),
  }
  return [remove as JobKind, sweep as JobKind]
}
