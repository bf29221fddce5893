import { timeOfDay } from '../db/clock.ts'
import type { Scheduler } from '../fair/scheduler.ts'
import type { Log, Source, Subject } from '../stream/log.ts'
import type { Entry, Outcomes, Reason } from '../stream/point.ts'
import { validate } from './decode.ts'
import { FORMATS } from './formats/table.ts'
import type { IngestMetrics } from './metrics.ts'

/** How long a request waits for its points to become durable before the client is asked to try again. */
const WAIT_MS = 10_000
/** The number of points validated between two looks at the clock, about 1 ms. */
export const PIECE_POINTS = 250
/** The length of a turn, which usually suffices for all points of a request. */
const TURN_MS = 3

export interface BulkResult {
  accepted: number
  /** Known in the tiers without Kafka; the cluster tier counts them as accepted. */
  duplicates: number
  rejected: { index: number; reason: Reason; message: string }[]
}

/** The services that a request's points need. */
export interface BulkServices {
  log: Log
  metrics: IngestMetrics
  scheduler: Scheduler
  waitMs?: number
}

/**
 * Appends the points of one request, each to the subject with the same index. Resolves when every point is durable or
 * rejected. Resolves to null if that took too long: then nothing is acknowledged, some points may be stored, and
 * sending them again does no harm.
 */
export async function appendBulk(
  points: readonly unknown[],
  subjects: readonly Subject[],
  services: BulkServices,
): Promise<BulkResult | null> {
  const { metrics } = services
  const durable = await appendInTime(
    () => validateAll(points, subjects, services.scheduler),
    [...new Set(subjects)],
    services,
  )
  if (!durable) return null
  const { entries, outcomes } = durable
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

/**
 * Appends the entries that `decode` returns. Resolves to the entries and their outcomes, or to null if that took too
 * long.
 */
export async function appendInTime(
  decode: () => Promise<Entry[]>,
  subjects: readonly Subject[],
  { log, metrics, waitMs = WAIT_MS }: BulkServices,
): Promise<{ entries: Entry[]; outcomes: Outcomes } | null> {
  const begun = performance.now()
  const source: Source = { ended: false, subjects }
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>(resolve => {
    timer = setTimeout(() => {
      source.ended = true
      resolve(null)
    }, waitMs)
  })
  const appended = (async () => {
    const entries = await decode()
    metrics.received('http', entries)
    if (source.ended) return null
    metrics.waiting('http', entries.length)
    const outcomes = await log.append(entries, source).finally(() => metrics.waiting('http', -entries.length))
    return { entries, outcomes }
  })()
  // A late end no longer matters, because the request has been answered.
  appended.catch(() => {})
  const durable = await Promise.race([appended, late]).finally(() => clearTimeout(timer))
  if (durable) {
    metrics.acknowledged('http', durable.entries.length, (performance.now() - begun) / 1000)
  }
  return durable
}

/** Validates the points piece by piece, in the organization's turns. */
function validateAll(
  points: readonly unknown[],
  subjects: readonly Subject[],
  scheduler: Scheduler,
): Promise<Entry[]> {
  const receivedAt = timeOfDay()
  return inPieces(points, subjects[0]?.organizationId ?? '', scheduler, (piece, from) =>
    piece.map((value, index) => {
      const { subject } = subjects[from + index] as Subject
      return validate(value, FORMATS.native.read(value), { subject, receivedAt, topic: null }, from + index)
    }),
  )
}

/** Decodes all values into entries, piece by piece, in the organization's turns. */
export function inPieces<Value>(
  values: readonly Value[],
  organizationId: string,
  scheduler: Scheduler,
  decode: (piece: readonly Value[], from: number) => Entry[],
): Promise<Entry[]> {
  const entries: Entry[] = []
  let done = 0
  return new Promise((resolve, reject) => {
    scheduler.enter(organizationId, () => {
      const end = performance.now() + TURN_MS
      do {
        try {
          entries.push(...decode(values.slice(done, done + PIECE_POINTS), done))
        } catch (error) {
          reject(error)
          return false
        }
        done += PIECE_POINTS
        if (done >= values.length) {
          resolve(entries)
          return false
        }
      } while (performance.now() < end)
      return true
    })
  })
}
