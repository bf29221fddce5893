import { type Database, newId } from '../../db/client.ts'
import { timeOfDay } from '../../db/clock.ts'
import { withDemand } from '../../db/demand.ts'
import { isAway, isTransient } from '../../db/errors.ts'
import { createLookup } from '../../db/lookup.ts'
import {
  answerCommands,
  carryCommands,
  type HandedOver,
  listDevicesWithCommands,
  receiveCommands,
  releaseCommands,
} from '../../db/queries/commands.ts'
import { retry } from '../../db/retry.ts'
import type { Publisher } from '../identity/authenticate.ts'
import { type AnswerOutcome, type BadAnswer, commandOfTopic, readAnswer } from './command-answers.ts'
import { CommandTurns, type Device, type Turn } from './command-turns.ts'
import { MAX_CARRIED_COMMANDS } from './limits.ts'
import type { Publish } from './publishes.ts'
import type { Session, Sessions } from './sessions.ts'
import type { ClientSocket } from './socket.ts'
import { topicsOf } from './topics.ts'

/** A connection that is subscribed to the commands of its device. */
interface Carrier {
  id: string
  session: Session
  socket: ClientSocket
  /** It has not had a turn yet, and takes over what earlier connections had. */
  takesOver: boolean
}

const LOOK_EVERY_MS = 30_000
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 2_000
/** A database that is away does not delay the end of the process. */
const CLOSE_WITHIN_MS = 2_000

/**
 * Commands on their way to devices (docs/commands.md). The table is the truth, and this file keeps nothing that it could not read
 * there again. It knows which connections carry commands: those that are subscribed to them. The newest of a device carries them.
 *
 * Everything that concerns the commands of a device is done in its turn, and it has one at a time: one transaction stores its
 * acknowledgements and answers, and marks the next commands as sent. What that transaction has marked is written to the socket
 * after its commit. So a process that dies in between leaves commands that are marked and were not written; the next connection
 * gets them with DUP, like those that were written and not acknowledged. Only one transaction can mark a command as sent for the
 * first time, so only one PUBLISH of it comes without DUP.
 *
 * A notification wakes the process that has the connection. If it is lost, a look every half minute finds the same.
 */
export class Commands {
  readonly #db: Database
  readonly #sessions: Sessions
  readonly #onError: (error: unknown, doing: string) => void
  /** By device, in the order of their subscriptions. */
  readonly #carriers = new Map<string, Carrier[]>()
  readonly #turns = new CommandTurns(turn => this.#run(turn))
  readonly #hasCommands: (deviceId: string) => Promise<true | null>
  readonly #stopListening: () => void
  readonly #timer: NodeJS.Timeout
  #closed = false

