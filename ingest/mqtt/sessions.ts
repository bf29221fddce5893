import { timeOfDay } from '../../db/clock.ts'
import type { Credential } from '../identity/authenticate.ts'
import {
  MAX_QUEUED,
  MAX_QUEUED_IN_ALL,
  MAX_SESSIONS_AWAY,
  MAX_SESSIONS_AWAY_IN_ALL,
  MAX_SUBSCRIPTIONS,
  MAX_WILL_BYTES_IN_ALL,
  SESSION_AWAY_MS,
} from './limits.ts'
import { encodePublish } from './outgoing.ts'
import type { ClientSocket } from './socket.ts'
import { USUAL_TERMS } from './terms.ts'
import { matches } from './topics.ts'

/**
 * The session of a client identifier: its owner, its subscriptions, and the messages on their way to it. A clean session
 * ends with the connection. A kept one waits for its client's return, in memory and within bounds, and a restart of the
 * server ends it. In version 5 the client says for how long it waits, and perhaps that its will waits with it.
 *
 * Messages go from here to the socket, not through aedes. In aedes one frozen subscriber blocks all others, and a client
 * with a kept session that subscribes to another client's topic and its own in one packet gets both.
 */
export interface Session {
  /** The client's identifier, prefixed with the id of the device or user, so that it is private to the owner. */
  readonly clientId: string
  readonly owner: Owner
  /** How long it waits for its client's return; 0 ends it with the connection. */
  keptMs: number
  /** The socket of the open connection, or null while the client is away. */
  socket: ClientSocket | null
  /** Whether the CONNACK says that the session was kept. [MQTT-3.2.2-2] */
  resumed: boolean
  /** How often it was opened: a connection knows by it whether its client has returned since. */
  openings: number
  /** When it ends if its client does not return, by `performance.now()`. */
  endsAt: number
  will: DelayedWill | null
  filters: Map<string, 0 | 1 | 2>
  queue: Message[]
  nextId: number
}

/** The device or user that a session is bound to, or the connection of trackers, which subscribes to nothing. */
type Owner = { kind: Credential['kind']; id: string; organizationId: string }

/** A will that waits for its client's return, and is published without it. [MQTT 5, 3.1.3.2.2] */
interface DelayedWill {
  bytes: number
  /** Called once it waits no more, whether it is published or dropped. */
  onTaken: () => void
  /** By `performance.now()`. */
  at: number
  publish: () => void
}

interface Message {
  /** The packet identifier, set when the message is first sent. */
  id: number
  topic: string
  /** Empty for a command that has been sent: it is read again for the client's return. */
  payload: string
  /** The socket that it was written to last. */
  sentTo: ClientSocket | null
  /** The command that it is, and the socket that it was meant for last. */
  command?: { id: string; socket: ClientSocket | null; isNew: boolean; expiresAt: Date }
}

/** A command as it is sent to a device. */
interface CarriedCommand {
  id: string
  payload: string
  expiresAt: Date
  /** Whether it was never sent before: all others come with DUP. */
  isNew: boolean
}

