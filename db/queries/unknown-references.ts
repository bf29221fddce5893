import { newId, notify, type Queryable } from '../client.ts'
import type { VisibleHubs } from '../hub-rule.ts'
import type { KeptPoint } from '../schema/connections.ts'
import { foldReference, listDevicesByReference, type ReferencedDevice } from './device-references.ts'
import { listDeviceSubjects } from './devices.ts'
import { deleteSome } from './prune.ts'

/**
 * References that no device has. Their messages are kept here until somebody adopts the reference or 30 days have
 * passed. A device may get a reference while a message of it is on its way here, so both take the connection's row:
 * `keepUnknown` shares it and then asks for the devices, and who gives references away waits until that is done.
 */
const KEPT_REFERENCES = 1_000
export const KEPT_POINTS = 100
/** The bytes of the points of one reference: 100 of them take 20 KB without attributes. */
const KEPT_BYTES = 64 * 1024
const KEPT_FOR = `interval '30 days'`
const MAX_CREATED_PER_HOUR = 1_000
/** The longest name of a device. */
const MAX_NAME = 200
/** The references that are handed over together: up to 2,500 points, some 60 ms of the embedded database. */
export const ADOPTED_AT_ONCE = 25
/** The points that are deleted together before their connection is. */
const DELETED_AT_ONCE = 2_000

/** The messages of one batch for a reference that no device has. */
export interface UnknownReference {
  reference: string
  messages: number
  /** By our clock, in milliseconds since 1970. */
  lastMessageAt: number
  points: KeptPoint[]
}

/**
 * Keeps what came for unknown references. Resolves to the devices of those that have one after all, or for which the
 * connection has created one now: their points are not kept here. Null if the connection is gone.
 */
export async function keepUnknown(
  tx: Queryable,
  { organizationId, connectionId }: { organizationId: string; connectionId: string },
  references: readonly UnknownReference[],
  /** Null: no device is created now, whatever the connection says. */
  createKeyHash: (() => Buffer) | null,
): Promise<Map<string, ReferencedDevice> | null> {
  const [connection] = await tx.query<{ createDevices: boolean; hubId: string | null }>(
    `SELECT create_devices AS "createDevices", hub_id AS "hubId" FROM connections WHERE id = $1 FOR SHARE`,
    [connectionId],
  )
  if (!connection) return null
  const folded = references.map(({ reference }) => foldReference(reference))
  const known = await listDevicesByReference(tx, organizationId, folded)
  const isUnknown = ({ reference }: UnknownReference) => !known.has(foldReference(reference))
  if (createKeyHash && connection.createDevices && known.size < references.length) {
    const room = await takeRoom(tx, connectionId, references.filter(isUnknown).length)
    const created = references.filter(isUnknown).slice(0, room)
    const names = created.map(({ reference }) => reference)
    await createReferenced(tx, { organizationId, hubId: connection.hubId }, names, createKeyHash)
    const made = await listDevicesByReference(tx, organizationId, names.map(foldReference))
    for (const [key, device] of made) known.set(key, device)
  }
  const unknown = references.filter(isUnknown)
  if (unknown.length > 0) await insertUnknown(tx, { organizationId, connectionId }, unknown)
  return known
}

/** Counts devices that the connection is about to create, as far as this hour has room. Resolves to their number. */
async function takeRoom(tx: Queryable, connectionId: string, wanted: number): Promise<number> {
  const [row] = await tx.query<{ created: number }>(
    `SELECT CASE WHEN hour = date_trunc('hour', now()) THEN created_devices ELSE 0 END AS created
     FROM connection_states WHERE connection_id = $1 FOR UPDATE`,
    [connectionId],
  )
  const created = row?.created ?? 0
  const room = Math.max(0, Math.min(wanted, MAX_CREATED_PER_HOUR - created))
  if (room > 0)
    await tx.query(
      `UPDATE connection_states SET hour = date_trunc('hour', now()), created_devices = $2 WHERE connection_id = $1`,
      [connectionId, created + room],
    )
  return room
}

