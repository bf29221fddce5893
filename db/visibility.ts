/** Which subjects of an organization somebody may see: one rule, for the database and for what is in memory. */
export interface Visibility {
  organizationId: string
  /** Null is every subject; otherwise these, and the users of the teams named. */
  subjectIds: readonly string[] | null
  teamIds: readonly string[]
  /** Null is every hub; otherwise subjects that are bound to one of these, or to none at all. */
  hubIds: readonly string[] | null
}

/** The parts of a subject that decide who sees it. */
export interface VisibleThrough {
  subjectId: string
  teamIds: readonly string[]
  hubIds: readonly string[]
}

/**
 * The hub that decides who sees device `d` (a row of `devices`): its vehicle's while it is mounted, for it is shown under
 * the vehicle's name and where the vehicle is; its own where it is on none, or on one without a hub.
 */
export const hubOfDevice = (d: string): string =>
  `coalesce((SELECT v.hub_id FROM mounts m JOIN vehicles v ON v.id = m.vehicle_id
     WHERE m.device_id = ${d}.id AND m.unmounted_at IS NULL), ${d}.hub_id)`

/** The hubs that subject `s` (a row of `subjects`) is bound to, as rows. */
export const hubsOfSubject = (s: string): string =>
  `SELECT hub_id FROM (SELECT ${hubOfDevice('d')} AS hub_id FROM devices d WHERE d.id = ${s}.id) d WHERE hub_id IS NOT NULL
   UNION ALL SELECT h.hub_id FROM user_hubs h WHERE h.user_id = ${s}.id`

/** The condition that subject `s` (a row of `subjects`) is visible. `add` takes a value and returns its placeholder. */
export function visibleCondition(
  s: string,
  { subjectIds, teamIds, hubIds }: Omit<Visibility, 'organizationId'>,
  add: (value: unknown) => string,
): string {
  const conditions: string[] = []
  if (subjectIds) {
    conditions.push(`(${s}.id = ANY(${add(subjectIds)}::uuid[]) OR EXISTS (
      SELECT FROM team_users t WHERE t.user_id = ${s}.id AND t.team_id = ANY(${add(teamIds)}::uuid[])))`)
  }
  if (hubIds) {
    conditions.push(`(SELECT coalesce(bool_or(b.hub_id = ANY(${add(hubIds)}::uuid[])), true) FROM (
      ${hubsOfSubject(s)}) b)`)
  }
  return conditions.join(' AND ') || 'true'
}

/** The same for subjects of the organization in memory; `test/db/visibility.test.ts` holds the two against each other. */
export function createVisibilityTest(visibility: Visibility): (subject: VisibleThrough) => boolean {
  const subjects = visibility.subjectIds && new Set(visibility.subjectIds)
  const teams = new Set(visibility.teamIds)
  const hubs = visibility.hubIds && new Set(visibility.hubIds)
  return ({ subjectId, teamIds, hubIds }) => {
    if (subjects && !subjects.has(subjectId) && !teamIds.some(id => teams.has(id))) return false
    return !hubs || hubIds.length === 0 || hubIds.some(id => hubs.has(id))
  }
}
