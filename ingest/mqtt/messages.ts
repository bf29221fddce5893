import type { Client } from 'aedes'
import { timeOfDay, UntrustedClockError } from '../../db/clock.ts'
import type { Scheduler } from '../../fair/scheduler.ts'
import type { Log } from '../../stream/log.ts'
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
import type { ForDevices } from './for-devices.ts'
import type { Publish } from './publishes.ts'
import { sendRejections } from './rejections.ts'
import type { Sessions } from './sessions.ts'

// Reads the messages of a client by their sender and topic.

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
  { metrics, traces }: { metrics: IngestMetrics; traces: Pick<Traces, 'note'> },
  { publisher, profile, client }: Sender,
  message: Message,
): Entry[] | null {
  const { topic, payload } = message
  const format = formatOf(topic, publisher)
  const arrival = { subject: publisher.subject, receivedAt: timeOfDay(), topic }
  const reader = format ? null : readerOf(profile, topic)
  const entries = format
    ? decode(format, payload, arrival)
    : reader &&
      decodeTracker(reader, toTrackerMessage(publisher, client, message), arrival, detail =>
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

interface PublishServices {
  log: Log
  metrics: IngestMetrics
  sessions: Sessions
  scheduler: Scheduler
  traces: Pick<Traces, 'note'>
}

/**
 * Takes the will of a client that disconnected without DISCONNECT. Wills are not acknowledged, so without room in the log the
 * will is lost. [MQTT-3.1.2-8], [MQTT-3.14.4-3]
 */
export function takeWill(
  services: PublishServices & {
    intake: Intake
    forDevices: ForDevices
    onError: (error: unknown, doing: string) => void
  },
  { publisher, profile, client }: Omit<Sender, 'publisher'> & { publisher: Publisher | TrackerConnection },
  will: Message,
): void {
  if (services.log.full) return
  try {
    if (publisher.kind === 'connection') takeWillOfTracker(services, publisher, client, will)
    else if (isKey(publisher)) takeWillForDevice(services, publisher, will)
    else publishWill(services, { publisher, profile, client }, will)
  } catch (error) {
    // It runs at the end of a socket, where nobody else catches it.
    services.onError(error, 'publishing a will')
  }
}

function publishWill(services: PublishServices, sender: Sender, will: Message): void {
  const { publisher } = sender
  const entries = whileClockIsRight(() => decodePublish(services, sender, will))
  if (!entries?.length) return
  services.log.append(entries, { ended: false, subjects: [publisher] }).then(
    outcomes => sendRejections(services, publisher, [{ entries: entries.length }], entries, outcomes),
    () => {},
  )
}

function takeWillOfTracker(
  services: { intake: Intake },
  connection: TrackerConnection,
  client: Client,
  will: Message,
): void {
  const taken = whileClockIsRight(() => readPublish(services, connection, client, will))
  if (taken && taken !== 'nothing')
    services.intake.store(connection, [taken], { ended: false }, 'mqtt').catch(() => {})
}

/** The will of an API key, for one of its devices. */
function takeWillForDevice(
  { forDevices }: { forDevices: ForDevices },
  key: Publisher,
  { topic, payload }: Message,
): void {
  const taken = whileClockIsRight(() => forDevices.read(topic, payload))
  if (taken) forDevices.store(key, [taken], { ended: false }).catch(() => {})
}

function whileClockIsRight<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (error instanceof UntrustedClockError) return null
    throw error
  }
}
