import type { Queryable } from '../client.ts'
import { type Visibility, visibleCondition } from '../visibility.ts'
import { type LiveFix, liveFix } from './newest-fixes.ts'

/** Whether the organization's apps receive the positions of teams. */
export async function allowsTeamPositions(db: Queryable, organizationId: string): Promise<boolean> {
  const [row] = await db.query<{ allows: boolean }>(
    `SELECT settings -> 'teamPositions' = 'true'::jsonb AS allows FROM organizations WHERE id = $1 AND deleted_at IS NULL`,
    [organizationId],
  )
  return row?.allows === true
}

/**
 * The driver of a device's vehicle, and the users who made the driver so: the one who was shown the key, the one who
 * mounted the device, and the one who named the driver. Null without a driver, or if one of these is unknown.
 */
export async function findDriver(
  db: Queryable,
  deviceId: string,
): Promise<{ driverId: string; madeBy: string[] } | null> {
  const [row] = await db.query<{ driverId: string; madeBy: string[] }>(
    `SELECT v.driver_id AS "driverId", json_build_array(d.key_by, m.mounted_by, v.driver_by) AS "madeBy"
     FROM mounts m JOIN vehicles v ON v.id = m.vehicle_id JOIN devices d ON d.id = m.device_id
     WHERE m.device_id = $1 AND m.unmounted_at IS NULL
       AND num_nulls(v.driver_id, d.key_by, m.mounted_by, v.driver_by) = 0`,
    [deviceId],
  )
  return row ?? null
}

export interface TeamPosition extends LiveFix {
  subjectId: string
  name: string
  /** Seconds since 1970. */
  recordedAt: number
}

/**
 * The newest fixes of the members of these teams, and of the devices on the vehicles that they drive, as far as every
 * one of the visibilities, all of one organization, shows them, now and at their time, and they are at most a day old; without those of the
 * given devices and users.
 */
export async function listTeamPositions(
  db: Queryable,
  organizationId: string,
  visibilities: readonly Visibility[],
  teamIds: readonly string[],
  not: readonly string[],
  limit: number,
): Promise<TeamPosition[]> {
  const values: unknown[] = [organizationId, teamIds, not, limit]
  const add = (value: unknown) => `$${values.push(value)}`
  const seen = visibilities.flatMap(one => [
    visibleCondition('s', one, add),
    visibleCondition('s', one, add, 'f.recorded_at'),
  ])
  return db.query(
    `WITH members AS (
       SELECT DISTINCT user_id AS id FROM team_users WHERE organization_id = $1 AND team_id = ANY($2::uuid[])
     ), subject_ids AS (
       SELECT id FROM members
       UNION SELECT m.device_id FROM members JOIN vehicles v ON v.driver_id = members.id AND v.organization_id = $1
         JOIN mounts m ON m.vehicle_id = v.id AND m.unmounted_at IS NULL
     )
     SELECT s.id AS "subjectId", coalesce(d.name, u.name, '') AS name,
       floor(extract(epoch FROM f.recorded_at))::float8 AS "recordedAt", ${liveFix('f')}
     FROM subject_ids JOIN subjects s ON s.id = subject_ids.id JOIN newest_fixes f ON f.subject_key = s.key
       LEFT JOIN devices d ON d.id = s.id LEFT JOIN users u ON u.id = s.id
     WHERE s.organization_id = $1 AND s.id <> ALL($3::uuid[]) AND d.deleted_at IS NULL AND f.position IS NOT NULL
       AND f.recorded_at > now() - interval '1 day' AND ${seen.join(' AND ')}
     ORDER BY s.key LIMIT $4`,
    values,
  )
}
