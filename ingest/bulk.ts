import type { Log, Source, Subject } from '../stream/log.ts'
import type { Entry, Reason } from '../stream/point.ts'
import { validate } from './decode.ts'
import { FORMATS } from './formats/table.ts'
import type { IngestMetrics } from './metrics.ts'
import type { Turns } from './turns.ts'

/** How long a request waits for its points to be durable, before it is told to come again. */
const WAIT_MS = 10_000
/** How many points are validated in one turn, about 1 ms. */
export const PIECE_POINTS = 250

export interface BulkResult {
  accepted: number
  /** Known in the tiers without Kafka; in the cluster tier they count as accepted. */
  duplicates: number
  rejected: { index: number; reason: Reason; message: string }[]
}

/**
 * Appends the points of one request. Resolves when every one of them is durable or rejected, to null when that took too
 * long: then nothing is acknowledged, some of it may be stored, and sending it again does no harm.
 */
export async function appendBulk(
  points: readonly { value: unknown; of: Subject }[],
  options: { log: Log; metrics: IngestMetrics; turns: Turns; waitMs?: number },
): Promise<BulkResult | null> {
  const { log, metrics, turns } = options
  const begun = performance.now()
  const source: Source = { ended: false, subjects: [...new Set(points.map(point => point.of))] }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>(resolve => {
    timer = setTimeout(() => {
      source.ended = true
      resolve(null)
    }, options.waitMs ?? WAIT_MS)
  })
  const appended = (async () => {
    const entries = await validateAll(points, turns)
    metrics.received('http', entries)
    if (source.ended) return null
    metrics.waiting('http', entries.length)
    const outcomes = await log.append(entries, source).finally(() => metrics.waiting('http', -entries.length))
    return { entries, outcomes }
  })()
  // What ends late has been answered already.
  appended.catch(() => {})
  const durable = await Promise.race([appended, late]).finally(() => clearTimeout(timer))
  if (!durable) return null
  const { entries, outcomes } = durable
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

/** Validates the points, piece by piece in the turns of the organization. */
function validateAll(points: readonly { value: unknown; of: Subject }[], turns: Turns): Promise<Entry[]> {
  const receivedAt = Date.now()
  const organizationId = points[0]?.of.organizationId ?? ''
  const entries: Entry[] = []
  return new Promise((resolve, reject) => {
    turns.enter(organizationId, () => {
      try {
        for (const { value, of } of points.slice(entries.length, entries.length + PIECE_POINTS)) {
          const arrival = { subject: of.subject, receivedAt, topic: null }
          entries.push(validate(value, FORMATS.native.read(value), arrival, entries.length))
        }
      } catch (error) {
        reject(error)
        return false
      }
      if (entries.length < points.length) return true
      resolve(entries)
      return false
    })
  })
}
