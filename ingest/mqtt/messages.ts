import type { Log } from '../../stream/log.ts'
import type { Entry, Outcomes } from '../../stream/point.ts'
import { readMessage } from '../decode.ts'
import type { Publisher } from '../identity/authenticate.ts'
import type { IngestMetrics } from '../metrics.ts'
import type { Turns } from '../turns.ts'
import type { Group } from './ack-queue.ts'
import type { Packet } from './protocol.ts'
import type { Sessions } from './sessions.ts'
import { formatOf, topicsOf } from './topics.ts'

/** What messages mean: from a device its points, to a device why they were refused. */
export function createMessages(options: {
  log: Log
  metrics: IngestMetrics
  sessions: Sessions
  turns: Turns
}) {
  const { log, metrics, sessions, turns } = options

  /** The entries of a message, or null where its publisher may not publish there. */
  function read(publisher: Publisher, packet: Pick<Packet, 'topic' | 'payload'>): Entry[] | null {
    const format = formatOf(packet.topic, publisher)
    if (!format) return null
    const arrival = { subject: publisher.subject, receivedAt: Date.now(), topic: packet.topic }
    const entries = readMessage(format, packet.payload, arrival)
    metrics.received('mqtt', entries)
    return entries
  }

  /** Tells the device what of one message was refused. */
  function sendRejections(publisher: Publisher, entries: readonly Entry[], outcomes: Outcomes): void {
    const payloads: string[] = []
    for (const [place, entry] of entries.entries()) {
      const outcome = outcomes.get(entry)
      const rejection =
        entry.kind === 'rejection' ? entry : outcome?.kind === 'rejected' ? outcome : undefined
      if (!rejection) continue
      if (entry.kind === 'point') metrics.rejected('mqtt', rejection.reason)
      const index = 'index' in rejection ? rejection.index : entries.length > 1 ? place : null
      const { reason, message } = rejection
      const receivedAt = new Date(entry.receivedAt).toISOString()
      payloads.push(JSON.stringify({ reason, message, index, receivedAt }))
    }
    if (payloads.length > 0) sessions.send(publisher.id, `${topicsOf(publisher)}rejections`, payloads)
  }

  return {
    read,

    /** A will, which nobody acknowledges: where there is no room for it, it is lost. */
    takeWill(publisher: Publisher, will: Pick<Packet, 'topic' | 'payload'>): void {
      const entries = log.full ? null : read(publisher, will)
      if (!entries?.length) return
      log.append(entries, { ended: false, subjects: [publisher] }).then(
        outcomes => sendRejections(publisher, entries, outcomes),
        () => {},
      )
    },

    /** Messages are durable: counts them, and tells the device what was refused. */
    acknowledged(publisher: Publisher | null, group: Group, outcomes: Outcomes): void {
      const { slots, entries, receivedAt } = group
      metrics.acknowledged('mqtt', entries.length, (performance.now() - receivedAt) / 1000)
      if (!publisher || (outcomes.size === 0 && !entries.some(entry => entry.kind === 'rejection'))) return
      // To many who listen a message of 1,000 is long, and a batch of the log is many messages.
      let [index, from] = [0, 0]
      turns.enter(publisher.organizationId, () => {
        const to = from + (slots[index++]?.entries ?? 0)
        sendRejections(publisher, entries.slice(from, to), outcomes)
        from = to
        return index < slots.length
      })
    },
  }
}