  constructor({ db, sessions, onError }: CommandsOptions) {
    this.#db = db
    this.#sessions = sessions
    this.#onError = onError
    sessions.onTooLarge = (session, id) => this.#fail(session, id)
    this.#hasCommands = createLookup(async ids => {
      const found = await listDevicesWithCommands(db.system, ids)
      return new Map(found.map(id => [id, true as const]))
    })
    this.#stopListening = db.onChange(event => {
      if (event.kind === 'command' && this.#carriers.has(event.deviceId)) this.#turns.order(event)
      else if (event.kind === 'resync') this.#lookAtAll()
    })
    this.#timer = setInterval(() => this.#lookAtAll(), LOOK_EVERY_MS)
  }

  /** Takes a connection that begins or ends to listen for commands, as its subscriptions say. */
  follow(session: Session): void {
    const { owner, socket } = session
    if (owner.kind !== 'device' || !socket) return
    const known = this.#find(session, socket)
    const isSubscribed = this.#sessions.isSubscribed(session, commandsTopic(owner))
    if (known && !isSubscribed) this.#remove(known)
    if (known || !isSubscribed) return
    const others = this.#carriers.get(owner.id) ?? []
    this.#carriers.set(owner.id, [...others, { id: newId(), session, socket, takesOver: true }])
    this.#look([deviceOf(session)])
  }

  /** Handles the end of a connection. */
  leave(session: Session, socket: ClientSocket): void {
    const known = this.#find(session, socket)
    if (known) this.#remove(known)
  }

  /** Handles an UNSUBSCRIBE. */
  unsubscribe(session: Session, filters: readonly string[]): void {
    for (const filter of filters) session.filters.delete(filter)
    this.follow(session)
  }

  /** Handles a PUBACK, which may be that of a command. */
  acknowledge(session: Session, id: number): void {
    const commandId = this.#sessions.acknowledge(session, id)
    if (commandId) this.#turns.order(deviceOf(session)).received.push(commandId)
  }

  /** Ends a command that its device cannot take, so that the next ones come. */
  #fail(session: Session, id: string): void {
    const answer = { id, status: 'failed', result: JSON.stringify(TOO_LARGE) } as const
    const ignore = () => {}
    this.#turns.order(deviceOf(session)).answers.push({ answer, resolve: ignore, reject: ignore })
  }

  /**
   * Takes the answer of a device to a command; null for another message. Resolves to what has become of it when it is durable or
   * changes nothing, and rejects if it cannot be stored.
   */
  answer(
    { kind, id, organizationId }: Publisher,
    { topic, payload }: Pick<Publish, 'topic' | 'payload'>,
  ): Promise<AnswerOutcome> | null {
    const commandId = kind === 'device' ? commandOfTopic(id, topic) : null
    if (commandId === null) return null
    const answer = readAnswer(commandId, payload)
    if ('reason' in answer) {
      this.#sessions.send(id, `${topicsOf({ kind: 'device', id })}rejections`, [describe(answer)])
      return Promise.resolve(answer)
    }
    return new Promise((resolve, reject) => {
      this.#turns.order({ organizationId, deviceId: id }).answers.push({ answer, resolve, reject })
    })
  }

  /** Hands nothing over any more, and stores what was acknowledged and answered. */
  async close(): Promise<void> {
    this.#closed = true
    this.#stopListening()
    clearInterval(this.#timer)
    const deadline = performance.now() + CLOSE_WITHIN_MS
    while (this.#turns.size > 0 && performance.now() < deadline) {
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }

  #find({ owner }: Session, socket: ClientSocket): Carrier | undefined {
    return this.#carriers.get(owner.id)?.find(one => one.socket === socket)
  }

  #remove(carrier: Carrier): void {
    const { deviceId, organizationId } = deviceOf(carrier.session)
    const others = (this.#carriers.get(deviceId) ?? []).filter(one => one !== carrier)
    if (others.length > 0) this.#carriers.set(deviceId, others)
    else this.#carriers.delete(deviceId)
    // The commands that it has not acknowledged go to another connection of the device, here or elsewhere.
    if (!this.#closed && this.#sessions.carries(carrier.session))
      this.#turns.order({ deviceId, organizationId }).left.push(carrier.id)
  }

  #lookAtAll(): void {
    this.#look([...this.#carriers.values()].flatMap(([one]) => (one ? deviceOf(one.session) : [])))
  }

  /** Orders a turn for those of the devices that have commands. */
  #look(devices: readonly Device[]): void {
    const look = async (device: Device) => {
      const found = await this.#hasCommands(device.deviceId)
      if (found && this.#carriers.has(device.deviceId)) this.#turns.order(device)
    }
    Promise.all(devices.map(look)).catch(error => this.#onError(error, 'looking for commands of devices'))
  }

  async #run(turn: Turn): Promise<void> {
    try {
      const unknown = await retry(() => this.#store(turn), {
        firstMs: RETRY_FIRST_MS,
        maxMs: RETRY_MAX_MS,
        again: error => (isAway(error) || isTransient(error)) && !this.#closed,
      })
      for (const { answer, resolve } of turn.answers) resolve(unknown.has(answer.id) ? 'unknown' : 'taken')
    } catch (error) {
      if (!this.#closed) this.#onError(error, `handling the commands of the device ${turn.deviceId}`)
      for (const { reject } of turn.answers) reject(error)
    }
  }

  /** Does the work of a turn. Returns the answered commands that the device does not have. */
  async #store(turn: Turn): Promise<ReadonlySet<string>> {
    const { organizationId, deviceId, received, left } = turn
    const answers = turn.answers.map(({ answer }) => answer)
    const carrier = this.#closed ? undefined : this.#carriers.get(deviceId)?.at(-1)
    const { unknown, handedOver } = await withDemand({ lane: 'requests', owner: organizationId }, () =>
      this.#db.tenant(organizationId, async tx => {
        if (received.length > 0) await receiveCommands(tx, turn, received)
        if (left.length > 0) await releaseCommands(tx, turn, left)
        const none = answers.length > 0 ? await answerCommands(tx, turn, answers) : []
        const carried = carrier && (await carryCommands(tx, turn, carriageOf(carrier)))
        return { unknown: new Set(none), handedOver: carried }
      }),
    )
    if (carrier && handedOver) this.#write(carrier, handedOver)
    return unknown
  }

  #write(carrier: Carrier, handedOver: readonly HandedOver[]): void {
    const { id, session, socket } = carrier
    carrier.takesOver = false
    if (session.socket !== socket || socket.client.closed) {
      // It has ended meanwhile: the commands stay marked as sent, and others may have them.
      this.#turns.order(deviceOf(session)).left.push(id)
      return
    }
    const now = timeOfDay()
    const valid = handedOver.filter(({ expiresAt }) => expiresAt.getTime() > now)
    this.#sessions.carry(session, commandsTopic(session.owner), valid.map(toMessage))
  }
}

const TOO_LARGE = 'The command is larger than the packets that the device takes.'

interface CommandsOptions {
  db: Database
  sessions: Sessions
  onError: (error: unknown, doing: string) => void
}

/** A client of version 5 may want fewer messages at once than everybody gets. */
const carriageOf = ({ id, takesOver, socket }: Carrier) => ({
  carrier: id,
  takesOver,
  limit: Math.min(MAX_CARRIED_COMMANDS, socket.terms?.receiveMaximum ?? MAX_CARRIED_COMMANDS),
})

const deviceOf = ({ owner }: Session): Device => ({
  organizationId: owner.organizationId,
  deviceId: owner.id,
})

const commandsTopic = ({ id }: { id: string }) => `${topicsOf({ kind: 'device', id })}commands`

const toMessage = ({ id, name, payload, expiresAt, isNew }: HandedOver) => ({
  id,
  isNew,
  expiresAt,
  payload: `{"id":"${id}","name":${JSON.stringify(name)},"payload":${payload},"expiresAt":"${expiresAt.toISOString()}"}`,
})

const describe = ({ reason, message }: BadAnswer) =>
  JSON.stringify({ reason, message, index: null, receivedAt: new Date(timeOfDay()).toISOString() })
