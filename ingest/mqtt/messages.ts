import type { Log } from '../../stream/log.ts'
import type { Entry, Outcomes } from '../../stream/point.ts'
import type { Publisher } from '../authenticate.ts'
import { readNativeMessage, readOwnTracksMessage } from '../entries.ts'
import type { IngestMetrics } from '../metrics.ts'
import type { Group } from './inbox.ts'
import type { Packet } from './protocol.ts'
import type { Sessions } from './sessions.ts'
import { formatOf, topicsOf } from './topics.ts'

/** What messages mean: from a device its points, to a device why they were refused. */
export function createMessages(options: { log: Log; metrics: IngestMetrics; sessions: Sessions }) {
  const { log, metrics, sessions } = options

  /** The entries of a message, or null where its publisher may not publish there. */
  function read(publisher: Publisher, packet: Pick<Packet, 'topic' | 'payload'>): Entry[] | null {
    const format = formatOf(packet.topic, publisher)
    if (!format) return null
    const arrival = { subject: publisher.subject, receivedAt: Date.now(), topic: packet.topic }
    const entries =
      format === 'native'
        ? readNativeMessage(packet.payload, arrival)
        : readOwnTracksMessage(packet.payload, arrival)
    metrics.received('mqtt', entries)
    return entries
  }

  function sendRejections(publisher: Publisher, entries: readonly Entry[], outcomes: Outcomes): void {
    for (const [place, entry] of entries.entries()) {
      const outcome = outcomes.get(entry)
      const rejection =
        entry.kind === 'rejection' ? entry : outcome?.kind === 'rejected' ? outcome : undefined
      if (!rejection) continue
      if (entry.kind === 'point') metrics.rejected('mqtt', rejection.reason)
      const index = 'index' in rejection ? rejection.index : entries.length > 1 ? place : null
      const { reason, message } = rejection
      const receivedAt = new Date(entry.receivedAt).toISOString()
      const payload = JSON.stringify({ reason, message, index, receivedAt })
      sessions.send(publisher.id, `${topicsOf(publisher)}rejections`, payload)
    }
  }

  return {
    read,

    /** A will, which nobody acknowledges: where there is no room for it, it is lost. */
    takeWill(publisher: Publisher, will: Pick<Packet, 'topic' | 'payload'>): void {
      const entries = log.full ? null : read(publisher, will)
      if (entries?.length) log.append(entries, { ended: false, subjects: [publisher] }).catch(() => {})
    },

    /** Messages are durable: counts them, and tells the device what was refused. */
    acknowledged(publisher: Publisher | null, group: Group, outcomes: Outcomes): void {
      const { slots, entries, receivedAt } = group
      metrics.acknowledged('mqtt', entries.length, (performance.now() - receivedAt) / 1000)
      if (!publisher || (outcomes.size === 0 && !entries.some(entry => entry.kind === 'rejection'))) return
      let from = 0
      for (const slot of slots) {
        sendRejections(publisher, entries.slice(from, from + slot.entries), outcomes)
        from += slot.entries
      }
    },
  }
}
