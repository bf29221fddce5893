import type { Database } from '../../db/client.ts'
import { timeOfDay } from '../../db/clock.ts'
import { isAway } from '../../db/errors.ts'
import { foldReference, type ReferencedDevice } from '../../db/queries/device-references.ts'
import type { UnknownReference } from '../../db/queries/unknown-references.ts'
import { retry } from '../../db/retry.ts'
import type { MessageOutcome } from '../../db/schema/connections.ts'
import type { Log, Source, Subject } from '../../stream/log.ts'
import { type Entry, NO_OUTCOMES, type Outcomes } from '../../stream/point.ts'
import { rejectPayload, validate } from '../decode.ts'
import { NoPoint } from '../formats/format.ts'
import type { ConnectionCredential } from '../identity/authenticate.ts'
import type { LastSeen } from '../last-seen.ts'
import type { IngestMetrics, Protocol } from '../metrics.ts'
import type { ReadMessage, TrackerMessage } from '../profiles/profile.ts'
import { readMessage } from '../profiles/read-message.ts'
import type { Traces } from '../traces.ts'
import type { TrackerConnection } from './connection.ts'
import { createJournal, type Journal } from './journal.ts'
import { createReferences } from './references.ts'
import { createUnknowns } from './unknowns.ts'

/**
 * Takes the messages of connections of every kind: a message is read by the profile, its points go to the devices that it
 * names, and it is done when all of them are durable or rejected. Points of references that no device has are kept in
 * the database instead (`unknowns.ts`).
 */
export interface Intake {
  /** Reads a message; takes some microseconds. */
  read(connection: Pick<TrackerConnection, 'profile'>, message: TrackerMessage): Taken
  /**
   * Stores messages that were read. Resolves when all of them are durable or rejected, to what was rejected of each; rejects if
   * `sender` ends before, or the log or database does not take them. Storing them again changes nothing.
   */
  store(
    connection: ConnectionCredential,
    taken: readonly Taken[],
    sender: Sender,
    protocol: Protocol,
  ): Promise<RejectedPart[]>
  readonly journal: Journal
  /** Our clock, in milliseconds since 1970. */
  now(): number
  close(): Promise<void>
}

/** A message that was read. */
export interface Taken {
  message: TrackerMessage
  receivedAt: number
  read: ReadMessage
}

/** How much of a message was rejected; some of that is named. */
interface RejectedPart {
  count: number
  named: MessageOutcome['rejected']
}

/** Where messages come from; setting `ended` drops those that still wait for the log. */
export interface Sender {
  ended: boolean
}

const MAX_REFERENCE = 128
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 2_000
const MAX_NOTED_REJECTIONS = 5
const NAMELESS = new NoPoint('bad-shape', 'The message names no device.')

/** The reading of a message whose connection has a profile that this version does not know. */
const UNREAD: ReadMessage = {
  reference: null,
  positions: [],
  skipped: null,
  unreadable: new NoPoint('bad-shape', 'There is no profile any more that reads the message.'),
}

/** A message on its way: what has become of its positions so far. */
interface Handled {
  taken: Taken
  outcome: MessageOutcome
  /** All that was rejected of it; its outcome names some. */
  counts: { rejected: number; unknown: number }
  entries: Entry[]
}

export function createIntake(options: {
  db: Database
  log: Log
  metrics: IngestMetrics
  lastSeen: Pick<LastSeen, 'see'>
  traces: Pick<Traces, 'note'>
  onError: (error: unknown, doing: string) => void
}): Intake {
  const { db, log, metrics, lastSeen, traces } = options
  const references = createReferences(db)
  const journal = createJournal(options)
  const unknowns = createUnknowns(db, journal)
  let closed = false
  const senderOf = numberSenders()

  /** Messages wait while the database is away, as points wait for the log, until it is back or their sender ends. */
  const untilThere = <T>(sender: Sender, work: () => Promise<T>): Promise<T> =>
    retry(work, {
      firstMs: RETRY_FIRST_MS,
      maxMs: RETRY_MAX_MS,
      again: error => isAway(error) && !sender.ended && !closed,
    })

  async function append(
    connection: ConnectionCredential,
    entries: readonly Entry[],
    devices: Iterable<ReferencedDevice>,
    sender: Sender,
    protocol: Protocol,
  ): Promise<Outcomes> {
    if (entries.length === 0) return NO_OUTCOMES
    const { organizationId } = connection
    const subjects: Subject[] = []
    for (const { id, subject } of devices) subjects.push({ kind: 'device', id, organizationId, subject })
    const source: Source = {
      get ended() {
        return sender.ended
      },
      subjects,
      sender: senderOf(connection),
    }
    const begun = performance.now()
    metrics.received(protocol, entries)
    metrics.waiting(protocol, entries.length)
    try {
      const outcomes = await log.append(entries, source)
      metrics.acknowledged(protocol, entries.length, (performance.now() - begun) / 1000)
      return outcomes
    } finally {
      metrics.waiting(protocol, -entries.length)
    }
  }

  return {
    journal,
    now: timeOfDay,

    read(connection, message) {
      const receivedAt = timeOfDay()
      const { reader } = connection.profile
      return { message, receivedAt, read: reader ? readMessage(reader, message, receivedAt) : UNREAD }
    },

    async store(connection, taken, sender, protocol) {
      const named = taken.flatMap(({ read }) => listReferences(read))
      const devices = new Map(
        await untilThere(sender, () => references.find(connection.organizationId, named)),
      )
      const handled = taken.map(toHandled)
      const unknown = new Map<string, Waiting>()
      for (const one of handled) sortOut(one, devices, unknown)
      for (const { id } of devices.values()) {
        lastSeen.see({ kind: 'device', id })
        traces.note({ id, organizationId: connection.organizationId }, 'connection', {
          detail: connection.id,
        })
      }
      const entriesOf = () => handled.flatMap(({ entries }) => entries)
      const known = append(connection, entriesOf(), devices.values(), sender, protocol)
      // It is awaited below, where it may already have failed.
      known.catch(() => {})
      let late: Outcomes = NO_OUTCOMES
      if (unknown.size > 0) {
        const kept = [...unknown.values()].map(one => one.kept)
        const found = await untilThere(sender, () => unknowns.keep(connection, kept, sender))
        const entries = [...unknown].flatMap(([folded, waiting]) => settle(waiting, found.get(folded)))
        late = await append(connection, entries, found.values(), sender, protocol)
      }
      const outcomes = await known
      for (const one of handled) {
        countStored(one, outcomes, late)
        journal.note(connection, one.taken.message, one.taken.receivedAt, one.outcome, one.counts)
      }
      return handled.map(({ counts, outcome }) => ({ count: counts.rejected, named: outcome.rejected }))
    },

    async close() {
      closed = true
      references.close()
      await journal.close()
    },
  }
}

