import type { Queryable } from '../client.ts'
import { LIVE_NAMES, type LiveName } from '../measured.ts'
import { HUB_OF_MOUNT, MOUNTS, type Past } from '../visibility.ts'

/** The place and the measured values of a fix, as others receive them. */
export interface LiveFix extends Record<LiveName, number | null> {
  lat: number
  lng: number
}

/** The values of a `LiveFix` from row `f` of `newest_fixes`. */
export const liveFix = (f: string) =>
  `ST_Y(${f}.position) AS lat, ST_X(${f}.position) AS lng, ${LIVE_NAMES.map(name => `${f}.${name}`).join(', ')}`

/** The newest fix of a subject as a live process keeps it. */
export interface NewestFix extends LiveFix {
  subject: number
  recordedAt: number
  logPartition: number
  logOffset: number
  /** The time of the last point if that is another one, an anomaly. */
  lastAt: number | null
}

const NEWEST_FIX = `n.subject_key AS subject, (extract(epoch FROM n.recorded_at) * 1000)::float8 AS "recordedAt",
    ${liveFix('n')}, n.log_partition AS "logPartition", n.log_offset AS "logOffset",
    (extract(epoch FROM n.last_at) * 1000)::float8 AS "lastAt"`

/** All newest fixes and the stored positions of the log, at one moment. */
export async function readNewestFixes(
  tx: Queryable,
): Promise<{ fixes: NewestFix[]; positions: Map<number, number> }> {
  await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
  const fixes = await tx.query<NewestFix>(
    `SELECT ${NEWEST_FIX} FROM newest_fixes n WHERE n.position IS NOT NULL`,
  )
  const positions = await tx.query<{ p: number; o: number }>(
    'SELECT log_partition AS p, next_offset AS o FROM log_positions',
  )
  return { fixes, positions: new Map(positions.map(row => [row.p, row.o])) }
}

/** The newest fix of each of these subjects, or null, and the stored position of the given partition at that moment. */
export async function readNewestOf(
  db: Queryable,
  subjects: readonly { subject: number; partition: number }[],
): Promise<{ subject: number; storedTo: number; fix: NewestFix | null }[]> {
  const rows = await db.query<NewestFix & { key: number; storedTo: number }>(
    `SELECT g.key, coalesce(l.next_offset, 0) AS "storedTo", f.*
     FROM unnest($1::int4[], $2::int4[]) AS g(key, partition)
       LEFT JOIN log_positions l ON l.log_partition = g.partition
       LEFT JOIN (SELECT ${NEWEST_FIX} FROM newest_fixes n WHERE n.position IS NOT NULL) f ON f.subject = g.key`,
    [subjects.map(({ subject }) => subject), subjects.map(({ partition }) => partition)],
  )
  return rows.map(({ key, storedTo, ...fix }) => ({
    subject: key,
    storedTo,
    fix: fix.subject === null ? null : fix,
  }))
}

/** A subject's identity, for the live stream. */
export interface SubjectInfo {
  subject: number
  subjectId: string
  subjectType: 'user' | 'device'
  organizationId: string
  /** For a device on a vehicle, the vehicle's name. */
  name: string
  /** Its hubs, as in `hubsOfSubject`; joined here, since a start reads all subjects. */
  hubIds: string[]
  /** For a device that is on a vehicle, or was at its newest fix or later: what decides who sees its fixes. */
  past: Past | null
  /** The teams of a user. */
  teamIds: string[]
  /** A deleted device or a removed user is shown to no live client. */
  gone: boolean
}

/**
 * The mounts of a device that ended after its newest fix, since earlier ones decide about no fix to come; an hour more, since
 * a process may be behind the table. At most these: earlier fixes belong to a hub that nobody has access to.
 */
