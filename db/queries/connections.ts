import { eq, sql } from 'drizzle-orm'
import { learnRoots } from '../../fair/roots.ts'
import { notify, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { hubConditions, type VisibleHubs } from '../hub-rule.ts'
import {
  type ConnectionKind,
  type ConnectionState,
  connectionStates,
  connections,
} from '../schema/connections.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'
import { ROOT } from './root.ts'

const HIDDEN = ['keyHash', 'secrets', 'builtInProfile', 'ownProfile'] as const

/** The state of a connection, its last message and error, and its counts. */
interface Happened {
  state: ConnectionState
  lastMessageAt: Date | null
  messagesPerMinute: number
  lastError: string | null
  counts: { messages: number; points: number; skipped: number; rejected: number; unknown: number }
}

/** A connection as the interface shows it. */
export type Connection = Shown<typeof connections, (typeof HIDDEN)[number]> &
  Happened & {
    /** A built-in profile by its name, or one of the organization. */
    profileId: string
  }

/** A connection of http or mqtt waits for its first message; the process that holds one of a broker knows its state. */
const STATE = `CASE WHEN NOT c.is_active THEN 'stopped' WHEN c.kind = 'broker' THEN s.state
  WHEN s.last_message_at IS NULL THEN 'connecting' ELSE 'connected' END`
/** The part of the former minute that lies within the last 60 s counts as if its messages had come evenly. */
const MESSAGES_PER_MINUTE = `round(
  CASE WHEN s.minute = date_trunc('minute', now()) THEN s.minute_messages ELSE 0 END
  + (1 - extract(epoch FROM now() - date_trunc('minute', now())) / 60) * CASE s.minute
    WHEN date_trunc('minute', now()) THEN s.former_messages
    WHEN date_trunc('minute', now()) - interval '1 minute' THEN s.minute_messages ELSE 0 END)::float8`
/** A built-in profile by its name, or one of the organization. */
export const PROFILE_ID = 'coalesce(c.built_in_profile, c.own_profile::text)'
const COLUMNS = `${shownColumns(connections, 'c', HIDDEN)}, ${PROFILE_ID} AS "profileId", ${STATE} AS state, s.last_message_at AS "lastMessageAt",
  ${MESSAGES_PER_MINUTE} AS "messagesPerMinute", CASE WHEN c.is_active THEN s.last_error END AS "lastError",
  json_build_object('messages', s.messages, 'points', s.points, 'skipped', s.skipped, 'rejected', s.rejected,
    'unknown', s.unknown) AS counts`
const FROM = 'connections c JOIN connection_states s ON s.connection_id = c.id'

export const CONNECTION_SORTS = {
  name: { sql: 'lower(c.name)', type: 'text' },
  createdAt: { sql: 'c.created_at', type: 'timestamptz' },
} as const

export function listConnections(
  tx: Queryable,
  visible: VisibleHubs,
  page: PageRequest,
): Promise<Page<Connection>> {
  const { where, values, placeholder } = conditions()
  where.push(...hubConditions('c.hub_id', visible, placeholder))
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: FROM,
      where,
      values,
      bytes: storedBytes('c.name', 'c.broker', 's.last_error'),
      id: 'c.id',
      sorts: CONNECTION_SORTS,
      search: ['c.name'],
    },
    page,
  )
}

/** A visible connection of the organization, or null. */
export async function findConnection(
  tx: Queryable,
  id: string,
  visible: VisibleHubs,
): Promise<Connection | null> {
  const { where, values, add, placeholder } = conditions()
  add('c.id = ?', id)
  where.push(...hubConditions('c.hub_id', visible, placeholder))
  const [row] = await tx.query<Connection>(
    `SELECT ${COLUMNS} FROM ${FROM} WHERE ${where.join(' AND ')}`,
    values,
  )
  return row ?? null
}

/** The sealed secrets of a connection's broker; null if there are none. */
export async function findConnectionSecrets(tx: Queryable, id: string): Promise<string | null> {
  const [row] = await tx.query<{ secrets: string | null }>('SELECT secrets FROM connections WHERE id = $1', [
    id,
  ])
  return row?.secrets ?? null
}

