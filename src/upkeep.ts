import type { Database, Queryable } from '../db/client.ts'
import { createPartitions, dropOldPartitions } from '../db/partitions.ts'
import { pruneRegistrations } from '../db/queries/accounts.ts'
import { pruneAllowances } from '../db/queries/allowances.ts'
import { pruneAuditLog } from '../db/queries/audit-log.ts'
import { pruneCommands } from '../db/queries/commands.ts'
import { pruneTypeChanges } from '../db/queries/data-type-changes.ts'
import { pruneTraces } from '../db/queries/device-traces.ts'
import { pruneExportLogs } from '../db/queries/export-logs.ts'
import { pruneGeofences } from '../db/queries/geofence-events.ts'
import { pruneKeys } from '../db/queries/idempotency-keys.ts'
import { pruneImports } from '../db/queries/imports.ts'
import { pruneJobs } from '../db/queries/jobs.ts'
import { pruneAddresses } from '../db/queries/known-addresses.ts'
import { pruneChallenges } from '../db/queries/login-challenges.ts'
import { pruneFailures } from '../db/queries/login-failures.ts'
import { pruneResets } from '../db/queries/password-resets.ts'
import { pruneRejections } from '../db/queries/rejections.ts'
import { pruneSessions } from '../db/queries/sessions.ts'
import { pruneSignInCodes } from '../db/queries/single-sign-on.ts'
import { pruneTrackingLinks } from '../db/queries/tracking-links.ts'
import { pruneUnknown } from '../db/queries/unknown-references.ts'
import type { JobKind } from './jobs/kind.ts'

const EVERY_MS = 10 * 60_000

/** A folder whose files are deleted with their records. */
interface Swept {
  sweep(db: Queryable): Promise<void>
}

/**
 * The regular maintenance: creates partitions in advance, deletes expired rows and files, and does the `more` work, such
 * as sealing secrets anew.
 */
export function upkeepJob(
  db: Database,
  files: readonly Swept[],
  more: readonly ((db: Queryable) => Promise<unknown>)[] = [],
): JobKind {
  const steps: (() => Promise<unknown>)[] = [
    () => createPartitions(db),
    () => dropOldPartitions(db),
    () => pruneRejections(db.system),
    () => pruneSessions(db.system),
    () => pruneFailures(db.system),
    () => pruneChallenges(db.system),
    () => pruneSignInCodes(db.system),
    () => pruneRegistrations(db.system),
    () => pruneAddresses(db.system),
    () => pruneAllowances(db.system),
    () => pruneResets(db.system),
    () => pruneAuditLog(db.system),
    () => pruneTrackingLinks(db.system),
    () => pruneGeofences(db.system),
    () => pruneImports(db.system),
    () => pruneJobs(db.system),
    () => pruneExportLogs(db.system),
    ...files.map(one => () => one.sweep(db.system)),
    () => pruneKeys(db.system),
    () => pruneTypeChanges(db.system),
    () => pruneUnknown(db.system),
    () => pruneTraces(db.system),
    () => pruneCommands(db.system),
    ...more.map(one => () => one(db.system)),
  ]
  return {
    kind: 'upkeep',
    slots: 1,
    slotsPerRoot: 1,
    attempts: 1,
    backoffMs: () => EVERY_MS,
    timeoutMs: 6 * 3600_000,
    everyMs: EVERY_MS,
    async run({ signal }) {
      const failures: unknown[] = []
      // Each step deletes a part and is repeated while there is more: nothing limits the rows of one interval.
      for (let left = steps; left.length > 0; ) {
        const unfinished: typeof steps = []
        for (const step of left) {
          signal.throwIfAborted()
          // A failing step must not keep the others from their turn.
          const mayHaveMore = await step().catch(error => {
            failures.push(error)
          })
          if (mayHaveMore === true) unfinished.push(step)
        }
        left = unfinished
      }
      if (failures.length > 0) throw new AggregateError(failures, 'Some of the upkeep failed')
    },
  }
}