/** Numbers connections for the turns of the log. Subjects have numbers from 1, connections below 0. */
function numberSenders(): (connection: ConnectionCredential) => number {
  const senders = new Map<string, number>()
  return ({ id }) => {
    const number = senders.get(id) ?? -1 - senders.size
    senders.set(id, number)
    return number
  }
}

/** A reference that no device has, and the positions that wait for it. */
interface Waiting {
  kept: UnknownReference
  from: Set<Handled>
  /** With their messages; the subject is set when a device is found after all. */
  entries: { entry: Entry; of: Handled }[]
}

const toHandled = (taken: Taken): Handled => ({
  taken,
  outcome: { points: 0, skipped: taken.read.skipped, rejected: [] },
  counts: { rejected: 0, unknown: 0 },
  entries: [],
})

const toReference = (text: string | null): string | null => {
  const reference = text?.replaceAll('\0', '').trim().toWellFormed() ?? ''
  return reference === '' || reference.length > MAX_REFERENCE ? null : reference
}

function listReferences(read: ReadMessage): string[] {
  const all = [read.reference, ...read.positions.map(({ reference }) => reference)]
  return all.map(toReference).filter(reference => reference !== null)
}

/** Divides a message's positions among the devices that are known and the references that are not. */
function sortOut(
  one: Handled,
  devices: ReadonlyMap<string, ReferencedDevice>,
  unknown: Map<string, Waiting>,
): void {
  const { message, receivedAt, read } = one.taken
  const arrivalOf = (subject: number) => ({ subject, receivedAt, topic: message.topic })
  const place = (reference: string | null, toEntry: (subject: number) => Entry) => {
    if (reference === null) return note(one, toEntry(0), NAMELESS)
    const device = devices.get(foldReference(reference))
    if (device) return void one.entries.push(toEntry(device.subject))
    wait(one, reference, toEntry(0), unknown)
  }
  if (read.unreadable) {
    const why = read.unreadable
    const reference = toReference(read.reference)
    const toEntry = (subject: number) => rejectPayload(why, message.payload, arrivalOf(subject))
    if (reference === null) note(one, toEntry(0), why)
    else place(reference, toEntry)
    return
  }
  for (const { reference, value, index, fix } of read.positions)
    place(toReference(reference ?? read.reference), subject =>
      validate(value, fix, arrivalOf(subject), index),
    )
}

/** Notes a position that belongs to nobody: its own fault is said before that of having no device. */
function note(one: Handled, entry: Entry, why: NoPoint): void {
  const { reason, message } = entry.kind === 'rejection' ? entry : why
  reject(one, reason, message)
}

function reject({ outcome, counts }: Handled, reason: string, message: string): void {
  counts.rejected++
  if (outcome.rejected.length < MAX_NOTED_REJECTIONS) outcome.rejected.push({ reason, message })
}

function wait(one: Handled, reference: string, entry: Entry, unknown: Map<string, Waiting>): void {
  const folded = foldReference(reference)
  const { receivedAt } = one.taken
  const waiting = unknown.get(folded) ?? {
    kept: { reference, messages: 0, lastMessageAt: receivedAt, points: [] },
    from: new Set(),
    entries: [],
  }
  unknown.set(folded, waiting)
  if (!waiting.from.has(one)) waiting.kept.messages++
  waiting.from.add(one)
  waiting.kept.lastMessageAt = Math.max(waiting.kept.lastMessageAt, receivedAt)
  waiting.entries.push({ entry, of: one })
  if (entry.kind !== 'point') return
  const { kind: _, subject: __, ...point } = entry
  waiting.kept.points.push(point)
}

/** The entries for the log of a reference that has a device after all; else its messages are rejected. */
function settle({ kept, from, entries }: Waiting, device: ReferencedDevice | undefined): Entry[] {
  if (!device) {
    const message = `No device has the reference ${kept.reference}.`
    for (const one of from) {
      one.counts.unknown++
      reject(one, 'unknown-device', message)
    }
    return []
  }
  return entries.map(({ entry, of }) => {
    const owned = { ...entry, subject: device.subject }
    of.entries.push(owned)
    return owned
  })
}

/** Counts a message's stored points, and what was rejected of it. */
function countStored(one: Handled, outcomes: Outcomes, late: Outcomes): void {
  for (const entry of one.entries) {
    const stored = outcomes.get(entry) ?? late.get(entry)
    if (entry.kind === 'rejection') reject(one, entry.reason, entry.message)
    else if (stored?.kind === 'rejected') reject(one, stored.reason, stored.message)
    else one.outcome.points++
  }
}
