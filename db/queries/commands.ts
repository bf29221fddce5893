import { newId, notify, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { commands } from '../schema/commands.ts'
import { hubOfDevice } from '../visibility.ts'
import { conditions, type Page, type PageRequest, readPage } from './page.ts'
import { deleteSome } from './prune.ts'
import { insertEvents } from './webhook-events.ts'

type Row = Shown<typeof commands, 'number' | 'carrier' | 'carriedAt'>

/** A command as the interface shows it. */
export type Command = Omit<Row, 'payload' | 'result'> & { payload: unknown; result: unknown }
type CommandState = Command['state']

const COLUMNS = shownColumns(commands, 'c', ['number', 'carrier', 'carriedAt'])
const NOW = 'clock_timestamp()'
/** Neither answered nor expired. */
const UNFINISHED = `state IN ('queued', 'sent', 'received')`

const toCommand = <R extends Pick<Row, 'payload' | 'result'>>(row: R) => ({
  ...row,
  payload: JSON.parse(row.payload) as unknown,
  result: row.result === null ? null : (JSON.parse(row.result) as unknown),
})

export const COMMAND_SORTS = { createdAt: { sql: 'c.created_at', type: 'timestamptz' } } as const

export async function listCommands(
  tx: Queryable,
  deviceId: string,
  filter: { state?: CommandState | undefined },
  page: PageRequest,
): Promise<Page<Command>> {
  const { where, values, add } = conditions()
  add('c.device_id = ?', deviceId)
  if (filter.state) add('c.state = ?', filter.state)
  const found = await readPage<Row>(
    tx,
    {
      columns: COLUMNS,
      from: 'commands c',
      where,
      values,
      bytes: 'octet_length(c.payload) + coalesce(octet_length(c.result), 0)',
      id: 'c.id',
      sorts: COMMAND_SORTS,
      search: ['c.name'],
      countUpTo: 10_000,
    },
    page,
  )
  return { ...found, rows: found.rows.map(toCommand) }
}

/** A command of the device, or null. */
export async function findCommand(tx: Queryable, deviceId: string, id: string): Promise<Command | null> {
  const [row] = await tx.query<Row>(
    `SELECT ${COLUMNS} FROM commands c WHERE c.id = $1 AND c.device_id = $2`,
    [id, deviceId],
  )
  return row ? toCommand(row) : null
}

/** Commands with the hubs that decide who sees them. */
export async function listCommandsById(
  tx: Queryable,
  ids: readonly string[],
): Promise<{ command: Command; hubId: string | null }[]> {
  const rows = await tx.query<Row & { hubId: string | null }>(
    `SELECT ${COLUMNS}, ${hubOfDevice('d')} AS "hubId" FROM commands c JOIN devices d ON d.id = c.device_id
     WHERE c.id = ANY($1::uuid[]) AND d.deleted_at IS NULL`,
    [ids],
  )
  return rows.map(({ hubId, ...row }) => ({ command: toCommand(row), hubId }))
}

/** Commands that wait to be handed over: a device that never comes back fills no more than this. */
export const MAX_QUEUED_OF_DEVICE = 100
export const MAX_QUEUED_OF_ORGANIZATION = 20_000

/** Makes a command. Returns its identifier, or who has too many that wait; null for a deleted device. */
export async function insertCommand(
  tx: Queryable,
  command: {
    organizationId: string
    deviceId: string
    name: string
    payload: string
    expiresInSeconds: number
  },
): Promise<{ id: string } | { full: 'device' | 'organization' } | null> {
  const { organizationId, deviceId, name, payload, expiresInSeconds } = command
  if (!(await lockDevice(tx, deviceId))) return null
  const [waiting] = await tx.query<{ own: number; all: number }>(
    `SELECT (SELECT count(*) FROM (SELECT FROM commands WHERE organization_id = $2 AND device_id = $1
         AND state = 'queued' LIMIT ${MAX_QUEUED_OF_DEVICE}) own)::int4 AS own,
       (SELECT count(*) FROM (SELECT FROM commands WHERE organization_id = $2
         AND state = 'queued' LIMIT ${MAX_QUEUED_OF_ORGANIZATION}) queued)::int4 AS all`,
    [deviceId, organizationId],
  )
  if ((waiting?.own ?? 0) >= MAX_QUEUED_OF_DEVICE) return { full: 'device' }
  if ((waiting?.all ?? 0) >= MAX_QUEUED_OF_ORGANIZATION) return { full: 'organization' }
  const id = newId()
  await tx.query(
    `INSERT INTO commands (id, organization_id, device_id, name, payload, expires_at, created_at, updated_at)
     SELECT $1, $2, $3, $4, $5, at + make_interval(secs => $6::int4), at, at FROM (SELECT ${NOW} AS at) made`,
    [id, organizationId, deviceId, name, payload, expiresInSeconds],
  )
  await notify(tx, { kind: 'command', deviceId, organizationId })
  await tellWatchers(tx, organizationId, [id])
  return { id }
}

/** Deletes a command that nobody has begun to hand over. Returns false if it is too late for that. */
export async function deleteCommand(tx: Queryable, organizationId: string, id: string): Promise<boolean> {
  const [deleted] = await tx.query<{ hubId: string | null }>(
    `DELETE FROM commands c USING devices d
     WHERE c.id = $1 AND c.state = 'queued' AND c.expires_at > ${NOW} AND d.id = c.device_id
     RETURNING ${hubOfDevice('d')} AS "hubId"`,
    [id],
  )
  // Who saw it is told of its end.
  if (deleted) await tellWatchers(tx, organizationId, [id], deleted.hubId ?? '')
  return deleted !== undefined
}

/** A command that a connection hands over. */
export interface HandedOver {
  id: string
  name: string
  /** JSON. */
  payload: string
  expiresAt: Date
  /** Whether nobody has handed it over before. */
  isNew: boolean
}

/** An answer of a device. */
export interface CommandAnswer {
  id: string
  status: 'done' | 'failed'
  /** JSON, or null. */
  result: string | null
}

/** How long another connection is given to be acknowledged before a connection that is open beside it takes its commands over. */
const CARRIER_RESTS_S = 60

/**
 * Gives a connection the oldest commands of its device that are neither acknowledged nor expired, at most `limit`, oldest first.
 * From the commit on they are handed over, so that nobody hands them over as new ones again. Returns null while another
 * connection has some and is expected to acknowledge them; one that has just subscribed (`takesOver`) does not wait for that.
 */
export async function carryCommands(
  tx: Queryable,
  { organizationId, deviceId }: { organizationId: string; deviceId: string },
  { carrier, takesOver, limit }: { carrier: string; takesOver: boolean; limit: number },
): Promise<HandedOver[] | null> {
  if (!(await lockDevice(tx, deviceId))) return null
  const open = await tx.query<HandedOver & { isOwn: boolean; isOthers: boolean }>(
    `SELECT id, name, payload, expires_at AS "expiresAt", state = 'queued' AS "isNew",
       carrier IS NOT DISTINCT FROM $2 AS "isOwn",
       coalesce(carrier <> $2 AND carried_at > ${NOW} - make_interval(secs => ${CARRIER_RESTS_S}), false) AS "isOthers"
     FROM commands WHERE device_id = $1 AND state IN ('queued', 'sent') AND expires_at > ${NOW}
     ORDER BY number LIMIT $3 FOR UPDATE`,
    [deviceId, carrier, limit],
  )
  if (!takesOver && open.some(({ isOthers }) => isOthers)) return null
  const changed = open.filter(({ isNew, isOwn }) => isNew || !isOwn).map(({ id }) => id)
  if (changed.length > 0) {
    await tx.query(
      `UPDATE commands SET state = 'sent', sent_at = coalesce(sent_at, ${NOW}), carrier = $2, carried_at = ${NOW},
         updated_at = ${NOW} WHERE id = ANY($1::uuid[])`,
      [changed, carrier],
    )
    await tellWatchers(tx, organizationId, changed)
  }
  return open
}

/** Lets other connections of the device have the commands of a connection that has ended. */
export async function releaseCommands(
  tx: Queryable,
  { organizationId, deviceId }: { organizationId: string; deviceId: string },
  carriers: readonly string[],
): Promise<void> {
  const released = await tx.query(
    `UPDATE commands SET carrier = NULL WHERE device_id = $1 AND state = 'sent' AND carrier = ANY($2::uuid[])
     RETURNING 1`,
    [deviceId, carriers],
  )
  if (released.length > 0) await notify(tx, { kind: 'command', deviceId, organizationId })
}

/** Notes that the device has acknowledged these commands. */
export async function receiveCommands(
  tx: Queryable,
  { organizationId, deviceId }: { organizationId: string; deviceId: string },
  ids: readonly string[],
): Promise<void> {
  const changed = await tx.query<{ id: string }>(
    `UPDATE commands SET state = 'received', received_at = ${NOW}, updated_at = ${NOW}
     WHERE id = ANY($1::uuid[]) AND device_id = $2 AND state = 'sent' AND expires_at > ${NOW} RETURNING id`,
    [ids, deviceId],
  )
  await tellWatchers(
    tx,
    organizationId,
    changed.map(({ id }) => id),
  )
}

/**
 * Takes the answers of a device, in order: the first to a command counts, unless the command has expired or is none of its own. Returns
 * the commands that the device does not have.
 */
export async function answerCommands(
  tx: Queryable,
  { organizationId, deviceId }: { organizationId: string; deviceId: string },
  answers: readonly CommandAnswer[],
): Promise<string[]> {
  const first = new Map(answers.toReversed().map(answer => [answer.id, answer]))
  const given = [...first.values()]
  const finished = await tx.query<Row>(
    `UPDATE commands c SET state = a.status, result = a.result, finished_at = ${NOW}, updated_at = ${NOW},
       received_at = coalesce(c.received_at, ${NOW})
     FROM unnest($2::uuid[], $3::text[], $4::text[]) AS a(id, status, result)
     WHERE c.id = a.id AND c.device_id = $1 AND c.state IN ('sent', 'received') AND c.expires_at > ${NOW}
     RETURNING ${COLUMNS}`,
    [
      deviceId,
      given.map(({ id }) => id),
      given.map(({ status }) => status),
      given.map(({ result }) => result),
    ],
  )
  await announceEnds(tx, organizationId, finished)
  const unchanged = [...first.keys()].filter(id => !finished.some(({ _id }) => _id === id))
  if (unchanged.length === 0) return []
  const known = await tx.query<{ id: string }>(
    'SELECT id FROM commands WHERE id = ANY($1::uuid[]) AND device_id = $2',
    [unchanged, deviceId],
  )
  return unchanged.filter(id => !known.some(one => one.id === id))
}

const EXPIRED_AT_ONCE = 500

/** Ends commands of all organizations whose time is over. Returns whether there may be more. */
export async function expireCommands(tx: Queryable): Promise<boolean> {
  const expired = await tx.query<Row & { organizationId: string }>(
    `WITH ending AS MATERIALIZED (
       SELECT id FROM commands WHERE ${UNFINISHED} AND expires_at <= ${NOW}
       ORDER BY expires_at LIMIT ${EXPIRED_AT_ONCE} FOR UPDATE SKIP LOCKED)
     UPDATE commands c SET state = 'expired', finished_at = ${NOW}, updated_at = ${NOW}
     FROM ending WHERE c.id = ending.id RETURNING ${COLUMNS}, c.organization_id AS "organizationId"`,
  )
  // In the same order everywhere, since each locks the job of its organization.
  for (const organizationId of [...new Set(expired.map(one => one.organizationId))].sort()) {
    const rows = expired.flatMap(({ organizationId: of, ...row }) => (of === organizationId ? row : []))
    await announceEnds(tx, organizationId, rows)
    // What waits behind them may be handed over now.
    const deviceIds = [...new Set(rows.map(({ deviceId }) => deviceId))]
    await notify(tx, ...deviceIds.map(deviceId => ({ kind: 'command' as const, deviceId, organizationId })))
  }
  return expired.length === EXPIRED_AT_ONCE
}

export const pruneCommands = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'commands', `finished_at < now() - interval '30 days'`)

