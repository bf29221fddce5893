import type { Scheduler } from '../../fair/scheduler.ts'
import type { Entry, Outcomes } from '../../stream/point.ts'
import type { Publisher } from '../identity/authenticate.ts'
import type { IngestMetrics } from '../metrics.ts'
import type { Sessions } from './sessions.ts'
import { topicsOf } from './topics.ts'

/**
 * Sends a device the rejections of durable messages, or an API key those of devices. `messages` says how many of the entries
 * each message has, and the device that an API key sent for.
 */
export function sendRejections(
  { metrics, sessions, scheduler }: { metrics: IngestMetrics; sessions: Sessions; scheduler: Scheduler },
  publisher: Publisher,
  messages: readonly { entries: number; deviceId?: string }[],
  entries: readonly Entry[],
  outcomes: Outcomes,
): void {
  if (!mayHaveRejections(entries, outcomes)) return
  const topic = `${topicsOf(publisher)}rejections`
  let [index, from] = [0, 0]
  // With many subscribers a message of 1,000 rejections takes long, and a batch of the log is many messages.
  scheduler.enter(publisher.organizationId, () => {
    const message = messages[index++]
    const to = from + (message?.entries ?? 0)
    const payloads = describeRejections(entries.slice(from, to), outcomes, metrics, message?.deviceId)
    if (payloads.length > 0) sessions.send(publisher.id, topic, payloads)
    from = to
    return index < messages.length
  })
}

/** Whether anything of durable entries may have been rejected; a duplicate is no rejection, and has an outcome as well. */
export const mayHaveRejections = (entries: readonly Entry[], outcomes: Outcomes): boolean =>
  outcomes.size > 0 || entries.some(entry => entry.kind === 'rejection')

/** The rejections of one message as JSON, in order. */
function describeRejections(
  entries: readonly Entry[],
  outcomes: Outcomes,
  metrics: IngestMetrics,
  deviceId: string | undefined,
): string[] {
  return listRejections(entries, outcomes).map(({ entry, reason, message, index }) => {
    if (entry.kind === 'point') metrics.rejected('mqtt', reason)
    const receivedAt = new Date(entry.receivedAt).toISOString()
    return JSON.stringify({ reason, message, index, receivedAt, deviceId })
  })
}

/** What was rejected of one message, in order, before or while it was stored. */
export function listRejections(entries: readonly Entry[], outcomes: Outcomes) {
  return entries.flatMap((entry, place) => {
    const outcome = outcomes.get(entry)
    const rejection = entry.kind === 'rejection' ? entry : outcome?.kind === 'rejected' ? outcome : undefined
    if (!rejection) return []
    const index = 'index' in rejection ? rejection.index : entries.length > 1 ? place : null
    return { entry, reason: rejection.reason, message: rejection.message, index }
  })
}
