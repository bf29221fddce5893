import { UntrustedClockError } from '../../db/clock.ts'
import type { Scheduler } from '../../fair/scheduler.ts'
import type { Log } from '../../stream/log.ts'
import type { TrackerConnection } from '../connections/connection.ts'
import type { Intake } from '../connections/intake.ts'
import { isKey, maySend, type Publisher } from '../identity/authenticate.ts'
import type { Watched, Watcher } from '../identity/watcher.ts'
import type { IngestMetrics } from '../metrics.ts'
import type { Traces } from '../traces.ts'
import type { ForDevices } from './for-devices.ts'
import { decodePublish, type Message, readPublish, type Sender } from './messages.ts'
import type { Packet } from './protocol.ts'
import { sendRejections } from './rejections.ts'
import type { Session, Sessions } from './sessions.ts'
import type { ClientSocket } from './socket.ts'

/** The message that a client leaves for the case that its connection breaks off. */
export interface Will extends Message {
  /** How long it waits for the client's return, in version 5. */
  delayMs: number
}

/** Takes the will out of a CONNECT. */
export function takeOut(packet: Packet): Will | undefined {
  const { will } = packet
  if (!will) return undefined
  packet.will = undefined
  const delayMs = (will.properties?.willDelayInterval ?? 0) * 1000
  return { topic: will.topic, payload: Buffer.from(will.payload), delayMs }
}

/** Publishes the will of a connection that has ended, at once or when its delay is over. */
export function publishWill(
  services: WillServices,
  sender: Sender,
  { session, socket }: { session: Session | null; socket: ClientSocket },
  will: Will,
): void {
  const { sessions, watcher } = services
  const publish = () => takeWill(services, sender, will)
  if (!session || will.delayMs === 0) {
    publish()
    return
  }
  // It goes with the credential, as the connection would have.
  const waiting: Watched = { follow: maySend, end: () => sessions.dropWill(session) }
  watcher.watch(waiting, sender.publisher)
  watcher.recheck(waiting)
  const onTaken = () => watcher.forget(waiting)
  sessions.delayWill(
    session,
    socket,
    { publish, onTaken, bytes: Buffer.byteLength(will.topic) + will.payload.length },
    will.delayMs,
  )
}

interface PublishServices {
  log: Log
  metrics: IngestMetrics
  sessions: Sessions
  scheduler: Scheduler
  traces: Pick<Traces, 'note'>
}

interface WillServices extends PublishServices {
  watcher: Pick<Watcher, 'watch' | 'recheck' | 'forget'>
  intake: Intake
  forDevices: ForDevices
  onError: (error: unknown, doing: string) => void
}

/**
 * Takes the will of a client that disconnected without DISCONNECT. Wills are not acknowledged, so without room in the log the
 * will is lost. [MQTT-3.1.2-8], [MQTT-3.14.4-3]
 */
function takeWill(services: WillServices, sender: Sender, will: Message): void {
  if (services.log.full) return
  try {
    const { publisher } = sender
    if (publisher.kind === 'connection') takeWillOfTracker(services, publisher, sender.clientId, will)
    else if (isKey(publisher)) takeWillForDevice(services, publisher, will)
    else takeWillOfPublisher(services, publisher, sender, will)
  } catch (error) {
    // It runs at the end of a socket, where nobody else catches it.
    services.onError(error, 'publishing a will')
  }
}

function takeWillOfPublisher(
  services: PublishServices,
  publisher: Publisher,
  sender: Sender,
  will: Message,
): void {
  const entries = whileClockIsRight(() => decodePublish(services, publisher, sender, will))
  if (!entries?.length) return
  services.log.append(entries, { ended: false, subjects: [publisher] }).then(
    outcomes => sendRejections(services, publisher, [{ entries: entries.length }], entries, outcomes),
    () => {},
  )
}

function takeWillOfTracker(
  services: { intake: Intake },
  connection: TrackerConnection,
  clientId: string,
  will: Message,
): void {
  const taken = whileClockIsRight(() => readPublish(services, connection, clientId, will))
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
