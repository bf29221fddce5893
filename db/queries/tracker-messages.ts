import type { Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { connectionMessages } from '../schema/connections.ts'

/** The stored messages of a connection. */
const KEPT = 50

export type TrackerMessageRow = Shown<typeof connectionMessages, 'connectionId'>
export type NewMessage = typeof connectionMessages.$inferInsert

const COLUMNS = shownColumns(connectionMessages, 'm', ['connectionId'])

/** The last messages of a connection, newest first. */
export function listMessages(tx: Queryable, connectionId: string): Promise<TrackerMessageRow[]> {
  return tx.query(
    `SELECT ${COLUMNS} FROM connection_messages m WHERE m.connection_id = $1
     ORDER BY m.received_at DESC, m.id DESC LIMIT ${KEPT}`,
    [connectionId],
  )
}

/** The counts and messages of a connection since a process last wrote them. */
export interface Happenings {
  organizationId: string
  connectionId: string
  messages: number
  points: number
  skipped: number
  rejected: number
  unknown: number
  /** By our clock, in milliseconds since 1970; null if there was none. */
  lastMessageAt: number | null
  /** Undefined leaves it as it is. */
  lastError?: string | null | undefined
  state?: 'connecting' | 'connected' | 'failed' | undefined
  /** The newest messages, at most 50. */
  newest: NewMessage[]
}

/** Adds what has happened on a connection, and keeps its last messages. A deleted connection has none. */
export async function recordHappenings(tx: Queryable, happened: Happenings): Promise<void> {
  const { connectionId, newest } = happened
  const rows = await tx.query(
    `UPDATE connection_states SET messages = messages + $2, points = points + $3, skipped = skipped + $4,
       rejected = rejected + $5, unknown = unknown + $6,
       last_message_at = greatest(last_message_at, to_timestamp($7::float8 / 1000)),
       minute = date_trunc('minute', now()),
       minute_messages = $2 + CASE WHEN minute = date_trunc('minute', now()) THEN minute_messages ELSE 0 END,
       former_messages = CASE minute WHEN date_trunc('minute', now()) THEN former_messages
         WHEN date_trunc('minute', now()) - interval '1 minute' THEN minute_messages ELSE 0 END,
       last_error = CASE WHEN $8::boolean THEN $9 ELSE last_error END, state = coalesce($10, state)
     WHERE connection_id = $1 RETURNING 1`,
    [
      connectionId,
      happened.messages,
      happened.points,
      happened.skipped,
      happened.rejected,
      happened.unknown,
      happened.lastMessageAt,
      happened.lastError !== undefined,
      happened.lastError ?? null,
      happened.state ?? null,
    ],
  )
  if (rows.length === 0 || newest.length === 0) return
  await tx.orm.insert(connectionMessages).values(newest)
  await tx.query(
    `DELETE FROM connection_messages WHERE connection_id = $1 AND id NOT IN (
       SELECT id FROM connection_messages WHERE connection_id = $1 ORDER BY received_at DESC, id DESC LIMIT ${KEPT})`,
    [connectionId],
  )
}
