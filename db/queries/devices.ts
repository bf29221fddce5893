import { eq, sql } from 'drizzle-orm'
import { learnRoots } from '../../fair/roots.ts'
import { isUuid, newId, notify, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { hubConditions, type VisibleHubs } from '../hub-rule.ts'
import { devices } from '../schema/devices.ts'
import { subjects } from '../schema/users.ts'
import { hubOfDevice } from '../visibility.ts'
import { setDeviceReferences } from './device-references.ts'
import { conditions, type Page, type PageRequest, readPage } from './page.ts'
import { ROOT } from './root.ts'

export interface DeviceCredential {
  id: string
  organizationId: string
  /** The root of the organization (fair/roots.ts). */
  root: string
  subject: number
  keyHash: Buffer
  /** The profile that reads its messages: a built-in one by its name, or one of the organization; null for none. */
  profileId: string | null
}

const PROFILE_ID = `coalesce(d.built_in_profile, d.profile_id::text) AS "profileId"`

const CREDENTIAL = `SELECT d.id, d.organization_id AS "organizationId", s.key AS subject, d.key_hash AS "keyHash",
    ${ROOT} AS root, ${PROFILE_ID}
  FROM devices d JOIN subjects s ON s.id = d.id JOIN organizations o ON o.id = d.organization_id WHERE d.deleted_at IS NULL AND`

const CERTIFICATE = `, encode(d.certificate_fingerprint, 'hex') AS fingerprint,
    (extract(epoch FROM d.certificate_begins_at) * 1000)::float8 AS "beginsAt",
    (extract(epoch FROM d.certificate_expires_at) * 1000)::float8 AS "expiresAt"
  FROM devices`

/** The values of a device on which its open connections depend. */
export type DeviceKeys = Pick<DeviceCredential, 'keyHash' | 'profileId'> & { fingerprint: string | null }

/** The data for checking the keys of devices; missing devices are left out. */
export async function listDeviceCredentials(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, DeviceCredential>> {
  const rows = await db.query<DeviceCredential>(`${CREDENTIAL} d.id = ANY($1::uuid[])`, [ids])
  learnRoots(rows)
  return new Map(rows.map(row => [row.id, { ...row, keyHash: Buffer.from(row.keyHash) }]))
}

/** The same by the hashes of their keys, in hexadecimal. */
export async function listDevicesByKey(
  db: Queryable,
  keyHashes: readonly string[],
): Promise<Map<string, DeviceCredential>> {
  const rows = await db.query<DeviceCredential>(
    `${CREDENTIAL} d.key_hash = ANY(ARRAY(SELECT decode(hash, 'hex') FROM unnest($1::text[]) AS hash))`,
    [keyHashes],
  )
  learnRoots(rows)
  return new Map(
    rows.map(row => {
      const keyHash = Buffer.from(row.keyHash)
      return [keyHash.toString('hex'), { ...row, keyHash }]
    }),
  )
}

/** A device by its certificate. */
export interface CertifiedDevice extends DeviceCredential {
  /** In hexadecimal: SHA-256 of the certificate. */
  fingerprint: string
  /** When the certificate becomes valid and expires, in milliseconds since 1970. */
  beginsAt: number
  expiresAt: number
}

/** The devices with these fingerprints of certificates, by the fingerprint in hexadecimal. */
export async function listDevicesByCertificate(
  db: Queryable,
  fingerprints: readonly string[],
): Promise<Map<string, CertifiedDevice>> {
  const rows = await db.query<CertifiedDevice>(
    `${CREDENTIAL.replace(/\n? *FROM devices/, CERTIFICATE)}
       d.certificate_fingerprint = ANY(ARRAY(SELECT decode(hash, 'hex') FROM unnest($1::text[]) AS hash))`,
    [fingerprints],
  )
  learnRoots(rows)
  return new Map(rows.map(row => [row.fingerprint, { ...row, keyHash: Buffer.from(row.keyHash) }]))
}

/** The key hashes and profiles of the existing ones among these devices. */
export async function listDeviceKeys(
  db: Queryable,
  ids: readonly string[],
): Promise<Map<string, DeviceKeys>> {
  const rows = await db.query<Omit<DeviceKeys, 'keyHash'> & { id: string; keyHash: Uint8Array }>(
    `SELECT d.id, d.key_hash AS "keyHash", encode(d.certificate_fingerprint, 'hex') AS fingerprint, ${PROFILE_ID} FROM devices d WHERE d.id = ANY($1::uuid[]) AND d.deleted_at IS NULL`,
    [ids],
  )
  return new Map(rows.map(({ id, keyHash, ...rest }) => [id, { ...rest, keyHash: Buffer.from(keyHash) }]))
}

const HIDDEN = [
  ...(['keyHash', 'keyBy', 'deletedAt', 'lastSeenAt', 'builtInProfile', 'profileId'] as const),
  ...(['certificateFingerprint', 'certificateBeginsAt', 'replacedKeyHash', 'keyReplacedAt'] as const),
] as const

/**
 * The device as the interface shows it, except for when it was last seen: the vehicle is the one that it is mounted on
 * now.
 */
export type Device = Shown<typeof devices, (typeof HIDDEN)[number]> & {
  vehicleId: string | null
  /** A built-in profile by its name, or one of the organization. */
  profileId: string | null
  references: string[]
}

const COLUMNS = `${shownColumns(devices, 'd', HIDDEN)}, m.vehicle_id AS "vehicleId", ${PROFILE_ID},
  ARRAY(SELECT r.reference FROM device_references r WHERE r.device_id = d.id ORDER BY r.place) AS "references"`
const FROM = 'devices d LEFT JOIN mounts m ON m.device_id = d.id AND m.unmounted_at IS NULL'

export const DEVICE_SORTS = {
  name: { sql: 'lower(d.name)', type: 'text' },
  createdAt: { sql: 'd.created_at', type: 'timestamptz' },
  lastSeenAt: { sql: `coalesce(d.last_seen_at, '-infinity')`, type: 'timestamptz' },
} as const

export function listDevices(
  tx: Queryable,
  visible: VisibleHubs,
  filter: { hubIds?: readonly string[]; vehicleIds?: readonly string[] },
  page: PageRequest,
): Promise<Page<Device>> {
  const { where, values, add, placeholder } = conditions()
  where.push('d.deleted_at IS NULL', ...hubConditions(hubOfDevice('d'), visible, placeholder))
  if (filter.hubIds) add(`${hubOfDevice('d')} = ANY(?::uuid[])`, filter.hubIds)
  if (filter.vehicleIds) add('m.vehicle_id = ANY(?::uuid[])', filter.vehicleIds)
  return readPage(
    tx,
    // A name has up to 200 characters, and 8 references have up to 128 each.
    {
      columns: COLUMNS,
      bytes: '2000',
      from: FROM,
      where,
      values,
      id: 'd.id',
      sorts: DEVICE_SORTS,
      search: ['d.name'],
    },
    page,
  )
}

/** A visible device of the organization, or null. */
export async function findDevice(tx: Queryable, id: string, visible: VisibleHubs): Promise<Device | null> {
  const { where, values, add, placeholder } = conditions()
  add('d.id = ?', id)
  where.push('d.deleted_at IS NULL', ...hubConditions(hubOfDevice('d'), visible, placeholder))
  const [row] = await tx.query<Device>(`SELECT ${COLUMNS} FROM ${FROM} WHERE ${where.join(' AND ')}`, values)
  return row ?? null
}

export async function insertDevice(
  tx: Queryable,
  {
    profileId = null,
    ...device
  }: {
    organizationId: string
    name: string
    hubId: string | null
    keyHash: Buffer
    keyBy?: string
    profileId?: string | null
    isSample?: boolean
  },
): Promise<string> {
  const id = newId()
  await tx.orm.insert(subjects).values({ id, organizationId: device.organizationId, type: 'device' })
  await tx.orm.insert(devices).values({ id, ...device, ...profileColumns(profileId) })
  return id
}

/** The columns of a profile: an own one by its identifier, a built-in one by its name. */
const profileColumns = (profileId: string | null) => {
  const isOwn = profileId !== null && isUuid(profileId)
  return { profileId: isOwn ? profileId : null, builtInProfile: isOwn ? null : profileId }
}

/** The stored values of a certificate. */
export interface DeviceCertificate {
  fingerprint: Buffer
  beginsAt: Date
  expiresAt: Date
}

const certificateColumns = (certificate: DeviceCertificate | null) => ({
  certificateFingerprint: certificate?.fingerprint ?? null,
  certificateBeginsAt: certificate?.beginsAt ?? null,
  certificateExpiresAt: certificate?.expiresAt ?? null,
})

/**
 * Changes a device; its open connections follow another profile, and those of another certificate are closed. Violates
 * a unique key if another device has the certificate.
 */
export async function updateDevice(
  tx: Queryable,
  organizationId: string,
  id: string,
  {
    profileId,
    certificate,
    ...change
  }: {
    name?: string
    hubId?: string | null
    profileId?: string | null
    certificate?: DeviceCertificate | null | undefined
  },
): Promise<void> {
  await tx.orm
    .update(devices)
    .set({
      ...change,
      ...(profileId === undefined ? {} : profileColumns(profileId)),
      ...(certificate === undefined ? {} : certificateColumns(certificate)),
      updatedAt: sql`now()`,
    })
    .where(eq(devices.id, id))
  if (profileId !== undefined || certificate !== undefined)
    await notify(tx, { kind: 'device-profile', deviceId: id, organizationId })
}

/**
 * Mounts the device on a vehicle, or on none, from now on. The device's present mount and that of the vehicle end at
 * the same moment. Vehicles are locked before devices, both before mounts, and the organization last (by a trigger, as
 * on any change of a name), so that two calls never deadlock; so this goes first in its transaction. Resolves to false
 * for a device that was deleted meanwhile, which is mounted nowhere.
 */
export async function mountDevice(
  tx: Queryable,
  organizationId: string,
  deviceId: string,
  vehicleId: string | null,
  mountedBy: string | null,
): Promise<boolean> {
  await tx.query('SELECT FROM vehicles WHERE id = $1 FOR NO KEY UPDATE', [vehicleId])
  await tx.query('SELECT FROM devices WHERE id = $1 FOR NO KEY UPDATE', [deviceId])
  const ending = await tx.query<{ id: string }>(
    `SELECT id FROM mounts WHERE unmounted_at IS NULL AND (device_id = $1 OR vehicle_id = $2) ORDER BY id FOR UPDATE`,
    [deviceId, vehicleId],
  )
  const ids = ending.map(({ id }) => id)
  // The clock, not the transaction's start: a transaction that waited for another comes after it.
  // After the device's earlier mounts, so that they never overlap.
  const [now] = await tx.query<{ at: string }>(
    `SELECT greatest(clock_timestamp(), max(mounted_at), max(unmounted_at))::text AS at FROM (
       (SELECT mounted_at, unmounted_at FROM mounts WHERE device_id = $2 ORDER BY mounted_at DESC LIMIT 1)
       UNION ALL SELECT mounted_at, unmounted_at FROM mounts WHERE id = ANY($1::uuid[])) m`,
    [ids, deviceId],
  )
  await tx.query('UPDATE mounts SET unmounted_at = $2 WHERE id = ANY($1::uuid[])', [ids, now?.at])
  if (!vehicleId) return true
  const mounted = await tx.query(
    `INSERT INTO mounts (id, organization_id, device_id, vehicle_id, mounted_at, mounted_by)
     SELECT $1, $2, id, $4, $5, $6 FROM devices WHERE id = $3 AND deleted_at IS NULL RETURNING id`,
    [newId(), organizationId, deviceId, vehicleId, now?.at, mountedBy],
  )
  return mounted.length > 0
}

/** Replaces the key; connections that were opened with the old key are closed. */
export async function updateDeviceKey(
  tx: Queryable,
  organizationId: string,
  id: string,
  { keyHash, keyBy }: { keyHash: Buffer; keyBy: string },
): Promise<void> {
  await tx.orm
    .update(devices)
    .set({
      ...{ keyHash, keyBy, updatedAt: sql`now()` },
      ...{ replacedKeyHash: sql`${devices.keyHash}`, keyReplacedAt: sql`now()` },
    })
    .where(eq(devices.id, id))
  await notify(tx, { kind: 'device', deviceId: id, organizationId })
}

/** Ends the device's credential and mount, and frees its references and profile. Its history stays. */
export async function deleteDevice(tx: Queryable, organizationId: string, id: string): Promise<void> {
  await mountDevice(tx, organizationId, id, null, null)
  await setDeviceReferences(tx, organizationId, id, [])
  await tx.orm
    .update(devices)
    .set({ deletedAt: sql`now()`, profileId: null, builtInProfile: null })
    .where(eq(devices.id, id))
  await notify(tx, { kind: 'device', deviceId: id, organizationId })
}

/** When each of these devices was last heard from: with its newest point, or any other message. */
export async function listLastSeen(
  db: Queryable,
  organizationId: string,
  deviceIds: readonly string[],
): Promise<Map<string, Date>> {
  const rows = await db.query<{ id: string; lastSeenAt: Date | null }>(
    `SELECT d.id, greatest(d.last_seen_at, f.received_at) AS "lastSeenAt"
     FROM devices d JOIN subjects s ON s.id = d.id LEFT JOIN newest_fixes f ON f.subject_key = s.key
     WHERE d.organization_id = $1 AND d.id = ANY($2::uuid[])`,
    [organizationId, deviceIds],
  )
  return new Map(rows.flatMap(row => (row.lastSeenAt ? [[row.id, row.lastSeenAt]] : [])))
}

/** The subject keys of the visible ones among these devices of the organization. */
export async function listDeviceSubjects(
  tx: Queryable,
  ids: readonly string[],
  visible: VisibleHubs,
): Promise<Map<string, number>> {
  const { where, values, add, placeholder } = conditions()
  add('d.id = ANY(?::uuid[])', ids)
  where.push('d.deleted_at IS NULL', ...hubConditions(hubOfDevice('d'), visible, placeholder))
  const rows = await tx.query<{ id: string; key: number }>(
    `SELECT d.id, s.key FROM devices d JOIN subjects s ON s.id = d.id WHERE ${where.join(' AND ')}`,
    values,
  )
  return new Map(rows.map(row => [row.id, row.key]))
}
