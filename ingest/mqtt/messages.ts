import type { Client } from 'aedes'
import { timeOfDay, UntrustedClockError } from '../../db/clock.ts'
import type { Scheduler } from '../../fair/scheduler.ts'
import type { Log } from '../../stream/log.ts'
import type { Entry } from '../../stream/point.ts'
import { isBridgeState, type TrackerConnection, takesTopic } from '../connections/connection.ts'
import type { Intake, Taken } from '../connections/intake.ts'
import { decode } from '../decode.ts'
import { formatOf } from '../formats/table.ts'
import type { Publisher } from '../identity/authenticate.ts'
import type { IngestMetrics } from '../metrics.ts'
import { decodeTracker } from '../profiles/decode.ts'
import type { TrackerMessage } from '../profiles/profile.ts'
import { readerOf, type UsedProfile } from '../profiles/profiles.ts'
import type { Publish } from './publishes.ts'
import { sendRejections } from './rejections.ts'
import type { Sessions } from './sessions.ts'

// What the messages of a client are, by their sender and topic.

type Message = Pick<Publish, 'topic' | 'payload'>

/** The sender of a message whose points are its own. */
interface Sender {
  publisher: Publisher
  /** The profile of its device, by which it may publish to further topics. */
  profile: UsedProfile | null
  client: Client
}

/** The points and rejections of a message, or null if its publisher may not publish there. */
export function decodePublish(
  { metrics }: { metrics: IngestMetrics },
  { publisher, profile, client }: Sender,
  message: Message,
): Entry[] | null {
  const { topic, payload } = message
  const format = formatOf(topic, publisher)
  const arrival = { subject: publisher.subject, receivedAt: timeOfDay(), topic }
  const reader = format ? null : readerOf(profile, topic)
  const entries = format
    ? decode(format, payload, arrival)
    : reader && decodeTracker(reader, toTrackerMessage(publisher, client, message), arrival)
  if (entries) metrics.received('mqtt', entries)
  return entries
}

/**
 * A message of trackers as the profile of their connection reads it; `nothing` for one that never holds a position, and
 * null if clients of the connection may not publish there.
 */
export function readPublish(
  { intake }: { intake: Intake },
  connection: TrackerConnection,
  client: Client,
  message: Message,
): Taken | 'nothing' | null {
  const { topic, payload } = message
  if (!takesTopic(connection, topic)) {
    const filter = connection.profile.reader?.topic
    const sentence = `A client published to ${topic.slice(0, 100)}; the profile takes ${filter ?? 'nothing any more'}.`
    intake.journal.complain(connection, sentence)
    return null
  }
  // An empty message clears a retained one.
  if (isBridgeState(topic) || payload.length === 0) return 'nothing'
  return intake.read(connection, toTrackerMessage(connection, client, message))
}

function toTrackerMessage(
  { id }: { id: string },
  client: Client,
  { topic, payload }: Message,
): TrackerMessage {
  // The identifier of an accepted client begins with that of its credential.
  return { payload, topic, clientId: client.id.replace(`${id}/`, ''), username: id, query: null }
}

/**
 * Publishes the will of a client that disconnected without DISCONNECT. Wills are not acknowledged, so without room in
 * the log the will is lost. [MQTT-3.1.2-8], [MQTT-3.14.4-3]
 */
export function publishWill(
  services: { log: Log; metrics: IngestMetrics; sessions: Sessions; scheduler: Scheduler },
  sender: Sender,
  will: Message,
): void {
  const { publisher } = sender
  const entries = whileClockIsRight(() => decodePublish(services, sender, will))
  if (!entries?.length) return
  services.log.append(entries, { ended: false, subjects: [publisher] }).then(
    outcomes => sendRejections(services, publisher, [{ entries: entries.length }], entries, outcomes),
    () => {},
  )
}

/** The same of a client of a connection for trackers. */
export function takeWill(
  services: { intake: Intake },
  connection: TrackerConnection,
  client: Client,
  will: Message,
): void {
  const taken = whileClockIsRight(() => readPublish(services, connection, client, will))
  if (taken && taken !== 'nothing')
    services.intake.store(connection, [taken], { ended: false }, 'mqtt').catch(() => {})
}

function whileClockIsRight<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (error instanceof UntrustedClockError) return null
    throw error
  }
}
