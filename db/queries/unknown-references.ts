import { newId, notify, type Queryable } from '../client.ts'
import type { KeptPoint } from '../schema/connections.ts'
import { foldReference, listDevicesByReference, type ReferencedDevice } from './device-references.ts'
import { deleteSome } from './prune.ts'

/**
 * References that no device has. Their messages are kept here until somebody adopts the reference or 30 days have
 * passed. A device may get a reference while a message of it is on its way here, so both take the connection's row:
 * `keepUnknown` shares it and then asks for the devices, and who gives references away waits until that is done.
 */
const KEPT_REFERENCES = 1_000
const KEPT_POINTS = 100
const KEPT_FOR = `interval '30 days'`
const MAX_CREATED_PER_HOUR = 1_000

/** What came for a reference that no device has: the messages of one batch. */
export interface UnknownReference {
  reference: string
  messages: number
  /** Of our clock, in milliseconds since 1970. */
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
  createKeyHash: () => Buffer,
): Promise<Map<string, ReferencedDevice> | null> {
  const [connection] = await tx.query<{ createDevices: boolean; hubId: string | null }>(
    `SELECT create_devices AS "createDevices", hub_id AS "hubId" FROM connections WHERE id = $1 FOR SHARE`,
    [connectionId],
  )
  if (!connection) return null
  const folded = references.map(({ reference }) => foldReference(reference))
  const known = await listDevicesByReference(tx, organizationId, folded)
  const isUnknown = ({ reference }: UnknownReference) => !known.has(foldReference(reference))
  if (connection.createDevices && known.size < references.length) {
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
    [organizationId, hubId, keyBy, ids, references, references.map(() => createKeyHash().toString('hex'))],
  )
  await tx.query(
    `INSERT INTO device_references (organization_id, folded, reference, device_id, place)
     SELECT $1, g.folded, g.reference, g.id, 0 FROM unnest($2::text[], $3::text[], $4::uuid[]) AS g(folded, reference, id)
     ORDER BY g.folded`,
    [organizationId, references.map(foldReference), references, ids],
  )
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
         SELECT folded, (SELECT n.recorded_at FROM unknown_points n
           WHERE n.connection_id = $1 AND n.folded = given.folded AND n.device_id IS NULL
           ORDER BY n.recorded_at DESC OFFSET ${KEPT_POINTS} LIMIT 1) AS recorded_at
         FROM unnest($2::text[]) AS given(folded)) last
       WHERE p.connection_id = $1 AND p.folded = last.folded AND p.device_id IS NULL AND p.recorded_at <= last.recorded_at`,
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

/**
 * Creates a device for each unknown reference, unless it has one by now, and hands its kept points over to it. Resolves
 * to one entry for each reference; null where nothing is known of it.
 */
export async function adoptReferences(
  tx: Queryable,
  given: { organizationId: string; connectionId: string; hubId: string | null; keyBy: string },
  references: readonly string[],
  createKeyHash: () => Buffer,
): Promise<(Adopted | null)[]> {
  const { organizationId, connectionId, hubId, keyBy } = given
  await tx.query('SELECT FROM connections WHERE id = $1 FOR UPDATE', [connectionId])
  const folded = [...new Set(references.map(foldReference))].sort()
  const waiting = await tx.query<{ folded: string; reference: string }>(
    'SELECT folded, reference FROM unknown_references WHERE connection_id = $1 AND folded = ANY($2::text[]) ORDER BY folded',
    [connectionId, folded],
  )
  const before = await listDevicesByReference(tx, organizationId, folded)
  const names = waiting.filter(({ folded: key }) => !before.has(key)).map(({ reference }) => reference)
  await createReferenced(tx, { organizationId, hubId, keyBy }, names, createKeyHash)
  const points = await handOver(tx, organizationId, connectionId)
  const devices = await listDevicesByReference(tx, organizationId, folded)
  await notify(tx, { kind: 'connection', connectionId, organizationId })
  return references.map(reference => {
    const device = devices.get(foldReference(reference))
    return device
      ? { reference, deviceId: device.id, points: points.get(foldReference(reference)) ?? 0 }
      : null
  })
}

/**
 * Hands the kept points of references that have a device by now over to it; with a connection only its own, which is
 * locked. Resolves to the number of points by reference.
 */
async function handOver(
  tx: Queryable,
  organizationId: string,
  connectionId: string,
): Promise<Map<string, number>> {
  const rows = await tx.query<{ folded: string; points: number }>(
    `WITH found AS (
       DELETE FROM unknown_references u USING device_references r
       WHERE u.organization_id = $1 AND u.connection_id = $2 AND r.organization_id = u.organization_id
         AND r.folded = u.folded
       RETURNING u.folded, r.device_id
     ), handed AS (
       UPDATE unknown_points p SET device_id = f.device_id FROM found f
       WHERE p.connection_id = $2 AND p.folded = f.folded AND p.device_id IS NULL RETURNING p.folded
     )
     SELECT folded, count(*)::int4 AS points FROM handed GROUP BY 1`,
    [organizationId, connectionId],
  )
  return new Map(rows.map(row => [row.folded, row.points]))
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

/** Hands over what a connection keeps for references that have got a device elsewhere. */
export async function adoptKnown(tx: Queryable, organizationId: string, connectionId: string): Promise<void> {
  await tx.query('SELECT FROM connections WHERE id = $1 FOR UPDATE', [connectionId])
  await handOver(tx, organizationId, connectionId)
}

/** A kept point on its way to the history of its device. */
export interface AdoptedPoint {
  connectionId: string
  folded: string
  recordedAt: string
  point: KeptPoint
  device: ReferencedDevice & { organizationId: string }
}

/** Some of the points that were handed over to devices, of any organization. */
export async function listAdopted(db: Queryable, limit: number): Promise<AdoptedPoint[]> {
  const rows = await db.query<
    Omit<AdoptedPoint, 'device'> & { id: string; subject: number; organizationId: string }
  >(
    `SELECT p.connection_id AS "connectionId", p.folded, p.recorded_at::text AS "recordedAt", p.point,
       s.id, s.key AS subject, s.organization_id AS "organizationId"
     FROM unknown_points p JOIN subjects s ON s.id = p.device_id
     WHERE p.device_id IS NOT NULL ORDER BY p.device_id, p.recorded_at LIMIT $1`,
    [limit],
  )
  return rows.map(({ id, subject, organizationId, ...rest }) => ({
    ...rest,
    device: { id, subject, organizationId },
  }))
}

/** Deletes points that are durable in the log. */
export async function deleteAdopted(db: Queryable, points: readonly AdoptedPoint[]): Promise<void> {
  await db.query(
    `DELETE FROM unknown_points p USING unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS g(connection_id, folded, recorded_at)
     WHERE p.connection_id = g.connection_id AND p.folded = g.folded AND p.recorded_at = g.recorded_at
       AND p.device_id IS NOT NULL`,
    [
      points.map(({ connectionId }) => connectionId),
      points.map(({ folded }) => folded),
      points.map(({ recordedAt }) => recordedAt),
    ],
  )
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
