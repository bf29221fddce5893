import type { Scheduler } from '../../../fair/scheduler.ts'
import { appendBulk, type BulkResult } from '../../../ingest/bulk.ts'
import type { IngestMetrics } from '../../../ingest/metrics.ts'
import type { Log, Subject } from '../../../stream/log.ts'

const UNKNOWN_DEVICE = { reason: 'unknown-device', message: 'There is no such device.' } as const

interface KnownResult extends Omit<BulkResult, 'rejected'> {
  rejected: (BulkResult['rejected'][number] | (typeof UNKNOWN_DEVICE & { index: number }))[]
}

/**
 * Appends the points of known subjects. The others are only rejected in the answer, because they belong to nobody.
 * Resolves to null if the log took too long.
 */
export async function appendKnown(
  points: readonly unknown[],
  subjects: readonly (Subject | null)[],
  to: { log: Log; metrics: IngestMetrics; scheduler: Scheduler },
): Promise<KnownResult | null> {
  const isKnown = (of: Subject | null): of is Subject => of !== null
  if (subjects.every(isKnown)) return appendBulk(points, subjects, to)
  const places = subjects.flatMap((of, index) => (of ? [index] : []))
  const nothing: BulkResult = { accepted: 0, duplicates: 0, rejected: [] }
  const result =
    places.length > 0
      ? await appendBulk(
          places.map(index => points[index]),
          subjects.filter(isKnown),
          to,
        )
      : nothing
  if (!result) return null
  const rejected = [
    ...result.rejected.map(one => ({ ...one, index: places[one.index] as number })),
    ...subjects.flatMap((of, index) => (of ? [] : [{ index, ...UNKNOWN_DEVICE }])),
  ]
  return { ...result, rejected: rejected.sort((a, b) => a.index - b.index) }
}
