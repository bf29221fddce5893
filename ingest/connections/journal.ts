import { type Database, newId } from '../../db/client.ts'
import { withDemand } from '../../db/demand.ts'
import { isAway, isTransient } from '../../db/errors.ts'
import { type Happenings, recordHappenings } from '../../db/queries/tracker-messages.ts'
import type { MessageOutcome } from '../../db/schema/connections.ts'
import { cleanJson, cleanText } from '../fix.ts'
import { type ConnectionCredential, hideKeys } from '../identity/authenticate.ts'
import type { TrackerMessage } from '../profiles/profile.ts'

/** Writes the counts, the state and the last messages of connections, once a second. */
export interface Journal {
  note(
    connection: ConnectionCredential,
    message: TrackerMessage,
    receivedAt: number,
    outcome: MessageOutcome,
    /** All that was rejected of it, and of that from unknown references; the outcome names some. */
    counts: { rejected: number; unknown: number },
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

  /** Keeps what could not be written for the next time. What has happened since is newer. */
  function putBack(failed: Pending, withMessages: boolean): void {
    const since = pending.get(failed.connectionId)
    const kept = withMessages ? [...failed.kept, ...(since?.kept ?? [])] : (since?.kept ?? [])
    pending.set(failed.connectionId, {
      ...failed,
      ...since,
      messages: failed.messages + (since?.messages ?? 0),
      points: failed.points + (since?.points ?? 0),
      skipped: failed.skipped + (since?.skipped ?? 0),
      rejected: failed.rejected + (since?.rejected ?? 0),
      unknown: failed.unknown + (since?.unknown ?? 0),
      lastMessageAt: since?.lastMessageAt ?? failed.lastMessageAt,
      kept: kept.slice(-KEPT),
    })
  }

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
    for (const one of batch.values()) {
      const { kept, ...counts } = one
      try {
        const newest = kept.map(one => ({ ...toRow(one), ...idsOf(counts) }))
        await withDemand({ lane: 'background', owner: counts.organizationId }, () =>
          db.tenant(counts.organizationId, tx => recordHappenings(tx, { ...counts, newest })),
        )
      } catch (error) {
        // Messages that the database refuses would be refused again.
        putBack(one, isAway(error) || isTransient(error))
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
    note(connection, message, receivedAt, outcome, { rejected, unknown }) {
      const one = of(connection)
      one.messages++
      one.points += outcome.points
      if (outcome.skipped !== null) one.skipped++
      one.rejected += rejected
      one.unknown += unknown
      one.lastMessageAt = receivedAt
      if (one.kept.length === KEPT) one.kept.shift()
      // A copy: the bytes belong to a chunk of 64 KiB, which would be kept whole.
      const payload = Buffer.from(message.payload.subarray(0, KEPT_BYTES + 1))
      one.kept.push({ message: { ...message, payload }, receivedAt, outcome })
    },
    tell(connection, state, lastError) {
      Object.assign(of(connection), { state, lastError: lastError && cleanText(lastError) })
    },
    complain(connection, lastError) {
      of(connection).lastError = cleanText(lastError)
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
  const clean = (text: string | null) => text && cleanText(hideKeys(text.slice(0, MAX_TEXT)))
  return {
    id: newId(),
    receivedAt: new Date(receivedAt),
    topic: clean(topic),
    clientId: clean(clientId),
    query: query && (cleanJson(JSON.parse(hideKeys(JSON.stringify(query)))) as typeof query),
    payload: cleanText(hideKeys(Buffer.from(payload.subarray(0, KEPT_BYTES)).toString('utf8'))),
    isCut: payload.length > KEPT_BYTES,
    outcome,
  }
}
