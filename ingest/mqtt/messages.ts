import { timeOfDay } from '../../db/clock.ts'
import type { Entry } from '../../stream/point.ts'
import { isBridgeState, type TrackerConnection, takesTopic } from '../connections/connection.ts'
import type { Intake, Taken } from '../connections/intake.ts'
import { decode } from '../decode.ts'
import { formatOf } from '../formats/table.ts'
import { isKey, type Publisher } from '../identity/authenticate.ts'
import type { IngestMetrics } from '../metrics.ts'
import { decodeTracker } from '../profiles/decode.ts'
import type { TrackerMessage } from '../profiles/profile.ts'
import { readerOf, type UsedProfile } from '../profiles/profiles.ts'
import type { Traces } from '../traces.ts'
import type { Appending } from './appending.ts'
import type { Commands } from './commands.ts'
import type { ForDevices } from './for-devices.ts'
import type { Publish } from './publishes.ts'

// Reads the messages of a client by their sender and topic.

export type Message = Pick<Publish, 'topic' | 'payload'>

/** The sender of messages. */
export interface Sender {
  publisher: Publisher | TrackerConnection
  /** The profile of its device, by which it may publish to further topics. */
  profile: UsedProfile | null
  /** The identifier of its client, which begins with that of its credential. */
  clientId: string
  /** The topic of its points, or empty until it has published there. */
  pointsTopic: string
}

/** The points and rejections of a message, or null if its publisher may not publish there. */
export function decodePublish(
  { metrics, traces }: { metrics: IngestMetrics; traces: Pick<Traces, 'note'> },
  publisher: Publisher,
  { profile, clientId }: Sender,
  message: Message,
): Entry[] | null {
  const { topic, payload } = message
  const format = formatOf(topic, publisher)
  const arrival = { subject: publisher.subject, receivedAt: timeOfDay(), topic }
  const reader = format ? null : readerOf(profile, topic)
  const entries = format
    ? decode(format, payload, arrival)
    : reader &&
      decodeTracker(reader, toTrackerMessage(publisher, clientId, message), arrival, detail =>
        traces.note(publisher, 'no-position', { detail }),
      )
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
  clientId: string,
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
  return intake.read(connection, toTrackerMessage(connection, clientId, message))
}

function toTrackerMessage(
  { id }: { id: string },
  clientId: string,
  { topic, payload }: Message,
): TrackerMessage {
  return { payload, topic, clientId: clientId.replace(`${id}/`, ''), username: id, query: null }
}

/** Takes a message of a client, to be stored and acknowledged. Returns false if its sender may not publish there. */
export function takeMessage(
  services: {
    metrics: IngestMetrics
    traces: Pick<Traces, 'note'>
    intake: Intake
    forDevices: ForDevices
    commands: Commands
  },
  appending: Appending,
  sender: Sender,
  publish: Publish,
): boolean {
  const { publisher, pointsTopic } = sender
  if (publisher.kind === 'connection') {
    const taken = readPublish(services, publisher, sender.clientId, publish)
    if (taken === 'nothing') appending.add(publish, [])
    else if (taken) appending.take(publish, taken)
    return taken !== null
  }
  if (isKey(publisher)) {
    const taken = services.forDevices.read(publish.topic, publish.payload)
    if (taken) appending.take(publish, taken)
    return taken !== null
  }
  const stored = publish.topic === pointsTopic ? null : services.commands.answer(publisher, publish)
  if (stored) {
    appending.answer(publish, stored)
    return true
  }
  const entries = decodePublish(services, publisher, sender, publish)
  if (entries) appending.add(publish, entries)
  return entries !== null
}
