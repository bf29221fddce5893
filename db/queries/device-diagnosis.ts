import type { Queryable } from '../client.ts'
import { hubConditions, type VisibleHubs } from '../hub-rule.ts'
import { HUB_OF_MOUNT, hubOfDevice, MOUNTS, visibleCondition, visibleTimes } from '../visibility.ts'
import { conditions } from './page.ts'

/** A device, a deleted one as well, with what decides who sees it and how it signs in. */
export interface DiagnosedDevice {
  id: string
  name: string
  createdAt: Date
  deletedAt: Date | null
  hubId: string | null
  profileId: string | null
  references: string[]
  certificateExpiresAt: Date | null
  keyReplacedAt: Date | null
  vehicle: { id: string; name: string; hubId: string | null; since: string } | null
  /** Whether a person other than those who see all hubs is bound to the hub that decides who sees it. */
  isHubWatched: boolean
  /** The silence after which a subject counts as offline; null if the organization sets none. */
  offlineAfterMs: number | null
}

/** A visible device, a deleted one as well, or null. */
export async function findDiagnosedDevice(
  tx: Queryable,
  id: string,
  visible: VisibleHubs,
): Promise<DiagnosedDevice | null> {
  const { where, values, add, placeholder } = conditions()
  add('d.id = ?', id)
  where.push(...hubConditions(hubOfDevice('d'), visible, placeholder))
  const [row] = await tx.query<DiagnosedDevice>(
    `SELECT d.id, d.name, d.created_at AS "createdAt", d.deleted_at AS "deletedAt", d.hub_id AS "hubId",
       coalesce(d.built_in_profile, d.profile_id::text) AS "profileId",
       ARRAY(SELECT r.reference FROM device_references r WHERE r.device_id = d.id ORDER BY r.place) AS "references",
       d.certificate_expires_at AS "certificateExpiresAt", d.key_replaced_at AS "keyReplacedAt",
       CASE WHEN v.id IS NOT NULL THEN json_build_object('id', v.id, 'name', v.name, 'hubId', v.hub_id, 'since', m.mounted_at) END AS vehicle,
       EXISTS (SELECT FROM user_hubs h JOIN users u ON u.id = h.user_id AND u.status = 'active'
           AND u.account_id IS NOT NULL JOIN roles r ON r.id = u.role_id
         WHERE h.hub_id = coalesce(v.hub_id, d.hub_id) AND NOT (r.is_default AND r.name IN ('Owner', 'Admin'))) AS "isHubWatched",
       CASE jsonb_typeof(o.settings -> 'offlineAfterMinutes')
         WHEN 'number' THEN (o.settings ->> 'offlineAfterMinutes')::float8 * 60000 END AS "offlineAfterMs"
     FROM devices d JOIN organizations o ON o.id = d.organization_id
       LEFT JOIN mounts m ON m.device_id = d.id AND m.unmounted_at IS NULL LEFT JOIN vehicles v ON v.id = m.vehicle_id
     WHERE ${where.join(' AND ')}`,
    values,
  )
  return row ?? null
}

/** The newest points and rejections of a device. Times in milliseconds since 1970. */
export interface Reported {
  now: number
  /** When it last said anything. */
  seenAt: number | null
  /** The newest fix without an anomaly. */
  fix: { recordedAt: number; receivedAt: number; battery: number | null } | null
  /** The time of the last point, if it is an anomaly. */
  anomalyAt: number | null
}

