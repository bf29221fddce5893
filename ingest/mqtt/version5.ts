import { randomUUID } from 'node:crypto'
import type { Client } from 'aedes'
import { signIn } from './aedes.ts'
import { MIN_CLIENT_PACKET_BYTES } from './limits.ts'
import { type Packet, ProtocolError } from './protocol.ts'
import { REASON } from './reasons.ts'
import type { Session } from './sessions.ts'
import type { ClientSocket } from './socket.ts'
import { answerSubscribe, answerUnsubscribe, type Services, type Subscriber } from './subscriptions.ts'
import { acceptance, capSession, readTerms } from './terms.ts'

// The packets of MQTT 5 that are answered in another way than those of 3.1.1, which aedes answers. All that concerns a message is
// the same in both (`connection.ts`), except for what its acknowledgement says.

interface Client5 extends Subscriber {
  readonly client: Client
  readonly socket: ClientSocket
}

/** Answers a packet. Returns false for one that aedes handles, whatever its version is. */
export function answerVersion5(services: Services, client: Client5, packet: Packet): boolean {
  const { session, socket } = client
  switch (packet.cmd) {
    case 'connect':
      connect(client, packet)
      return true
    case 'subscribe':
      answer(socket, answerSubscribe(services, client, packet))
      return true
    case 'unsubscribe':
      if (session) answer(socket, answerUnsubscribe(services, session, packet))
      return true
    default:
      return false
  }
}

function connect(connection: Client5, packet: Packet): void {
  const { client, socket } = connection
  const assignedId = packet.clientId === '' ? randomUUID() : undefined
  socket.terms = readTerms(packet)
  if (socket.terms.maxPacketBytes < MIN_CLIENT_PACKET_BYTES)
    throw new ProtocolError('limit', 'the client takes no CONNACK', { reasonCode: REASON.packetTooLarge })
  signIn(client, assignedId === undefined ? packet : { ...packet, clientId: assignedId }, {
    onAdmitted() {
      const { session } = connection
      if (session) socket.write(acceptance(session, assignedId))
    },
    onSilent: () => socket.leave(REASON.keepAliveTimeout, 'The keepalive is over.'),
  })
}

/** [MQTT 5, MQTT-3.1.2-24] */
function answer(socket: ClientSocket, bytes: Buffer): void {
  if (socket.terms && bytes.length > socket.terms.maxPacketBytes)
    throw new ProtocolError('limit', 'the answer is larger than the client takes', {
      reasonCode: REASON.packetTooLarge,
    })
  socket.write(bytes)
}

/** A DISCONNECT may change how long the session is kept, unless it was to end with the connection. [MQTT 5, 3.14.2.2.2] */
export function keepSession(session: Session, { terms }: ClientSocket, { properties }: Packet): void {
  const seconds = properties?.sessionExpiryInterval
  if (seconds === undefined) return
  if (terms?.sessionSeconds === 0 && seconds > 0)
    throw new ProtocolError('protocol', 'MQTT 5, section 3.14.2.2.2: a session that was not to be kept')
  // That of a connection of trackers is never kept.
  if (session.keptMs > 0) session.keptMs = capSession(seconds) * 1000
}