/** Creates a device for each reference, named by it. Violates a unique key if one of them has a device meanwhile. */
async function createReferenced(
  tx: Queryable,
  {
    organizationId,
    hubId,
    keyBy = null,
  }: { organizationId: string; hubId: string | null; keyBy?: string | null },
  references: readonly string[],
  createKeyHash: () => Buffer,
): Promise<void> {
  if (references.length === 0) return
  const ids = references.map(() => newId())
  await tx.query(
    `INSERT INTO subjects (id, organization_id, type) SELECT id, $1, 'device' FROM unnest($2::uuid[]) AS id`,
    [organizationId, ids],
  )
  await tx.query(
    `INSERT INTO devices (id, organization_id, name, hub_id, key_hash, key_by)
     SELECT g.id, $1, g.name, $2::uuid, decode(g.key_hash, 'hex'), $3::uuid
     FROM unnest($4::uuid[], $5::text[], $6::text[]) AS g(id, name, key_hash)`,
    [
      organizationId,
      hubId,
      keyBy,
      ids,
      references.map(nameOf),
      references.map(() => createKeyHash().toString('hex')),
    ],
  )
  await tx.query(
    `INSERT INTO device_references (organization_id, folded, reference, device_id, place)
     SELECT $1, g.folded, g.reference, g.id, 0 FROM unnest($2::text[], $3::text[], $4::uuid[]) AS g(folded, reference, id)
     ORDER BY g.folded`,
    [organizationId, references.map(foldReference), references, ids],
  )
}

const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u

/** A device's name for a reference that a stranger sent: on one line, and without what hides or turns the letters beside it. */
function nameOf(reference: string): string {
  const name = reference.replaceAll(/\s+/g, ' ').replaceAll(UNSEEN, '').trim()
  return VISIBLE.test(name) ? name : encodeURIComponent(reference).slice(0, MAX_NAME)
}

async function insertUnknown(
  tx: Queryable,
  { organizationId, connectionId }: { organizationId: string; connectionId: string },
  unknown: readonly UnknownReference[],
): Promise<void> {
  const newest = unknown.map(({ points }) =>
    points.reduce<KeptPoint | null>(
      (best, point) => (best && best.recordedAt > point.recordedAt ? best : point),
      null,
    ),
  )
  const folded = unknown.map(({ reference }) => foldReference(reference))
  await tx.query(
    `INSERT INTO unknown_references AS u
       (connection_id, folded, organization_id, reference, messages, last_message_at, last_point)
     SELECT $1, g.folded, $2, g.reference, g.messages, to_timestamp(g.at / 1000), g.point
     FROM unnest($3::text[], $4::text[], $5::int4[], $6::float8[], $7::jsonb[]) AS g(folded, reference, messages, at, point)
     ORDER BY g.folded
     ON CONFLICT (connection_id, folded) DO UPDATE SET messages = u.messages + excluded.messages,
       last_message_at = greatest(u.last_message_at, excluded.last_message_at),
       last_point = CASE WHEN (excluded.last_point->>'recordedAt')::float8 < (u.last_point->>'recordedAt')::float8
         THEN u.last_point ELSE coalesce(excluded.last_point, u.last_point) END`,
    [
      connectionId,
      organizationId,
      folded,
      unknown.map(({ reference }) => reference),
      unknown.map(({ messages }) => messages),
      unknown.map(({ lastMessageAt }) => lastMessageAt),
      newest.map(point => point && JSON.stringify({ ...point, attributes: null })),
    ],
  )
  const points = unknown.flatMap(({ points }, index) => points.map(point => ({ point, key: folded[index] })))
  if (points.length > 0) {
    await tx.query(
      `INSERT INTO unknown_points (connection_id, organization_id, folded, recorded_at, point)
       SELECT $1, $2, g.folded, to_timestamp(g.at / 1000), g.point
       FROM unnest($3::text[], $4::float8[], $5::jsonb[]) AS g(folded, at, point) ORDER BY g.folded, g.at
       ON CONFLICT DO NOTHING`,
      [
        connectionId,
        organizationId,
        points.map(({ key }) => key),
        points.map(({ point }) => point.recordedAt),
        points.map(({ point }) => JSON.stringify(point)),
      ],
    )
    await tx.query(
      `DELETE FROM unknown_points p USING (
         SELECT n.folded, n.recorded_at, row_number() OVER newest AS place, sum(octet_length(n.point::text)) OVER newest AS bytes
         FROM unknown_points n
         WHERE n.connection_id = $1 AND n.folded = ANY($2::text[]) AND n.device_id IS NULL
         WINDOW newest AS (PARTITION BY n.folded ORDER BY n.recorded_at DESC)) old
       WHERE p.connection_id = $1 AND p.folded = old.folded AND p.recorded_at = old.recorded_at AND p.device_id IS NULL
         AND (old.place > ${KEPT_POINTS} OR old.bytes > ${KEPT_BYTES})`,
      [connectionId, folded],
    )
  }
  await tx.query(
    `WITH old AS (
       DELETE FROM unknown_references WHERE connection_id = $1 AND folded IN (
         SELECT folded FROM unknown_references WHERE connection_id = $1
         ORDER BY last_message_at DESC, folded OFFSET ${KEPT_REFERENCES})
       RETURNING folded)
     DELETE FROM unknown_points p USING old
     WHERE p.connection_id = $1 AND p.folded = old.folded AND p.device_id IS NULL`,
    [connectionId],
  )
}

