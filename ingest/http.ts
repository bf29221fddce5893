import type { Log, Source, Subject } from '../stream/log.ts'
import type { Entry, Reason } from '../stream/point.ts'
import { toEntry } from './entries.ts'
import { readNative } from './formats/native.ts'
import type { IngestMetrics } from './metrics.ts'

/** How long a request waits for its points to be durable, before it is told to come again. */
const WAIT_MS = 10_000

export interface BulkResult {
  accepted: number
  /** Known in the tiers without Kafka; in the cluster tier they count as accepted. */
  duplicates: number
  rejected: { index: number; reason: Reason; message: string }[]
}

/**
 * Takes the points of one request. Resolves when every one of them is durable or refused, to null when that took too
 * long: then nothing is acknowledged, some of it may be stored, and sending it again does no harm.
 */
export async function takeBulk(
  points: readonly { value: unknown; of: Subject }[],
  options: { log: Log; metrics: IngestMetrics; waitMs?: number },
): Promise<BulkResult | null> {
  const { log, metrics } = options
  const begun = performance.now()
  const receivedAt = Date.now()
  const entries = points.map(({ value, of }, index): Entry => {
    const arrival = { subject: of.subject, receivedAt, topic: null }
    return toEntry(value, readNative(value), arrival, index)
  })
  metrics.received('http', entries)

  const source: Source = { ended: false, subjects: [...new Set(points.map(point => point.of))] }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>(resolve => {
    timer = setTimeout(() => {
      source.ended = true
      resolve(null)
    }, options.waitMs ?? WAIT_MS)
  })
  metrics.held('http', entries.length)
  const appended = log.append(entries, source).finally(() => metrics.held('http', -entries.length))
  // What ends late has been answered already.
  appended.catch(() => {})
  const outcomes = await Promise.race([appended, late]).finally(() => clearTimeout(timer))
  if (!outcomes) return null
  metrics.acknowledged('http', entries.length, (performance.now() - begun) / 1000)

  const result: BulkResult = { accepted: 0, duplicates: 0, rejected: [] }
  entries.forEach((entry, index) => {
    const outcome = outcomes.get(entry)
    if (entry.kind === 'rejection')
      result.rejected.push({ index, reason: entry.reason, message: entry.message })
    else if (!outcome) result.accepted++
    else if (outcome.kind === 'duplicate') result.duplicates++
    else {
      metrics.rejected('http', outcome.reason)
      result.rejected.push({ index, reason: outcome.reason, message: outcome.message })
    }
  })
  return result
}