const PAST_MOUNTS = 20
const PAST = `(SELECT json_build_object(
    'hubIds', CASE WHEN d.hub_id IS NULL THEN '[]'::json ELSE json_build_array(d.hub_id) END,
    'mounts', json_agg(json_build_object('since', CASE WHEN nth < ${PAST_MOUNTS} THEN since ELSE -1e15 END, 'until', until,
      'hubId', CASE WHEN nth < ${PAST_MOUNTS} THEN hub_id::text ELSE 'unknown' END) ORDER BY nth))
  FROM (
    SELECT row_number() OVER (ORDER BY m.mounted_at DESC, m.unmounted_at DESC) AS nth, ${HUB_OF_MOUNT} AS hub_id,
      extract(epoch FROM m.mounted_at)::float8 * 1000 AS since, extract(epoch FROM m.unmounted_at)::float8 * 1000 AS until
    FROM ${MOUNTS} WHERE m.device_id = d.id AND ${HUB_OF_MOUNT} IS NOT NULL
      AND coalesce(m.unmounted_at, 'infinity') > coalesce(f.recorded_at - interval '1 hour', '-infinity')
    ORDER BY m.mounted_at DESC, m.unmounted_at DESC LIMIT ${PAST_MOUNTS}) m
  HAVING count(*) > 0)`

const SUBJECTS = `SELECT s.key AS subject, s.id AS "subjectId", s.type AS "subjectType",
    s.organization_id AS "organizationId", coalesce(v.name, d.name, u.name, '') AS name,
    CASE WHEN coalesce(v.hub_id, d.hub_id) IS NOT NULL THEN json_build_array(coalesce(v.hub_id, d.hub_id)) ELSE coalesce(
      (SELECT json_agg(h.hub_id ORDER BY h.hub_id) FROM user_hubs h WHERE h.user_id = u.id), '[]') END AS "hubIds",
    coalesce((SELECT json_agg(t.team_id ORDER BY t.team_id) FROM team_users t WHERE t.user_id = u.id), '[]')
      AS "teamIds", ${PAST} AS past,
    (d.id IS NULL AND u.id IS NULL) OR d.deleted_at IS NOT NULL AS gone
  FROM subjects s LEFT JOIN devices d ON d.id = s.id LEFT JOIN users u ON u.id = s.id
  LEFT JOIN mounts m ON m.device_id = d.id AND m.unmounted_at IS NULL LEFT JOIN vehicles v ON v.id = m.vehicle_id
  LEFT JOIN newest_fixes f ON f.subject_key = s.key`

export async function listSubjects(db: Queryable, keys: readonly number[]): Promise<SubjectInfo[]> {
  return db.query(`${SUBJECTS} WHERE s.key = ANY($1::int4[])`, [keys])
}

export async function listSubjectsOf(db: Queryable, organizationId: string): Promise<SubjectInfo[]> {
  return db.query(`${SUBJECTS} WHERE s.organization_id = $1`, [organizationId])
}

export async function listAllSubjects(db: Queryable): Promise<SubjectInfo[]> {
  return db.query(SUBJECTS)
}

/** The settings that decide how an organization's subjects are shown live. */
export interface View {
  /** The visibility version. */
  version: number
  /** The silence after which a subject counts as offline; null if the organization sets none. */
  offlineAfterMs: number | null
  /** The accuracy beyond which a point is an anomaly, in metres. */
  maxAccuracy: number | null
}

/** The settings of one organization, or of all. */
export async function listViews(db: Queryable, organizationId: string | null): Promise<Map<string, View>> {
  const rows = await db.query<View & { id: string }>(
    `SELECT id, visibility_version AS version, CASE jsonb_typeof(settings -> 'offlineAfterMinutes')
       WHEN 'number' THEN (settings ->> 'offlineAfterMinutes')::float8 * 60000 END AS "offlineAfterMs",
       CASE jsonb_typeof(settings -> 'maxAccuracy') WHEN 'number' THEN (settings ->> 'maxAccuracy')::float8 END
         AS "maxAccuracy"
     FROM organizations WHERE $1::uuid IS NULL OR id = $1`,
    [organizationId],
  )
  return new Map(rows.map(({ id, ...view }) => [id, view]))
}