/** The devices among these that have commands to be handed over or acknowledged. */
export async function listDevicesWithCommands(
  db: Queryable,
  deviceIds: readonly string[],
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `SELECT d.id FROM unnest($1::uuid[]) AS d(id)
     WHERE EXISTS (SELECT FROM commands c WHERE c.device_id = d.id AND c.state IN ('queued', 'sent'))`,
    [deviceIds],
  )
  return rows.map(({ id }) => id)
}

/** Makes, hands over and orders the commands of a device one after the other. Returns false for a deleted device. */
async function lockDevice(tx: Queryable, deviceId: string): Promise<boolean> {
  const rows = await tx.query(
    'SELECT 1 FROM devices WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE',
    [deviceId],
  )
  return rows.length > 0
}

async function announceEnds(tx: Queryable, organizationId: string, ended: readonly Row[]): Promise<void> {
  const payloads = ended.map(row => JSON.stringify(toCommand(row)))
  await insertEvents(tx, organizationId, { event: 'command-finished', dataTypeId: null, payloads })
  await tellWatchers(
    tx,
    organizationId,
    ended.map(({ _id }) => _id),
  )
}

/** `before` is the hub of a deleted one, empty for none. */
async function tellWatchers(
  tx: Queryable,
  organizationId: string,
  ids: readonly string[],
  before?: string,
): Promise<void> {
  if (ids.length === 0) return
  const change = { kind: 'record', topic: 'commands', organizationId } as const
  await notify(
    tx,
    ...ids.map(recordId => ({ ...change, recordId, ...(before === undefined ? {} : { before }) })),
  )
}
