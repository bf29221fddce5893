import { type Database, newId } from '../../db/client.ts'
import { withDemand } from '../../db/demand.ts'
import { type Happenings, recordHappenings } from '../../db/queries/tracker-messages.ts'
import type { MessageOutcome } from '../../db/schema/connections.ts'
import { cleanText } from '../fix.ts'
import type { ConnectionCredential } from '../identity/authenticate.ts'
import type { TrackerMessage } from '../profiles/profile.ts'

/** What people see of a connection: its counts, its state, and its last messages. Written once a second. */
export interface Journal {
  note(
    connection: ConnectionCredential,
    message: TrackerMessage,
    receivedAt: number,
    outcome: MessageOutcome,
  ): void
  /** Says how the connection is. */
  tell(connection: ConnectionCredential, state: Happenings['state'], lastError: string | null): void
  /** Says what went wrong, without a change of its state. */
  complain(connection: ConnectionCredential, lastError: string): void
  close(): Promise<void>
}

const EVERY_MS = 1_000
/** The messages kept of one connection, here and in the database. */
const KEPT = 50
const KEPT_BYTES = 8 * 1024
const CLOSE_WITHIN_MS = 2_000

/** A message as it came; it is made into texts only if it is still one of the last when they are written. */
interface Kept {
  message: TrackerMessage
  receivedAt: number
  outcome: MessageOutcome
}

type Pending = Omit<Happenings, 'newest'> & { kept: Kept[] }

export function createJournal(options: {
  db: Database
  onError: (error: unknown, doing: string) => void
}): Journal {
  const { db, onError } = options
  let pending = new Map<string, Pending>()

  function of({ id, organizationId }: ConnectionCredential): Pending {
    const known = pending.get(id)
    if (known) return known
    const counts = { messages: 0, points: 0, skipped: 0, rejected: 0, unknown: 0 }
    const fresh = { organizationId, connectionId: id, ...counts, lastMessageAt: null, kept: [] }
    pending.set(id, fresh)
    return fresh
  }

  async function write(): Promise<void> {
    const batch = pending
    pending = new Map()
    for (const { kept, ...counts } of batch.values()) {
      const newest = kept.map(one => ({ ...toRow(one), ...idsOf(counts) }))
      try {
        await withDemand({ lane: 'background', owner: counts.organizationId }, () =>
          db.tenant(counts.organizationId, tx => recordHappenings(tx, { ...counts, newest })),
        )
      } catch (error) {
        onError(error, 'writing what has happened on a connection')
      }
    }
  }

  let writing: Promise<void> | null = null
  const timer = setInterval(() => {
    if (pending.size === 0 || writing) return
    writing = write().finally(() => {
      writing = null
    })
  }, EVERY_MS)

  return {
    note(connection, message, receivedAt, outcome) {
      const one = of(connection)
      one.messages++
      one.points += outcome.points
      if (outcome.skipped !== null) one.skipped++
      one.rejected += outcome.rejected.length
      if (outcome.rejected.some(({ reason }) => reason === 'unknown-device')) one.unknown++
      one.lastMessageAt = receivedAt
      if (one.kept.length === KEPT) one.kept.shift()
      // A copy: the bytes belong to a chunk of 64 KiB, which would be kept whole.
      const payload = Buffer.from(message.payload.subarray(0, KEPT_BYTES + 1))
      one.kept.push({ message: { ...message, payload }, receivedAt, outcome })
    },
    tell(connection, state, lastError) {
      Object.assign(of(connection), { state, lastError })
    },
    complain(connection, lastError) {
      of(connection).lastError = lastError
    },
    async close() {
      clearInterval(timer)
      let late: NodeJS.Timeout | undefined
      const waited = new Promise<void>(resolve => {
        late = setTimeout(resolve, CLOSE_WITHIN_MS)
      })
      await Promise.race([(writing ?? Promise.resolve()).then(write), waited])
      clearTimeout(late)
    },
  }
}

const idsOf = ({ organizationId, connectionId }: { organizationId: string; connectionId: string }) => ({
  organizationId,
  connectionId,
})

const MAX_TEXT = 512

function toRow({ message, receivedAt, outcome }: Kept) {
  const { payload, topic, clientId, query } = message
  const clean = (text: string | null) => text && cleanText(text.slice(0, MAX_TEXT))
  return {
    id: newId(),
    receivedAt: new Date(receivedAt),
    topic: clean(topic),
    clientId: clean(clientId),
    query: query && (JSON.parse(cleanText(JSON.stringify(query).replaceAll('\\u0000', ''))) as typeof query),
    payload: cleanText(Buffer.from(payload.subarray(0, KEPT_BYTES)).toString('utf8')),
    isCut: payload.length > KEPT_BYTES,
    outcome,
  }
}
