import type { VisibleHubs } from './hub-rule.ts'

/**
 * Which subjects of an organization somebody may see, and which of their points: one rule, for the database and for what is
 * in memory.
 *
 * A device belongs to the hub of the vehicle that it is on, for it is shown under the vehicle's name and where the vehicle
 * is; to its own hub while it is on none, or on one without a hub. Its points and crossings belong to the hub that it
 * belonged to at their own time. So the vehicle's hub keeps what the device recorded on it, and nobody else gets to see it
 * when the device is taken off.
 */
export interface Visibility {
  organizationId: string
  /** Null is every subject; otherwise these, and the users of the teams named. */
  subjectIds: readonly string[] | null
  teamIds: readonly string[]
  /** Subjects that are bound to one of these hubs, or to none at all. */
  hubIds: VisibleHubs
}

/** The parts of a subject that decide who sees it. */
export interface VisibleThrough {
  subjectId: string
  teamIds: readonly string[]
  /** Its present hubs. */
  hubIds: readonly string[]
  /** For a device that was on vehicles, newest first: its own hubs, and those of the vehicles from `since` until `until`, in milliseconds since 1970. */
  past?: Past | null
}

export interface Past {
  hubIds: readonly string[]
  mounts: readonly { since: number; until: number | null; hubId: string }[]
}

type Add = (value: unknown) => string

/** The hub of mount `m` and its vehicle `v`, which is null once the vehicle is deleted. */
export const HUB_OF_MOUNT = 'coalesce(v.hub_id, m.hub_id)'
export const MOUNTS = 'mounts m LEFT JOIN vehicles v ON v.id = m.vehicle_id'

/** The hub that decides who sees device `d` (a row of `devices`), now or at a time. */
export const hubOfDevice = (d: string, at?: string): string => {
  const ofDevice = `FROM ${MOUNTS} WHERE m.device_id = ${d}.id`
  // The mounts of a device do not overlap, so the last one that had begun is the only one that may have held.
  const hub = at
    ? `SELECT CASE WHEN coalesce(m.unmounted_at > ${at}, true) THEN ${HUB_OF_MOUNT} END ${ofDevice}
         AND m.mounted_at <= ${at} ORDER BY m.mounted_at DESC, m.unmounted_at DESC LIMIT 1`
    : `SELECT ${HUB_OF_MOUNT} ${ofDevice} AND m.unmounted_at IS NULL`
  return `coalesce((${hub}), ${d}.hub_id)`
}

/** The hubs that subject `s` (a row of `subjects`) is bound to, now or at a time, as rows. */
export const hubsOfSubject = (s: string, at?: string): string => hubsOf(s, hubOfDevice('d', at))

const hubsOf = (s: string, hub: string) =>
  `SELECT hub_id FROM (SELECT ${hub} AS hub_id FROM devices d WHERE d.id = ${s}.id) d WHERE hub_id IS NOT NULL
   UNION ALL SELECT h.hub_id FROM user_hubs h WHERE h.user_id = ${s}.id`

/** Whether one of these hubs is among `seen`, or there is none. */
const meets = (hubs: string, seen: string) =>
  `(SELECT coalesce(bool_or(b.hub_id = ANY(${seen}::uuid[])), true) FROM (${hubs}) b)`

/**
 * The condition that subject `s` (a row of `subjects`) is visible now, or what it recorded at a time. `add` takes a value
 * and returns its placeholder.
 */
export function visibleCondition(
  s: string,
  visibility: Omit<Visibility, 'organizationId'>,
  add: Add,
  at?: string,
): string {
  const { hubIds } = visibility
  const conditions = scopeConditions(s, visibility, add)
  if (hubIds) conditions.push(meets(hubsOfSubject(s, at), add(hubIds)))
  return conditions.join(' AND ') || 'true'
}

/** The same whatever the hub, for use with `visibleTimes`. */
export function scopeConditions(
  s: string,
  { subjectIds, teamIds }: Pick<Visibility, 'subjectIds' | 'teamIds'>,
  add: Add,
): string[] {
  if (!subjectIds) return []
  return [
    `(${s}.id = ANY(${add(subjectIds)}::uuid[]) OR EXISTS (
      SELECT FROM team_users t WHERE t.user_id = ${s}.id AND t.team_id = ANY(${add(teamIds)}::uuid[])))`,
  ]
}

/** The times whose points of subject `s` belong to one of the hubs or to none, as a multirange. */
export function visibleTimes(s: string, hubIds: readonly string[], add: Add): string {
  const seen = add(hubIds)
  const of = (condition: string) => `coalesce(range_agg(m.times) FILTER (WHERE ${condition}), '{}')`
  return `(SELECT CASE WHEN ${meets(hubsOf(s, 'd.hub_id'), seen)}
      THEN '{[-infinity,infinity)}'::tstzmultirange - ${of('NOT m.seen')} ELSE ${of('m.seen')} END
    FROM (SELECT tstzrange(m.mounted_at, coalesce(m.unmounted_at, 'infinity')) AS times,
        ${HUB_OF_MOUNT} = ANY(${seen}::uuid[]) AS seen
      FROM ${MOUNTS} WHERE m.device_id = ${s}.id AND ${HUB_OF_MOUNT} IS NOT NULL) m)`
}

/** The condition that what device `d` recorded during mount `m` on vehicle `v` belongs to one of the hubs or to none. */
export const visibleMount = (hubIds: readonly string[], add: Add): string =>
  `coalesce(coalesce(v.hub_id, d.hub_id) = ANY(${add(hubIds)}::uuid[]), true)`

/**
 * The same for subjects of the organization in memory: whether one is visible now, or what it recorded at a time in
 * milliseconds since 1970. `test/db/visibility.test.ts` holds them against each other.
 */
export function createVisibilityTest(
  visibility: Visibility,
): (subject: VisibleThrough, recordedAt?: number) => boolean {
  const subjects = visibility.subjectIds && new Set(visibility.subjectIds)
  const teams = new Set(visibility.teamIds)
  const hubs = visibility.hubIds && new Set(visibility.hubIds)
  return (subject, recordedAt) => {
    const { subjectId, teamIds } = subject
    if (subjects && !subjects.has(subjectId) && !teamIds.some(id => teams.has(id))) return false
    if (!hubs) return true
    const hubIds = recordedAt === undefined ? subject.hubIds : hubsAt(subject, recordedAt)
    return hubIds.length === 0 || hubIds.some(id => hubs.has(id))
  }
}

function hubsAt({ hubIds, past }: VisibleThrough, recordedAt: number): readonly string[] {
  if (!past) return hubIds
  const mount = past.mounts.find(
    ({ since, until }) => since <= recordedAt && (until === null || until > recordedAt),
  )
  return mount ? [mount.hubId] : past.hubIds
}
