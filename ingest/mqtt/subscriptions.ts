import { generate } from 'mqtt-packet'
import type { TrackerConnection } from '../connections/connection.ts'
import type { Publisher } from '../identity/authenticate.ts'
import type { Commands } from './commands.ts'
import type { Packet } from './protocol.ts'
import { REASON } from './reasons.ts'
import type { Session, Sessions } from './sessions.ts'
import { isShared, isWithinLimits, topicsOf } from './topics.ts'

export interface Services {
  sessions: Sessions
  commands: Commands
}

/** A client that was accepted. */
export interface Subscriber {
  publisher: Publisher | TrackerConnection | null
  session: Session | null
}

const VERSION_5 = { protocolVersion: 5 } as const

/** Adds a subscription to a session. Returns the granted quality of service, or the reason why it is refused. */
export function subscribe(
  { sessions, commands }: Services,
  { publisher, session }: Subscriber,
  { topic, qos }: { topic: string; qos: 0 | 1 | 2 },
): number {
  if (isShared(topic)) return REASON.sharedSubscriptions
  if (!isWithinLimits(topic)) return REASON.topicFilter
  // Other clients' topics and `$SYS/…` do not begin like this.
  const isOwn = publisher && publisher.kind !== 'connection' && topic.startsWith(topicsOf(publisher))
  if (!isOwn || !session) return REASON.notAuthorized
  if (!sessions.subscribe(session, topic, qos)) return REASON.quotaExceeded
  commands.follow(session)
  return qos
}

/** The SUBACK of a SUBSCRIBE of version 5. Nothing is published with a retain flag, or back to its sender: the options change nothing. */
export function answerSubscribe(
  services: Services,
  subscriber: Subscriber,
  { messageId = 0, subscriptions, properties }: Packet,
): Buffer {
  const hasIdentifier = properties?.subscriptionIdentifier !== undefined
  const granted = subscriptions.map(one =>
    hasIdentifier ? REASON.subscriptionIdentifiers : subscribe(services, subscriber, one),
  )
  return generate({ cmd: 'suback', messageId, granted }, VERSION_5)
}

/** The UNSUBACK of an UNSUBSCRIBE of version 5. */
export function answerUnsubscribe(
  { commands }: Services,
  session: Session,
  { messageId = 0, unsubscriptions }: Packet,
): Buffer {
  const known = new Set(session.filters.keys())
  const granted = unsubscriptions.map(filter =>
    known.delete(filter) ? REASON.success : REASON.noSubscription,
  )
  commands.unsubscribe(session, unsubscriptions)
  return generate({ cmd: 'unsuback', messageId, granted }, VERSION_5)
}
