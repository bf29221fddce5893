import { and, eq, isNull, sql } from 'drizzle-orm'
import { newId, notify, type Queryable } from '../client.ts'
import { devices, mounts } from '../schema/devices.ts'
import { subjects } from '../schema/users.ts'
import { raiseSight } from './organizations.ts'
import { conditions, type Page, type PageRequest, readPage } from './page.ts'

export interface DeviceCredential {
  id: string
  organizationId: string
  subject: number
  keyHash: Buffer
}

const CREDENTIAL = `SELECT d.id, d.organization_id AS "organizationId", s.key AS subject, d.key_hash AS "keyHash"
  FROM devices d JOIN subjects s ON s.id = d.id WHERE d.deleted_at IS NULL AND`

/** What the keys of devices are checked against; those that do not exist are left out. */
export async function listDeviceCredentials(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, DeviceCredential>> {
  const rows = await db.query<DeviceCredential>(`${CREDENTIAL} d.id = ANY($1::uuid[])`, [ids])
  return new Map(rows.map(row => [row.id, { ...row, keyHash: Buffer.from(row.keyHash) }]))
}

export async function findDeviceByKey(db: Queryable, keyHash: Buffer): Promise<DeviceCredential | null> {
  const [row] = await db.query<DeviceCredential>(`${CREDENTIAL} d.key_hash = $1`, [keyHash])
  return row ? { ...row, keyHash: Buffer.from(row.keyHash) } : null
}

/** The key hashes of those of these devices that still exist. */
export async function listDeviceKeys(db: Queryable, ids: readonly string[]): Promise<Map<string, Buffer>> {
  const rows = await db.query<{ id: string; keyHash: Uint8Array }>(
    'SELECT id, key_hash AS "keyHash" FROM devices WHERE id = ANY($1::uuid[]) AND deleted_at IS NULL',
    [ids],
  )
  return new Map(rows.map(row => [row.id, Buffer.from(row.keyHash)]))
}

/** The device as the interface shows it, but for when it was last seen: the vehicle is where it is mounted now. */
export interface Device {
  _id: string
  name: string
  vehicleId: string | null
  hubId: string | null
  createdAt: Date
  updatedAt: Date
}

const COLUMNS = `d.id AS "_id", d.name, m.vehicle_id AS "vehicleId", d.hub_id AS "hubId", d.created_at AS "createdAt",
  d.updated_at AS "updatedAt"`
const FROM = 'devices d LEFT JOIN mounts m ON m.device_id = d.id AND m.unmounted_at IS NULL'

export const DEVICE_SORTS = {
  name: { sql: 'lower(d.name)', type: 'text' },
  createdAt: { sql: 'd.created_at', type: 'timestamptz' },
} as const

/** Hubs whose devices may be seen, besides those of none; null is all of them. */
type Visible = readonly string[] | null

export function listDevices(
  tx: Queryable,
  visible: Visible,
  filter: { hubIds?: readonly string[]; vehicleIds?: readonly string[] },
  page: PageRequest,
): Promise<Page<Device>> {
  const { where, values, add } = conditions()
  where.push('d.deleted_at IS NULL')
  if (visible) add('(d.hub_id IS NULL OR d.hub_id = ANY(?::uuid[]))', visible)
  if (filter.hubIds) add('d.hub_id = ANY(?::uuid[])', filter.hubIds)
  if (filter.vehicleIds) add('m.vehicle_id = ANY(?::uuid[])', filter.vehicleIds)
  return readPage(
    tx,
    { columns: COLUMNS, from: FROM, where, values, id: 'd.id', sorts: DEVICE_SORTS, search: ['d.name'] },
    page,
  )
}

/** A device of the organization that may be seen, or null. */
export async function findDevice(tx: Queryable, id: string, visible: Visible): Promise<Device | null> {
  const [row] = await tx.query<Device>(
    `SELECT ${COLUMNS} FROM ${FROM}
     WHERE d.id = $1 AND d.deleted_at IS NULL AND ($2::uuid[] IS NULL OR d.hub_id IS NULL OR d.hub_id = ANY($2))`,
    [id, visible],
  )
  return row ?? null
}

export async function insertDevice(
  tx: Queryable,
  device: { organizationId: string; name: string; hubId: string | null; keyHash: Buffer },
): Promise<string> {
  const id = newId()
  await tx.orm.insert(subjects).values({ id, organizationId: device.organizationId, type: 'device' })
  await tx.orm.insert(devices).values({ id, ...device })
  await raiseSight(tx, device.organizationId)
  return id
}

export async function updateDevice(
  tx: Queryable,
  organizationId: string,
  id: string,
  change: { name?: string; hubId?: string | null },
): Promise<void> {
  await tx.orm
    .update(devices)
    .set({ ...change, updatedAt: sql`now()` })
    .where(eq(devices.id, id))
  await raiseSight(tx, organizationId)
}

/** Mounts the device on a vehicle, or on none, from now on. */
export async function mountDevice(
  tx: Queryable,
  organizationId: string,
  deviceId: string,
  vehicleId: string | null,
): Promise<void> {
  await tx.orm
    .update(mounts)
    .set({ unmountedAt: sql`now()` })
    .where(and(eq(mounts.deviceId, deviceId), isNull(mounts.unmountedAt)))
  if (vehicleId) await tx.orm.insert(mounts).values({ id: newId(), organizationId, deviceId, vehicleId })
}

/** Replaces the key; connections that were opened with the old one are closed. */
export async function updateDeviceKey(
  tx: Queryable,
  organizationId: string,
  id: string,
  keyHash: Buffer,
): Promise<void> {
  await tx.orm.update(devices).set({ keyHash, updatedAt: sql`now()` }).where(eq(devices.id, id))
  await notify(tx, { kind: 'device', deviceId: id, organizationId })
}

/** Ends the device's credential and mount. Its history stays. */
export async function deleteDevice(tx: Queryable, organizationId: string, id: string): Promise<void> {
  await tx.orm.update(devices).set({ deletedAt: sql`now()` }).where(eq(devices.id, id))
  await mountDevice(tx, organizationId, id, null)
  await raiseSight(tx, organizationId)
  await notify(tx, { kind: 'device', deviceId: id, organizationId })
}

/** When something last arrived from each of these subjects. */
export async function listLastSeen(
  db: Queryable,
  organizationId: string,
  subjectIds: readonly string[],
): Promise<Map<string, Date>> {
  const rows = await db.query<{ id: string; lastSeenAt: Date }>(
    `SELECT s.id, f.received_at AS "lastSeenAt" FROM newest_fixes f JOIN subjects s ON s.key = f.subject_key
     WHERE s.organization_id = $1 AND s.id = ANY($2::uuid[])`,
    [organizationId, subjectIds],
  )
  return new Map(rows.map(row => [row.id, row.lastSeenAt]))
}

/** The subject keys of those of these devices that exist in the organization and may be seen. */
export async function listDeviceSubjects(
  tx: Queryable,
  ids: readonly string[],
  visible: Visible,
): Promise<Map<string, number>> {
  const rows = await tx.query<{ id: string; key: number }>(
    `SELECT d.id, s.key FROM devices d JOIN subjects s ON s.id = d.id
     WHERE d.id = ANY($1::uuid[]) AND d.deleted_at IS NULL
       AND ($2::uuid[] IS NULL OR d.hub_id IS NULL OR d.hub_id = ANY($2))`,
    [ids, visible],
  )
  return new Map(rows.map(row => [row.id, row.key]))
}
