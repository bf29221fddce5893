import type { Duplex } from 'node:stream'
import type { Client } from 'aedes'
import { type TrackerConnection, takesTopic } from '../connections/connection.ts'
import { formatOf } from '../formats/table.ts'
import { isConnectionKey, isKey, type Publisher } from '../identity/authenticate.ts'
import type { Watcher } from '../identity/watcher.ts'
import { type Profiles, readerOf, type UsedProfile } from '../profiles/profiles.ts'
import type { Traces } from '../traces.ts'
import type { Connection } from './connection.ts'
import { TOKEN } from './credentials.ts'
import { MAX_CONNECTIONS_PER_CREDENTIAL, MAX_LEFT_BYTES } from './limits.ts'
import { NOT_AUTHORIZED, ProtocolError, SERVER_UNAVAILABLE } from './protocol.ts'
import { REASON } from './reasons.ts'
import type { RefusalLog, Refused } from './refusals.ts'
import { shownCertificate } from './secure-websockets.ts'
import type { Sessions } from './sessions.ts'
import { deviceOfTopic } from './topics.ts'

/**
 * Admits connections: each is authenticated once, refused or given its session, and watched from then on. A client may
 * close the socket before that; its input waits, if there is room.
 */
export interface Admission {
  /** Takes a new connection, which is not authenticated yet. */
  enter(connection: Connection): void
  /** Authenticates a client. `done` is called only if it is admitted. */
  authenticate(
    client: Client,
    username: string | undefined,
    password: string | undefined,
    done: () => void,
  ): void
  /** Handles the end of the socket of a connection. */
  leave(connection: Connection): void
}

export function createAdmission(options: {
  sessions: Sessions
  watcher: Watcher
  profiles: Profiles
  traces: Pick<Traces, 'note'>
  readPublisher: (
    username: string | undefined,
    password: string | undefined,
    stream: Duplex,
    address: string | undefined,
  ) => Promise<Sender | null>
  refusals: RefusalLog
}): Admission {
  const { sessions, watcher, profiles, traces, readPublisher } = options
  /** Clients that are being authenticated, and the bytes left by those that have disconnected meanwhile. */
  const pending = new Map<Client, { connection: Connection; leftBytes: number }>()
  let leftBytes = 0

  function admit(connection: Connection, publisher: Sender, profile: UsedProfile | null): void {
    const { client, socket } = connection
    // The identifier is private to its credential, so no client can disconnect one of another credential.
    client.id = `${publisher.id}/${client.id}`
    // [MQTT-3.1.4-2]: an older connection with this identifier is closed. Done here, because aedes sometimes forgets
    // connections.
    for (const other of sessions.socketsOf(publisher.id)) {
      if (other.client.id === client.id)
        other.leave(REASON.sessionTakenOver, 'Another client has connected under this client identifier.')
    }
    const [oldest, ...others] = sessions.socketsOf(publisher.id)
    if (others.length + 1 >= MAX_CONNECTIONS_PER_CREDENTIAL)
      oldest?.leave(REASON.quotaExceeded, 'The credential has too many connections.')
    connection.admit(publisher, sessions.open(socket, publisher), profile)
    watcher.watch(connection, publisher)
  }

  function forget(client: Client): void {
    leftBytes -= pending.get(client)?.leftBytes ?? 0
    pending.delete(client)
  }

  return {
    enter: connection => void pending.set(connection.client, { connection, leftBytes: 0 }),

    authenticate(client, username, password, done) {
      const connection = pending.get(client)?.connection
      if (!connection) return
      let profile: UsedProfile | null = null
      watcher
        .read(async () => {
          const publisher = await readPublisher(username, password, client.conn, connection.address)
          const profileId = publisher?.kind === 'device' ? publisher.profileId : null
          profile = profileId === null ? null : await profiles.use(profileId)
          return publisher
        })
        .then(
          publisher => {
            // The client has disconnected, and left nothing, or too much.
            if (!pending.has(client)) return
            const error = findRefusal(connection, publisher, profile)
            if (!publisher) options.refusals.refused({ username, by: wayOf(username, password, client.conn) })
            if (error && publisher?.kind === 'device')
              traces.note(publisher, 'wrong-will', { detail: connection.willTopic ?? '' })
            if (error) connection.socket.closeFor(error)
            else if (client.closed) connection.admitLeft(publisher as Sender, profile)
            else {
              admit(connection, publisher as Sender, profile)
              done()
            }
          },
          error =>
            connection.socket.closeFor(
              new ProtocolError('unavailable', 'authenticating', {
                returnCode: SERVER_UNAVAILABLE,
                reasonCode: REASON.serverUnavailable,
                cause: error,
              }),
            ),
        )
        .finally(() => forget(client))
    },

    leave(connection) {
      const { client, hasConnect, leftBytes: bytes } = connection
      const waiting = pending.get(client)
      if (!waiting) return
      if (!hasConnect || bytes === 0 || leftBytes + bytes > MAX_LEFT_BYTES) {
        pending.delete(client)
        connection.drop()
        return
      }
      waiting.leftBytes = bytes
      leftBytes += bytes
    },
  }
}

function wayOf(username: string | undefined, password: string | undefined, stream: Duplex): Refused['by'] {
  if (password !== undefined && isConnectionKey(password)) return 'connection'
  if (password !== undefined) return username === TOKEN ? 'token' : 'key'
  return shownCertificate(stream) ? 'certificate' : 'nothing'
}

type Sender = Publisher | TrackerConnection

const isAllowed = (topic: string, sender: Sender, profile: UsedProfile | null): boolean =>
  sender.kind === 'connection'
    ? takesTopic(sender, topic)
    : isKey(sender)
      ? deviceOfTopic(topic) !== null
      : formatOf(topic, sender) !== null || readerOf(profile, topic) !== null

/** Why an authenticated client is not accepted, or null. */
function findRefusal(
  { willTopic }: Connection,
  publisher: Sender | null,
  profile: UsedProfile | null,
): ProtocolError | null {
  const returnCode = NOT_AUTHORIZED
  if (!publisher)
    return new ProtocolError('credentials', 'a wrong user name or password', {
      returnCode,
      reasonCode: REASON.userNameOrPassword,
    })
  return willTopic !== undefined && !isAllowed(willTopic, publisher, profile)
    ? new ProtocolError('topic', 'a will on a topic that is not its own', { returnCode })
    : null
}
