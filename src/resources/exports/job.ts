import { rm } from 'node:fs/promises'
import type { Database, Queryable } from '../../../db/client.ts'
import {
  beginExport,
  completeExport,
  failExport,
  updateExportProgress,
} from '../../../db/queries/export-logs.ts'
import { insertJob } from '../../../db/queries/jobs.ts'
import { findStanding } from '../../../db/queries/sessions.ts'
import { RequestError } from '../../http/errors.ts'
import { createGiveWay } from '../../jobs/give-way.ts'
import { doublingBackoff, type JobContext, type JobKind } from '../../jobs/kind.ts'
import { EXPORTABLES } from './exportables.ts'
import type { ExportFiles } from './files.ts'
import { ExportFailure, type Source } from './source.ts'
import { writeExport } from './write.ts'

/**
 * An export that is too large to be sent at once. It contains what the user who ordered it may see when it is written.
 * A process that dies leaves a draft, and the job starts again. The file gets its name before the record says that it
 * exists.
 */
const KIND = 'export'
/** The length of a turn while other jobs wait. */
const TURN_MS = 3_000
/** A paused export of a workbook keeps a thread with 60 MB. */
const MAX_PAUSED = 4
/** How often the record's progress is written. */
const PROGRESS_MS = 1_000

interface Payload {
  exportId: string
}

/** Adds the job of an export, in the transaction that inserts its record. */
export async function orderExport(tx: Queryable, organizationId: string, exportId: string): Promise<void> {
  await insertJob(tx, { kind: KIND, organizationId, payload: { exportId }, uniqueKey: exportId })
}

export function exportJob({
  db,
  files,
  storedPoints,
}: {
  db: Database
  files: ExportFiles
  /** The number of points that this process has stored. */
  storedPoints: () => number
}): JobKind<Payload> {
  async function open(
    { job, commit }: JobContext<Payload>,
    order: NonNullable<Awaited<ReturnType<typeof beginExport>>>,
  ): Promise<Source> {
    const { userId } = order
    const standing = userId && (await commit(tx => findStanding(tx, userId)))
    if (!standing) throw new ExportFailure('The user who ordered it is not active any more.')
    return EXPORTABLES[order.resource].open(
      db,
      { ...standing, userId, organizationId: job.organizationId as string },
      order,
    )
  }

  return {
    kind: KIND,
    slots: 2,
    slotsPerRoot: 1,
    turnMs: TURN_MS,
    pausable: MAX_PAUSED,
    attempts: 5,
    backoffMs: doublingBackoff,
    timeoutMs: 6 * 3600_000,
    async run(context) {
      const { job, signal, commit } = context
      const { exportId } = job.payload
      const order = await commit(tx => beginExport(tx, exportId))
      if (!order) return
      const draft = await files.draft(`${exportId}.${job.lease}`)
      const written = new AbortController()
      try {
        const source = await open(context, order)
        // Counted during writing: counting first would delay it by a twentieth, and the count only serves the progress.
        let all: number | null = null
        source.count(AbortSignal.any([signal, written.signal])).then(
          count => {
            all = count
          },
          () => {},
        )
        const giveWay = createGiveWay(storedPoints, signal)
        let progressAt = performance.now()
        const file = await writeExport(draft, {
          source,
          format: order.format,
          ids: null,
          signal,
          async onStep({ count, looked }) {
            await giveWay()
            await context.passTurn()
            if (performance.now() - progressAt < PROGRESS_MS) return
            progressAt = performance.now()
            const progress = all === null ? 0 : Math.min(looked / Math.max(all, 1), 1)
            const total = source.isFiltered ? null : all
            await commit(tx => updateExportProgress(tx, exportId, { total, processed: count, progress }))
          },
        })
        signal.throwIfAborted()
        await files.keep(draft, exportId, order.format)
        await commit(tx => completeExport(tx, exportId, { ...file, keys: source.keys(order.format) }))
      } catch (error) {
        // Another attempt would fail in the same way.
        if (!(error instanceof ExportFailure || (error instanceof RequestError && !error.retryable)))
          throw error
        await commit(tx => failExport(tx, exportId, error.message))
      } finally {
        // The rest of the count is no longer needed.
        written.abort()
        await rm(draft, { force: true })
      }
    },
    ended: (tx, job) =>
      failExport(
        tx,
        job.payload.exportId,
        'The export could not be finished. Order it again, or tell whoever runs the server.',
      ),
  }
}
