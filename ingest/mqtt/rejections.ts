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
  if (outcomes.size === 0 && !entries.some(entry => entry.kind === 'rejection')) return
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

/** The rejections of one message as JSON, in order. */
function describeRejections(
  entries: readonly Entry[],
  outcomes: Outcomes,
  metrics: IngestMetrics,
  deviceId: string | undefined,
): string[] {
  const payloads: string[] = []
  for (const [place, entry] of entries.entries()) {
    const outcome = outcomes.get(entry)
    const rejection = entry.kind === 'rejection' ? entry : outcome?.kind === 'rejected' ? outcome : undefined
    if (!rejection) continue
    if (entry.kind === 'point') metrics.rejected('mqtt', rejection.reason)
    const index = 'index' in rejection ? rejection.index : entries.length > 1 ? place : null
    const { reason, message } = rejection
    const receivedAt = new Date(entry.receivedAt).toISOString()
    payloads.push(JSON.stringify({ reason, message, index, receivedAt, deviceId }))
  }
  return payloads
}