export type NewConnection = Pick<
  typeof connections.$inferInsert,
  | 'name'
  | 'kind'
  | 'builtInProfile'
  | 'ownProfile'
  | 'hubId'
  | 'createDevices'
  | 'isActive'
  | 'headerName'
  | 'broker'
  | 'secrets'
>

export async function insertConnection(
  tx: Queryable,
  connection: NewConnection & { id: string; organizationId: string; keyHash: Buffer },
): Promise<void> {
  const { id, organizationId } = connection
  await tx.orm.insert(connections).values(connection)
  await tx.orm.insert(connectionStates).values({ connectionId: id, organizationId })
  await tell(tx, organizationId, id)
}

export async function updateConnection(
  tx: Queryable,
  organizationId: string,
  id: string,
  change: Partial<NewConnection>,
): Promise<void> {
  await tx.orm
    .update(connections)
    .set({ ...change, updatedAt: sql`now()` })
    .where(eq(connections.id, id))
  // An earlier error says nothing about new settings. Others leave the open connection as it is.
  const isOpenedAnew = ['broker', 'secrets', 'builtInProfile', 'ownProfile', 'isActive'].some(
    name => name in change,
  )
  if (isOpenedAnew) {
    await tx.query(
      `UPDATE connection_states SET state = 'connecting', last_error = NULL WHERE connection_id = $1`,
      [id],
    )
  }
  await tell(tx, organizationId, id)
}

/** Replaces the key; clients that signed in with the old one are disconnected. */
export async function updateConnectionKey(
  tx: Queryable,
  organizationId: string,
  id: string,
  keyHash: Buffer,
): Promise<void> {
  await tx.orm.update(connections).set({ keyHash, updatedAt: sql`now()` }).where(eq(connections.id, id))
  await tell(tx, organizationId, id)
}

/** Deletes a connection with all that it has kept. Devices and their history stay. */
export async function deleteConnection(tx: Queryable, organizationId: string, id: string): Promise<void> {
  await tx.orm.delete(connections).where(eq(connections.id, id))
  await tell(tx, organizationId, id)
}

const tell = (tx: Queryable, organizationId: string, connectionId: string) =>
  notify(tx, { kind: 'connection', connectionId, organizationId })

/** An active connection, with its key's hash and its profile. */
export interface ConnectionRow {
  id: string
  organizationId: string
  /** The root of the organization (fair/roots.ts). */
  root: string
  kind: ConnectionKind
  keyHash: Buffer
  headerName: string | null
  profileId: string
}

/** The active ones among these connections, of any organization. */
export async function listActiveConnections(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, ConnectionRow>> {
  const rows = await db.query<ConnectionRow>(
    `SELECT c.id, c.organization_id AS "organizationId", ${ROOT} AS root, c.kind, c.key_hash AS "keyHash",
       c.header_name AS "headerName", ${PROFILE_ID} AS "profileId"
     FROM connections c JOIN organizations o ON o.id = c.organization_id
     WHERE c.id = ANY($1::uuid[]) AND c.is_active`,
    [ids],
  )
  learnRoots(rows)
  return new Map(rows.map(row => [row.id, { ...row, keyHash: Buffer.from(row.keyHash) }]))
}

/** The hashes of the keys, and the profiles, of active connections among these. */
export async function listConnectionKeys(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, Pick<ConnectionRow, 'keyHash' | 'profileId'>>> {
  const rows = await db.query<{ id: string; keyHash: Uint8Array; profileId: string }>(
    `SELECT c.id, c.key_hash AS "keyHash", ${PROFILE_ID} AS "profileId" FROM connections c
     WHERE c.id = ANY($1::uuid[]) AND c.is_active`,
    [ids],
  )
  return new Map(rows.map(({ id, keyHash, profileId }) => [id, { keyHash: Buffer.from(keyHash), profileId }]))
}
