import { scopeConditions, type Visibility, visibleMount, visibleTimes } from '../visibility.ts'

export interface HistoryFilter {
  /** Identifiers of users and devices. */
  subjectIds: readonly string[]
  vehicleIds: readonly string[]
  /** In milliseconds since 1970: `from` is inclusive, `to` exclusive. */
  from: number | null
  to: number | null
  /** West, south, east, north in degrees. */
  bbox: readonly [number, number, number, number] | null
  /** Whether points that are marked as anomalies count. */
  includeAnomalies: boolean
}

export type Add = (value: unknown) => string

/** A subject with its name. */
export const NAMED = `s.key, s.id, s.type, coalesce(d.name, u.name, '') AS name`
export const NAMES = 'LEFT JOIN devices d ON d.id = s.id LEFT JOIN users u ON u.id = s.id'

/**
 * The subjects of the filter with the time spans whose points the caller may see: those of a subject, and those in which a
 * device was mounted on a vehicle. The spans of one track, a subject or a vehicle, do not overlap. Mounts are looked at only
 * if hubs or vehicles ask for it: planning that takes 1.3 ms, as long as reading 1,000 points.
 */
export function tracks(visibility: Visibility, filter: HistoryFilter, add: Add): string {
  const { hubIds } = visibility
  const scope = scopeConditions('s', visibility, add)
  const spans = hubIds
    ? ['lower(times)', 'upper(times)', `CROSS JOIN LATERAL unnest(${visibleTimes('s', hubIds, add)}) times`]
    : [`'-infinity'::timestamptz`, `'infinity'::timestamptz`, '']
  const subjects = `
    SELECT ${NAMED}, s.id AS track, ${spans[0]} AS since, ${spans[1]} AS until FROM subjects s ${NAMES} ${spans[2]}
    WHERE ${['s.organization_id = $1', 's.id = ANY($2::uuid[])', ...scope].join(' AND ')}`
  if (filter.vehicleIds.length === 0) return subjects
  const conditions = [
    'm.organization_id = $1',
    `m.vehicle_id = ANY(${add(filter.vehicleIds)}::uuid[])`,
    's.id <> ALL($2::uuid[])',
    ...scope,
    ...(hubIds ? [visibleMount(hubIds, add)] : []),
  ]
  return `${subjects}
    UNION ALL
    SELECT ${NAMED}, v.id, m.mounted_at, coalesce(m.unmounted_at, 'infinity')
    FROM mounts m JOIN vehicles v ON v.id = m.vehicle_id JOIN subjects s ON s.id = m.device_id ${NAMES}
    WHERE ${conditions.join(' AND ')}`
}

/** Which points of the tracks to read, of those that are visible. */
interface Selection {
  ascending: boolean
  /** Conditions on points `p`. */
  conditions: readonly string[]
  /** The key of the only subject, as a placeholder. */
  only: string | null
  /** The maximum, as a placeholder. */
  rows: string
}

/**
 * The first points `p` of `tracks`, in order of time and subject. The spans of a track come one after the other, so no more
 * of them are read than have points to give, however many mounts there were.
 */
export function firstPoints(
  { hubIds }: Visibility,
  { vehicleIds }: HistoryFilter,
  selection: Selection,
): string {
  const { ascending, conditions, only, rows } = selection
  const order = ascending ? 'ASC' : 'DESC'
  const where = [
    'p.subject_key = s.key',
    'p.recorded_at >= s.since',
    'p.recorded_at < s.until',
    ...conditions,
  ]
  const ofSpan = `LATERAL (
      SELECT * FROM points p WHERE ${where.join(' AND ')} ORDER BY p.recorded_at ${order} LIMIT ${rows}
    ) p`
  const isOne = only ? `s.key = ${only}::int4` : 'true'
  const last = `ORDER BY p.recorded_at ${order}, p.subject_key ${order} LIMIT ${rows}`
  // Each subject has one span.
  if (!hubIds && vehicleIds.length === 0)
    return `SELECT p.* FROM tracks s CROSS JOIN ${ofSpan} WHERE ${isOne} ${last}`
  return `SELECT p.* FROM (SELECT DISTINCT s.track FROM tracks s WHERE ${isOne}) t CROSS JOIN LATERAL (
      SELECT p.* FROM tracks s CROSS JOIN ${ofSpan} WHERE s.track = t.track AND ${isOne}
      ORDER BY s.since ${order}, p.recorded_at ${order} LIMIT ${rows}
    ) p ${last}`
}