/** An unknown reference as the interface shows it. */
export interface UnknownRow {
  reference: string
  messages: number
  lastMessageAt: Date
  lastPoint: (Omit<KeptPoint, 'recordedAt' | 'receivedAt' | 'attributes'> & { timestamp: Date }) | null
}

/** The unknown references of a connection, the newest first. */
export async function listUnknown(tx: Queryable, connectionId: string): Promise<UnknownRow[]> {
  const rows = await tx.query<Omit<UnknownRow, 'lastPoint'> & { lastPoint: KeptPoint | null }>(
    `SELECT reference, messages, last_message_at AS "lastMessageAt", last_point AS "lastPoint"
     FROM unknown_references u
     WHERE connection_id = $1 AND last_message_at > now() - ${KEPT_FOR}
     ORDER BY last_message_at DESC, folded LIMIT ${KEPT_REFERENCES}`,
    [connectionId],
  )
  return rows.map(({ lastPoint, ...row }) => {
    if (!lastPoint) return { ...row, lastPoint }
    const { recordedAt, receivedAt: _, attributes: __, ...point } = lastPoint
    return { ...row, lastPoint: { ...point, timestamp: new Date(recordedAt) } }
  })
}

/** A reference that became a device, and the number of its points on their way to the log. */
export interface Adopted {
  reference: string
  deviceId: string
  points: number
}

interface Adopting {
  organizationId: string
  connectionId: string
  hubId: string | null
  keyBy: string
  /** The hubs whose devices may be named; a reference of another device counts as unknown. */
  visible: VisibleHubs
}

/**
 * Creates a device for each unknown reference, at most `ADOPTED_AT_ONCE`, unless it has one by now, and hands its kept points
 * over to it. Resolves to one entry for each reference; null where nothing is known of it.
 */
export async function adoptReferences(
  tx: Queryable,
  given: Adopting,
  references: readonly string[],
  createKeyHash: () => Buffer,
): Promise<(Adopted | null)[]> {
  const { organizationId, connectionId, hubId, keyBy, visible } = given
  await tx.query('SELECT FROM connections WHERE id = $1 FOR UPDATE', [connectionId])
  const folded = [...new Set(references.map(foldReference))].sort()
  const waiting = await tx.query<{ folded: string; reference: string }>(
    'SELECT folded, reference FROM unknown_references WHERE connection_id = $1 AND folded = ANY($2::text[]) ORDER BY folded',
    [connectionId, folded],
  )
  const before = await listDevicesByReference(tx, organizationId, folded)
  const names = waiting.filter(({ folded: key }) => !before.has(key)).map(({ reference }) => reference)
  await createReferenced(tx, { organizationId, hubId, keyBy }, names, createKeyHash)
  const points = await handOver(tx, organizationId, connectionId, folded)
  const devices = await listDevicesByReference(tx, organizationId, folded)
  const seen = await listDeviceSubjects(
    tx,
    [...devices.values()].map(({ id }) => id),
    visible,
  )
  await notify(tx, { kind: 'connection', connectionId, organizationId })
  return references.map(reference => {
    const device = devices.get(foldReference(reference))
    return device && seen.has(device.id)
      ? { reference, deviceId: device.id, points: points.get(foldReference(reference)) ?? 0 }
      : null
  })
}

/**
 * Hands the kept points of references of a connection that have a device by now over to it: of these references, or of any.
 * The connection is locked. Resolves to the number of points by reference.
 */