const ms = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`

/** Crosses organizations: points and newest fixes are not under row-level security. */
export async function readReported(
  db: Queryable,
  organizationId: string,
  deviceId: string,
): Promise<Reported> {
  const [row] = await db.query<{
    now: number
    seenAt: number | null
    recordedAt: number | null
    receivedAt: number | null
    battery: number | null
    anomalyAt: number | null
  }>(
    `SELECT ${ms('now()')} AS now, ${ms('greatest(d.last_seen_at, f.received_at)')} AS "seenAt", ${ms('f.recorded_at')} AS "recordedAt",
       ${ms('f.received_at')} AS "receivedAt", f.battery, ${ms('f.last_at')} AS "anomalyAt"
     FROM devices d JOIN subjects s ON s.id = d.id LEFT JOIN newest_fixes f ON f.subject_key = s.key
     WHERE d.organization_id = $1 AND d.id = $2`,
    [organizationId, deviceId],
  )
  if (!row) return { now: 0, seenAt: null, fix: null, anomalyAt: null }
  const { now, seenAt, recordedAt, receivedAt, battery, anomalyAt } = row
  return {
    ...{ now, seenAt, anomalyAt },
    fix: recordedAt === null || receivedAt === null ? null : { recordedAt, receivedAt, battery },
  }
}

/** A connection of the organization, with its newest unknown references. */
export interface DiagnosedConnection {
  id: string
  name: string
  isActive: boolean
  kind: string
  hubId: string | null
  state: string
  lastError: string | null
  lastMessageAt: Date | null
  messages: number
  points: number
  skipped: number
  unknown: string[]
}

const SHOWN_UNKNOWN = 3

/** The connections of the organization, the last one heard first: at most 100. */
export const listDiagnosedConnections = (tx: Queryable): Promise<DiagnosedConnection[]> =>
  tx.query(
    `SELECT c.id, c.name, c.is_active AS "isActive", c.kind, c.hub_id AS "hubId", s.state, s.last_error AS "lastError",
       s.last_message_at AS "lastMessageAt", s.messages, s.points, s.skipped,
       ARRAY(SELECT u.reference FROM unknown_references u WHERE u.connection_id = c.id
         ORDER BY u.last_message_at DESC LIMIT ${SHOWN_UNKNOWN}) AS unknown
     FROM connections c JOIN connection_states s ON s.connection_id = c.id
     ORDER BY s.last_message_at DESC NULLS LAST, c.id`,
  )

/** Whether somebody sees the newest fix of a device by the hub that it belonged to at that time. */
export async function seesFixOf(
  tx: Queryable,
  deviceId: string,
  hubIds: VisibleHubs,
  recordedAt: number,
): Promise<boolean> {
  if (!hubIds) return true
  const values: unknown[] = [deviceId]
  const add = (value: unknown) => `$${values.push(value)}`
  const at = `to_timestamp(${add(recordedAt)}::float8 / 1000)`
  const isSeen = visibleCondition('s', { subjectIds: null, teamIds: [], hubIds }, add, at)
  const [row] = await tx.query<{ isSeen: boolean }>(
    `SELECT ${isSeen} AS "isSeen" FROM subjects s WHERE s.id = $1`,
    values,
  )
  return row?.isSeen ?? false
}

/** A time that a device was on a vehicle. */
export interface MountRow {
  vehicleId: string | null
  vehicleName: string | null
  mountedAt: Date
  unmountedAt: Date | null
}

const MAX_MOUNTS = 100

/** The newest mounts of a device. Those on vehicles of hubs without access are left out. */
export function listMounts(tx: Queryable, deviceId: string, visible: VisibleHubs): Promise<MountRow[]> {
  const { where, values, add, placeholder } = conditions()
  add('m.device_id = ?', deviceId)
  where.push(...hubConditions(HUB_OF_MOUNT, visible, placeholder))
  return tx.query(
    `SELECT m.vehicle_id AS "vehicleId", v.name AS "vehicleName", m.mounted_at AS "mountedAt", m.unmounted_at AS "unmountedAt"
     FROM ${MOUNTS} WHERE ${where.join(' AND ')}
     ORDER BY m.mounted_at DESC, m.id DESC LIMIT ${MAX_MOUNTS}`,
    values,
  )
}

/** An hour of a device, as far as a step has read it. Times in milliseconds since 1970. */
export interface HourPart {
  from: number
  points: number
  /** The last battery level, in percent. */
  battery: number | null
  /** The longest time between two points, of which the later one lies in the hour. */
  longestGapMs: number | null
  firstAt: number
  lastAt: number
}

/** Some of the points of a device. */
interface ActivityStep {
  /** The number of points that were read, visible or not. */
  read: number
  /** The time of the earliest one, as text: a Date has no microseconds. */
  earliest: string | null
  hours: HourPart[]
}

export const ACTIVITY_DAYS = 7

/**
 * The hours in which a device recorded the newest points before a time, as far as its hubs of then are visible. A device that
 * reports once a second has 600,000 points in a week, which take half a second in one statement.
 */
export async function readActivityStep(
  db: Queryable,
  organizationId: string,
  deviceId: string,
  hubIds: VisibleHubs,
  { before, limit }: { before: string | null; limit: number },
): Promise<ActivityStep> {
  const values: unknown[] = [organizationId, deviceId, before, limit]
  const times = hubIds
    ? visibleTimes('s', hubIds, value => `$${values.push(value)}`)
    : `'{[,)}'::tstzmultirange`
  const [row] = await db.query<ActivityStep>(
    `WITH s AS MATERIALIZED (
       SELECT s.key, ${times} AS times FROM subjects s WHERE s.organization_id = $1 AND s.id = $2
     ), read AS MATERIALIZED (
       SELECT p.recorded_at, p.battery, s.times @> p.recorded_at AS seen FROM s CROSS JOIN LATERAL (
         SELECT recorded_at, battery FROM points
         WHERE subject_key = s.key AND recorded_at > now() - interval '${ACTIVITY_DAYS} days' AND recorded_at <= now()
           AND recorded_at < coalesce($3::timestamptz, 'infinity')
         ORDER BY recorded_at DESC LIMIT $4::int4) p
     ), seen AS (
       SELECT recorded_at, battery, recorded_at - lag(recorded_at) OVER (ORDER BY recorded_at) AS gap FROM read WHERE seen
     ), hours AS (
       SELECT ${ms("date_trunc('hour', recorded_at, 'UTC')")} AS "from", count(*)::int4 AS points,
         (array_agg(battery ORDER BY recorded_at DESC) FILTER (WHERE battery IS NOT NULL))[1] AS battery,
         ${ms('max(gap)')} AS "longestGapMs", ${ms('min(recorded_at)')} AS "firstAt", ${ms('max(recorded_at)')} AS "lastAt"
       FROM seen GROUP BY 1
     )
     SELECT (SELECT count(*)::int4 FROM read) AS read, (SELECT min(recorded_at)::text FROM read) AS earliest,
       coalesce((SELECT json_agg(h ORDER BY h."from") FROM hours h), '[]') AS hours`,
    values,
  )
  return row as ActivityStep
}
