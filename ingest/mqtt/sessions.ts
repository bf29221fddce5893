import { generate } from 'mqtt-packet'
import type { Credential } from '../identity/authenticate.ts'
import {
  MAX_QUEUED,
  MAX_QUEUED_IN_ALL,
  MAX_SESSIONS_AWAY,
  MAX_SESSIONS_AWAY_IN_ALL,
  MAX_SUBSCRIPTIONS,
  SESSION_AWAY_MS,
} from './limits.ts'
import type { ClientSocket } from './socket.ts'
import { matches } from './topics.ts'

/**
 * The session of a client identifier: its owner, its subscriptions, and the messages on their way to it. A clean session
 * ends with the connection. A kept one waits for its client's return, in memory and within bounds, and a restart of the
 * server ends it.
 *
 * Messages go from here to the socket, not through aedes. In aedes one frozen subscriber blocks all others, and a client
 * with a kept session that subscribes to another client's topic and its own in one packet gets both.
 */
export interface Session {
  /** The client's identifier, prefixed with the id of the device or user, so that it is private to the owner. */
  readonly clientId: string
  readonly owner: Owner
  readonly kept: boolean
  /** The socket of the open connection, or null while the client is away. */
  socket: ClientSocket | null
  /** Whether the CONNACK says that the session was kept. [MQTT-3.2.2-2] */
  resumed: boolean
  awaySince: number
  filters: Map<string, 0 | 1 | 2>
  queue: Message[]
  nextId: number
}

/** The device or user that a session is bound to, or the connection of trackers, which subscribes to nothing. */
type Owner = { kind: Credential['kind']; id: string; organizationId: string }

interface Message {
  /** The packet identifier, set when the message is first sent. */
  id: number
  topic: string
  /** Empty for a command, which is read again for the client's return. */
  payload: string
  /** The command that it is, and the socket that it was written to last. */
  command?: { id: string; socket: ClientSocket | null }
}

/** A command as it is sent to a device. */
interface CarriedCommand {
  id: string
  payload: string
  /** Whether it was never sent before: all others come with DUP. */
  isNew: boolean
}

const PUBLISH = { cmd: 'publish', qos: 0, dup: false, retain: false } as const

export class Sessions {
  readonly #byClientId = new Map<string, Session>()
  readonly #byOwner = new Map<string, Set<Session>>()
  /** Sessions whose client is away, the longest away first. */
  readonly #away = new Set<Session>()
  #queued = 0

  get away(): number {
    return this.#away.size
  }

  get queued(): number {
    return this.#queued
  }

