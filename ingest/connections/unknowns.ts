import type { Database } from '../../db/client.ts'
import { withDemand } from '../../db/demand.ts'
import { isDuplicate, isTransient, overCap } from '../../db/errors.ts'
import { foldReference, type ReferencedDevice } from '../../db/queries/device-references.ts'
import { KEPT_POINTS, keepUnknown, type UnknownReference } from '../../db/queries/unknown-references.ts'
import { createSemaphore } from '../../fair/semaphore.ts'
import { type ConnectionCredential, createDeviceKey } from '../identity/authenticate.ts'
import type { Journal } from './journal.ts'

/** Keeps what comes from references that no device has, or creates their devices. */
export interface Unknowns {
  /** Resolves, when it is kept, to the devices of those that have one after all, by the folded reference. */
  keep(
    connection: ConnectionCredential,
    references: readonly UnknownReference[],
    sender: { readonly ended: boolean },
  ): Promise<ReadonlyMap<string, ReferencedDevice>>
}

/**
 * The references and points of one transaction. Nobody else has a turn at the embedded database meanwhile: 100 new
 * references with a point each take about 15 ms.
 */
const TOGETHER = 100
const POINTS_TOGETHER = 1_000
const ATTEMPTS = 5
/** Messages of an organization that wait for their turn; each holds its payload. */
const MAX_WAITING = 200
const WAIT_MS = 60_000

export function createUnknowns(db: Database, journal: Pick<Journal, 'complain'>): Unknowns {
  // One transaction at a time, so that unknown references of many connections hold up neither points nor requests.
  // Organizations take turns, and one whose line is full is told to send again.
  const turns = createSemaphore({ max: 1, maxPerRoot: 1, maxWaiting: MAX_WAITING, waitMs: WAIT_MS })

  /** What waits for a turn, by connection, in its order. */
  const lines = new Map<string, Waiting[]>()

  /** Takes a turn for one batch. The turn that comes first takes along those behind it: requests come one by one. */
  function keepInTurn(
    connection: ConnectionCredential,
    references: readonly UnknownReference[],
    sender: Waiting['sender'],
  ): Promise<Known> {
    return new Promise((resolve, reject) => {
      const one: Waiting = { references, sender, resolve, reject }
      const line = lines.get(connection.id) ?? []
      line.push(one)
      lines.set(connection.id, line)
      turns.acquire(connection.organizationId).then(
        async end => {
          if (line.includes(one)) await keepLine(connection, line)
          end()
        },
        error => {
          forget(connection, line, line.indexOf(one))
          reject(error)
        },
      )
    })
  }

  function forget({ id }: ConnectionCredential, line: Waiting[], at: number, count = 1): Waiting[] {
    const some = at === -1 ? [] : line.splice(at, count)
    if (line.length === 0 && lines.get(id) === line) lines.delete(id)
    return some
  }

  async function keepLine(connection: ConnectionCredential, line: Waiting[]): Promise<void> {
    const some = forget(connection, line, 0, countTogether(line))
    // Nobody waits for their answers any more.
    for (const { sender, reject } of some) if (sender.ended) reject(new Error('The sender has gone'))
    const waiting = some.filter(({ sender }) => !sender.ended)
    if (waiting.length === 0) return
    try {
      const known = await keepSome(connection, merge(waiting))
      for (const { resolve } of waiting) resolve(known)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }

  async function keepSome(
    connection: ConnectionCredential,
    some: readonly UnknownReference[],
  ): Promise<Known> {
    const { id: connectionId, organizationId } = connection
    let createKeyHash: (() => Buffer) | null = () => createDeviceKey().hash
    for (let attempt = 1; ; attempt++) {
      try {
        const known = await withDemand({ lane: 'background', owner: organizationId }, () =>
          db.tenant(organizationId, tx =>
            keepUnknown(tx, { organizationId, connectionId }, some, createKeyHash),
          ),
        )
        if (known === null) throw new Error('The connection is gone')
        return known
      } catch (error) {
        // The organization has no room for another device, so the references stay unknown until it has.
        const full = overCap(error)
        if (full !== null && createKeyHash) {
          createKeyHash = null
          journal.complain(connection, `${full} The connection creates no more of them.`)
          continue
        }
        // Another process has given a device one of the references at the same moment.
        if (attempt === ATTEMPTS || !(isDuplicate(error) || isTransient(error))) throw error
      }
    }
  }

  return {
    async keep(connection, references, sender) {
      const known = new Map<string, ReferencedDevice>()
      for (const some of divide(references)) {
        const found = await keepInTurn(connection, some, sender)
        for (const { reference } of some) {
          const device = found.get(foldReference(reference))
          if (device) known.set(foldReference(reference), device)
        }
      }
      return known
    },
  }
}

type Known = ReadonlyMap<string, ReferencedDevice>

/** References that wait to be kept, for a sender that waits for the answer. */
interface Waiting {
  references: readonly UnknownReference[]
  sender: { readonly ended: boolean }
  resolve(known: Known): void
  reject(error: unknown): void
}

/** How many at the beginning of a line are kept in one transaction; at least the first. */
function countTogether(line: readonly Waiting[]): number {
  let [references, points] = [0, 0]
  const end = line.findIndex(one => {
    references += one.references.length
    for (const { points: some } of one.references) points += some.length
    return references > TOGETHER || points > POINTS_TOGETHER
  })
  return end === -1 ? line.length : Math.max(1, end)
}

/** Each reference once, with all that came of it. */
function merge(some: readonly Waiting[]): UnknownReference[] {
  const merged = new Map<string, UnknownReference>()
  for (const one of some.flatMap(({ references }) => references)) {
    const key = foldReference(one.reference)
    const before = merged.get(key)
    merged.set(
      key,
      before
        ? {
            reference: before.reference,
            messages: before.messages + one.messages,
            lastMessageAt: Math.max(before.lastMessageAt, one.lastMessageAt),
            points: [...before.points, ...one.points],
          }
        : one,
    )
  }
  return [...merged.values()]
}

/** The references with those of their points that may be kept, divided into transactions. */
export function divide(references: readonly UnknownReference[]): UnknownReference[][] {
  const all: UnknownReference[][] = []
  let room = 0
  for (const reference of references) {
    const points = newest(reference.points)
    if (room < points.length || all.at(-1)?.length === TOGETHER) room = 0
    if (room === 0) {
      all.push([])
      room = POINTS_TOGETHER
    }
    all.at(-1)?.push({ ...reference, points })
    room -= points.length
  }
  return all
}

/** The newest points of an unknown reference, of which one message may hold thousands. Of points with the same time the first is kept. */
function newest(points: UnknownReference['points']): UnknownReference['points'] {
  if (points.length <= KEPT_POINTS) return points
  const byTime = new Map<number, UnknownReference['points'][number]>()
  for (const point of points) if (!byTime.has(point.recordedAt)) byTime.set(point.recordedAt, point)
  return [...byTime.values()].sort((a, b) => b.recordedAt - a.recordedAt).slice(0, KEPT_POINTS)
}