export class Sessions {
  readonly #byClientId = new Map<string, Session>()
  readonly #byOwner = new Map<string, Set<Session>>()
  /** Sessions whose client is away, the longest away first. */
  readonly #away = new Set<Session>()
  /** Sessions whose client left a will that waits. */
  readonly #wills = new Set<Session>()
  #willBytes = 0
  /** Called with a command that is larger than its client takes. */
  onTooLarge: (session: Session, commandId: string) => void = () => {}
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
      socket?.client.closed === false && !socket.isClosing ? socket : [],
    )
  }

  /**
   * Opens the session of an authenticated client of `owner`. [MQTT-3.1.2-4], [MQTT-3.1.2-6] In version 5 a client may resume its
   * session and let it end with this connection, or begin one that is kept. [MQTT 5, 3.1.2.4]
   */
  open(socket: ClientSocket, { kind, id, organizationId }: Owner): Session {
    const { client, terms } = socket
    const { id: clientId, clean } = client
    const known = this.#byClientId.get(clientId)
    const asked = terms ? terms.sessionSeconds * 1000 : clean ? 0 : SESSION_AWAY_MS
    const keptMs = kind === 'connection' ? 0 : asked
    const resumed = !clean && known !== undefined && known.keptMs > 0
    if (known && !resumed) this.#end(known)
    const owner = { kind, id, organizationId }
    const fresh = {
      clientId,
      owner,
      openings: 0,
      endsAt: 0,
      will: null,
      filters: new Map(),
      queue: [],
      nextId: 1,
    }
    const session: Session = Object.assign(resumed ? known : fresh, { socket, resumed, keptMs })
    this.#takeWill(session)
    socket.opening = ++session.openings
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
      this.#takeWill(session)
      this.#end(session)
    }
  }

  /**
   * [MQTT-4.4.0-1]: sends unacknowledged messages again, and new ones for the first time. Commands among them may have expired
   * or been answered meanwhile: `carry` sends those that have not.
   */
  resume(session: Session): void {
    forgetCommands(session)
    this.#write(session)
  }

  /** Handles the end of the connection. */
  leave(session: Session, socket: ClientSocket): void {
    if (session.socket !== socket) return
    if (session.keptMs > 0) {
      session.socket = null
      session.endsAt = performance.now() + session.keptMs
      forgetCommands(session)
      this.#away.add(session)
      this.#makeRoom(session.owner.id)
    } else {
      this.#end(session)
    }
  }

  /** Publishes the will of a connection that has ended, once its delay is over or its session ends. [MQTT 5, MQTT-3.1.2-8] */
  delayWill(session: Session, socket: ClientSocket, will: Omit<DelayedWill, 'at'>, delayMs: number): void {
    // Its client has returned to the session.
    if (session.openings !== socket.opening) {
      will.onTaken()
      return
    }
    this.#takeWill(session)
    const hasEnded = this.#byClientId.get(session.clientId) !== session || session.keptMs === 0
    if (hasEnded || this.#willBytes + will.bytes > MAX_WILL_BYTES_IN_ALL) {
      will.onTaken()
      will.publish()
      return
    }
    session.will = { ...will, at: performance.now() + delayMs }
    this.#willBytes += will.bytes
    this.#wills.add(session)
  }

  /** Takes the will that waits in a session, if there is one. */
  #takeWill(session: Session): DelayedWill | null {
    const { will } = session
    if (!will) return null
    session.will = null
    this.#willBytes -= will.bytes
    this.#wills.delete(session)
    will.onTaken()
    return will
  }

  /** Drops the will that waits in a session, because the credential of its sender has ended. */
  dropWill(session: Session): void {
    this.#takeWill(session)
  }

  /** Publishes all wills that wait: the process ends, and its sessions with it. */
  close(): void {
    for (const session of this.#wills) this.#takeWill(session)?.publish()
  }

  /** Adds the filter if the session has room for it. Returns whether it has. [MQTT-3.8.4-3] */
  subscribe(session: Session, filter: string, qos: 0 | 1 | 2): boolean {
    if (!session.filters.has(filter) && session.filters.size >= MAX_SUBSCRIPTIONS) return false
    session.filters.set(filter, qos)
    return true
  }

  /** Sends messages to all of `owner`'s sessions that have subscribed to the topic. */
  send(owner: string, topic: string, payloads: readonly string[]): void {
    const together = new Map<boolean, Buffer>()
    for (const session of this.#byOwner.get(owner) ?? []) {
      const qos = qualityOf(session, topic)
      // With QoS 0 nothing is kept for a client that does not read, and all clients share the same bytes.
      if (qos === 0 && session.socket?.client.connected) {
        const { terms } = session.socket
        const encode = () => payloads.map(payload => encodePublish({ topic, payload }, terms))
        const bytes = together.get(terms !== null) ?? Buffer.concat(encode())
        together.set(terms !== null, bytes)
        const max = terms?.maxPacketBytes ?? Number.POSITIVE_INFINITY
        const fitting = bytes.length <= max ? [bytes] : encode().filter(({ length }) => length <= max)
        for (const one of fitting) session.socket.offer(one)
      }
      if (qos !== 1) continue
      for (const payload of payloads) {
        // The newest is dropped: a client that acknowledges nothing has no use for it, and it can be read over HTTP.
        if (session.queue.length >= MAX_QUEUED || this.#queued >= MAX_QUEUED_IN_ALL) break
        session.queue.push({ id: 0, topic, payload, sentTo: null })
        this.#queued++
      }
      this.#write(session)
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
    for (const { id, payload, isNew, expiresAt } of commands) {
      let message = session.queue.find(({ command }) => command?.id === id)
      if (!message) {
        message = { id: 0, topic, payload: '', sentTo: null }
        session.queue.push(message)
        this.#queued++
      }
      if (message.command?.socket === session.socket) continue
      message.command = { id, socket: session.socket, isNew, expiresAt }
      message.payload = payload
    }
    this.#write(session)
  }

  /** Handles a PUBACK. Returns the command that it acknowledges, if it is one. */
  acknowledge(session: Session, id: number): string | undefined {
    const index = session.queue.findIndex(message => message.id === id)
    if (index === -1) return undefined
    const [message] = session.queue.splice(index, 1)
    this.#queued--
    this.#write(session)
    return message?.command?.id
  }

  #drop(session: Session, message: Message): void {
    session.queue = session.queue.filter(one => one !== message)
    this.#queued--
  }

  /** Writes the messages that this connection has not been sent, as far as its client wants them at once. [MQTT 5, 4.9] */
  #write(session: Session): void {
    const { socket, queue } = session
    if (!socket?.client.connected) return
    const { receiveMaximum, maxPacketBytes } = socket.terms ?? USUAL_TERMS
    let room = receiveMaximum - queue.filter(({ sentTo }) => sentTo === socket).length
    // A command without a payload is not carried by this connection yet.
    for (const message of queue.filter(({ sentTo, payload }) => sentTo !== socket && payload !== '')) {
      if (room <= 0) return
      // Who acknowledged late is sent nothing that has expired meanwhile.
      if (message.command && message.command.expiresAt.getTime() <= timeOfDay()) {
        this.#drop(session, message)
        continue
      }
      const isDup = message.id > 0 || message.command?.isNew === false
      if (message.id === 0) message.id = takeId(session)
      const bytes = encodePublish({ ...message, qos: 1, dup: isDup }, socket.terms)
      message.sentTo = socket
      if (message.command) message.payload = ''
      // [MQTT 5, MQTT-3.1.2-25]: a message that is larger than its client takes counts as sent.
      if (bytes.length > maxPacketBytes) {
        this.#drop(session, message)
        if (message.command) this.onTooLarge(session, message.command.id)
        continue
      }
      room--
      socket.write(bytes)
    }
  }

  /** Ends sessions whose client has been away for too long. */
  expire(now: number): void {
    for (const session of this.#away) if (session.endsAt <= now) this.#end(session)
    for (const session of this.#wills)
      if (session.will && session.will.at <= now) this.#takeWill(session)?.publish()
  }

  /** Whether the CONNACK says that the session was kept. In MQTT 3.1 that byte is reserved. */
  isResumed(clientId: string): boolean {
    const session = this.#byClientId.get(clientId)
    return session?.resumed === true && session.socket?.client.version === 4
  }

  #end(session: Session): void {
    this.#takeWill(session)?.publish()
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

function forgetCommands(session: Session): void {
  for (const message of session.queue) if (message.command) message.payload = ''
}

/** A packet identifier that the session does not use. [MQTT-2.3.1-2] */
function takeId(session: Session): number {
  let id = session.nextId
  while (session.queue.some(message => message.id === id)) id = (id % 65_535) + 1
  session.nextId = (id % 65_535) + 1
  return id
}