  /** The sockets of a credential's open connections, oldest first. */
  socketsOf(owner: string): ClientSocket[] {
    return [...(this.#byOwner.get(owner) ?? [])].flatMap(({ socket }) =>
      socket?.client.closed === false ? socket : [],
    )
  }

  /** Opens the session of an authenticated client of `owner`. [MQTT-3.1.2-4], [MQTT-3.1.2-6] */
  open(socket: ClientSocket, { kind, id, organizationId }: Owner): Session {
    const { id: clientId, clean } = socket.client
    const known = this.#byClientId.get(clientId)
    const kept = !clean && kind !== 'connection'
    const resumed = kept && known?.kept === true
    if (known && !resumed) this.#end(known)
    const owner = { kind, id, organizationId }
    const fresh = { clientId, owner, kept, awaySince: 0, filters: new Map(), queue: [], nextId: 1 }
    const session: Session = Object.assign(resumed ? (known as Session) : fresh, { socket, resumed })
    this.#away.delete(session)
    this.#byClientId.set(clientId, session)
    const siblings = this.#byOwner.get(id)
    // Moves to the end, because this connection is the newest.
    siblings?.delete(session)
    if (siblings) siblings.add(session)
    else this.#byOwner.set(id, new Set([session]))
    return session
  }

  /** The devices with sessions, open or away. */
  deviceIds(): string[] {
    return [...this.#byOwner].flatMap(([id, [session]]) => (session?.owner.kind === 'device' ? id : []))
  }

  /** Ends the sessions of a deleted device. */
  endOf(owner: string): void {
    for (const session of [...(this.#byOwner.get(owner) ?? [])]) {
      session.socket = null
      this.#end(session)
    }
  }

  /**
   * [MQTT-4.4.0-1]: sends unacknowledged messages again, and new ones for the first time. Commands among them may have expired
   * or been answered meanwhile: `carry` sends those that have not.
   */
  resume(session: Session): void {
    for (const message of session.queue) if (!message.command) write(session, message, message.payload)
  }

  /** Handles the end of the connection. */
  leave(session: Session, socket: ClientSocket): void {
    if (session.socket !== socket) return
    if (session.kept) {
      session.socket = null
      session.awaySince = performance.now()
      this.#away.add(session)
      this.#makeRoom(session.owner.id)
    } else {
      this.#end(session)
    }
  }

  /** Adds the filter if the session has room for it. Returns whether it has. [MQTT-3.8.4-3] */
  subscribe(session: Session, filter: string, qos: 0 | 1 | 2): boolean {
    if (!session.filters.has(filter) && session.filters.size >= MAX_SUBSCRIPTIONS) return false
    session.filters.set(filter, qos)
    return true
  }

  /** Sends messages to all of `owner`'s sessions that have subscribed to the topic. */
  send(owner: string, topic: string, payloads: readonly string[]): void {
    let together: Buffer | undefined
    for (const session of this.#byOwner.get(owner) ?? []) {
      const qos = qualityOf(session, topic)
      // With QoS 0 nothing is kept for a client that does not read, and all clients share the same bytes.
      if (qos === 0 && session.socket?.client.connected) {
        together ??= Buffer.concat(payloads.map(payload => generate({ ...PUBLISH, topic, payload })))
        session.socket.offer(together)
      }
      if (qos !== 1) continue
      for (const payload of payloads) {
        // The newest is dropped: a client that acknowledges nothing has no use for it, and it can be read over HTTP.
        if (session.queue.length >= MAX_QUEUED || this.#queued >= MAX_QUEUED_IN_ALL) break
        const message = { id: 0, topic, payload }
        session.queue.push(message)
        this.#queued++
        write(session, message, payload)
      }
    }
  }

  /** Whether the session receives messages on the topic with QoS 1. */
  isSubscribed(session: Session, topic: string): boolean {
    return qualityOf(session, topic) === 1
  }

  /** Whether commands wait for the client's PUBACK. */
  carries(session: Session): boolean {
    return session.queue.some(({ command }) => command !== undefined)
  }

  /**
   * Sends commands, oldest first, except for those that this connection has been sent already. A client's return keeps their packet
   * identifiers. The session forgets all other commands.
   */
  carry(session: Session, topic: string, commands: readonly CarriedCommand[]): void {
    const ids = new Set(commands.map(({ id }) => id))
    const before = session.queue.length
    session.queue = session.queue.filter(({ command }) => !command || ids.has(command.id))
    this.#queued -= before - session.queue.length
    for (const { id, payload, isNew } of commands) {
      let message = session.queue.find(({ command }) => command?.id === id)
      if (!message) {
        message = { id: 0, topic, payload: '', command: { id, socket: null } }
        session.queue.push(message)
        this.#queued++
      }
      if (message.command?.socket === session.socket) continue
      message.command = { id, socket: session.socket }
      write(session, message, payload, !isNew)
    }
  }

  /** Handles a PUBACK. Returns the command that it acknowledges, if it is one. */
  acknowledge(session: Session, id: number): string | undefined {
    const index = session.queue.findIndex(message => message.id === id)
    if (index === -1) return undefined
    const [message] = session.queue.splice(index, 1)
    this.#queued--
    return message?.command?.id
  }

  /** Ends sessions whose client has been away for too long. */
  expire(now: number): void {
    for (const session of this.#away) {
      if (now - session.awaySince < SESSION_AWAY_MS) break
      this.#end(session)
    }
  }

  /** Whether the CONNACK says that the session was kept. In MQTT 3.1 that byte is reserved. */
  isResumed(clientId: string): boolean {
    const session = this.#byClientId.get(clientId)
    return session?.resumed === true && session.socket?.client.version === 4
  }

  #end(session: Session): void {
    this.#away.delete(session)
    this.#queued -= session.queue.length
    session.queue = []
    if (this.#byClientId.get(session.clientId) === session) this.#byClientId.delete(session.clientId)
    const siblings = this.#byOwner.get(session.owner.id)
    siblings?.delete(session)
    if (siblings?.size === 0) this.#byOwner.delete(session.owner.id)
  }

  #makeRoom(owner: string): void {
    const own = [...(this.#byOwner.get(owner) ?? [])].filter(({ socket }) => socket === null)
    for (const session of own.slice(0, Math.max(0, own.length - MAX_SESSIONS_AWAY))) this.#end(session)
    for (const session of this.#away) {
      if (this.#away.size <= MAX_SESSIONS_AWAY_IN_ALL) break
      this.#end(session)
    }
  }
}

/** The highest requested quality of service, or null without a subscription. [MQTT-3.3.5-1] */
function qualityOf(session: Session, topic: string): 0 | 1 | null {
  let best: number | null = null
  for (const [filter, qos] of session.filters) if (matches(filter, topic)) best = Math.max(best ?? 0, qos)
  return best === null ? null : best > 0 ? 1 : 0
}

function write(session: Session, message: Message, payload: string, isKnown = message.id > 0): void {
  const { socket } = session
  if (!socket?.client.connected) return
  const dup = isKnown || message.id > 0
  if (message.id === 0) message.id = takeId(session)
  const { topic, id } = message
  socket.write(generate({ ...PUBLISH, topic, payload, qos: 1, dup, messageId: id }))
}

/** A packet identifier that the session does not use. [MQTT-2.3.1-2] */
function takeId(session: Session): number {
  let id = session.nextId
  while (session.queue.some(message => message.id === id)) id = (id % 65_535) + 1
  session.nextId = (id % 65_535) + 1
  return id
}