async function handOver(
  tx: Queryable,
  organizationId: string,
  connectionId: string,
  folded: readonly string[] | null,
): Promise<Map<string, number>> {
  const rows = await tx.query<{ folded: string; points: number }>(
    `WITH known AS MATERIALIZED (
       SELECT u.folded, r.device_id FROM unknown_references u JOIN device_references r USING (organization_id, folded)
       WHERE u.organization_id = $1 AND u.connection_id = $2 AND ($3::text[] IS NULL OR u.folded = ANY($3::text[]))
       LIMIT ${ADOPTED_AT_ONCE}
     ), found AS (
       DELETE FROM unknown_references u USING known k WHERE u.connection_id = $2 AND u.folded = k.folded
       RETURNING u.folded, k.device_id
     ), handed AS (
       UPDATE unknown_points p SET device_id = f.device_id FROM found f
       WHERE p.connection_id = $2 AND p.folded = f.folded AND p.device_id IS NULL RETURNING p.folded
     )
     SELECT f.folded, (SELECT count(*)::int4 FROM handed h WHERE h.folded = f.folded) AS points FROM found f`,
    [organizationId, connectionId, folded],
  )
  return new Map(rows.map(row => [row.folded, row.points]))
}

/**
 * Deletes some of the points that a connection keeps for nobody, before it is deleted itself. Resolves to whether there may be
 * more.
 */
export async function deleteSomeKept(tx: Queryable, connectionId: string): Promise<boolean> {
  // An adoption holds the connection until its points have their device.
  await tx.query('SELECT FROM connections WHERE id = $1 FOR UPDATE', [connectionId])
  const deleted = await tx.query(
    `DELETE FROM unknown_points WHERE ctid = ANY (ARRAY(
       SELECT p.ctid FROM unknown_points p WHERE p.connection_id = $1 AND p.device_id IS NULL
         AND NOT EXISTS (SELECT FROM device_references r WHERE r.organization_id = p.organization_id AND r.folded = p.folded)
       LIMIT ${DELETED_AT_ONCE})) RETURNING 1`,
    [connectionId],
  )
  return deleted.length === DELETED_AT_ONCE
}

/**
 * Whether a connection keeps something that belongs in the history of a device. It is locked, so that nothing becomes adopted
 * before the transaction ends.
 */
export async function keepsForDevices(tx: Queryable, connectionId: string): Promise<boolean> {
  await tx.query('SELECT FROM connections WHERE id = $1 FOR UPDATE', [connectionId])
  const [row] = await tx.query<{ keeps: boolean }>(
    `SELECT EXISTS (
         SELECT FROM unknown_points p JOIN subjects s ON s.id = p.device_id
         WHERE p.connection_id = $1 AND p.device_id IS NOT NULL)
       OR EXISTS (
         SELECT FROM unknown_references u JOIN device_references r USING (organization_id, folded)
         WHERE u.connection_id = $1) AS keeps`,
    [connectionId],
  )
  return row?.keeps === true
}

/** The connections that keep points of references that have got a device elsewhere. */
export function listAdoptable(
  db: Queryable,
  limit: number,
): Promise<{ organizationId: string; connectionId: string }[]> {
  return db.query(
    `SELECT DISTINCT u.organization_id AS "organizationId", u.connection_id AS "connectionId"
     FROM unknown_references u JOIN device_references r USING (organization_id, folded) LIMIT $1`,
    [limit],
  )
}

/**
 * Hands over what a connection keeps for some references that have got a device elsewhere. Resolves to whether there may be
 * more of them.
 */
export async function adoptKnown(
  tx: Queryable,
  organizationId: string,
  connectionId: string,
): Promise<boolean> {
  await tx.query('SELECT FROM connections WHERE id = $1 FOR UPDATE', [connectionId])
  const { size } = await handOver(tx, organizationId, connectionId, null)
  if (size > 0) await notify(tx, { kind: 'connection', connectionId, organizationId })
  return size === ADOPTED_AT_ONCE
}

/** Deletes some of the references of which nothing came for 30 days. Resolves to whether there may be more. */
export async function pruneUnknown(db: Queryable): Promise<boolean> {
  const isOld = `last_message_at <= now() - ${KEPT_FOR}`
  const more = await deleteSome(
    db,
    'unknown_points p',
    `device_id IS NULL AND EXISTS (SELECT FROM unknown_references u
       WHERE u.connection_id = p.connection_id AND u.folded = p.folded AND ${isOld})`,
  )
  return more || deleteSome(db, 'unknown_references', isOld)
}
