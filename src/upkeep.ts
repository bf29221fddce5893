import type { Database } from '../db/client.ts'
import { createPartitions, dropOldPartitions } from '../db/partitions.ts'
import { pruneAuditLog } from '../db/queries/audit-log.ts'
import { pruneKeys } from '../db/queries/idempotency-keys.ts'
import { pruneJobs } from '../db/queries/jobs.ts'
import { pruneFailures } from '../db/queries/login-failures.ts'
import { pruneRejections } from '../db/queries/rejections.ts'
import { pruneSessions } from '../db/queries/sessions.ts'
import type { JobKind } from './jobs/kind.ts'

const EVERY_MS = 10 * 60_000

/** What has to be done now and then: partitions ahead of time, and what has had its time removed. */
export function upkeepJob(db: Database): JobKind {
  const steps: (() => Promise<unknown>)[] = [
    () => createPartitions(db, Date.now()),
    () => dropOldPartitions(db, Date.now()),
    () => pruneRejections(db.autocommit),
    () => pruneSessions(db.autocommit),
    () => pruneFailures(db.autocommit),
    () => pruneAuditLog(db.autocommit),
    () => pruneJobs(db.autocommit),
    () => pruneKeys(db.autocommit),
  ]
  return {
    kind: 'upkeep',
    slots: 1,
    slotsPerOrganization: 1,
    attempts: 1,
    backoffMs: () => EVERY_MS,
    timeoutMs: 6 * 3600_000,
    everyMs: EVERY_MS,
    async run({ signal }) {
      const failures: unknown[] = []
      for (const step of steps) {
        signal.throwIfAborted()
        // One that fails must not keep the others from their turn.
        await step().catch(error => failures.push(error))
      }
      if (failures.length > 0) throw new AggregateError(failures, 'Some of the upkeep failed')
    },
  }
}
