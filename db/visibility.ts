/** Which subjects of an organization somebody may see: one rule, for the database and for what is in memory. */
export interface Visibility {
  organizationId: string
  /** Null is every subject; otherwise these, and the users of the teams named. */
  subjectIds: readonly string[] | null
  teamIds: readonly string[]
  /** Null is every hub; otherwise subjects that are bound to one of these, or to none at all. */
  hubIds: readonly string[] | null
}

/** What of a subject decides who sees it. */
export interface VisibleThrough {
  subjectId: string
  teamIds: readonly string[]
  hubIds: readonly string[]
}

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
      SELECT d.hub_id FROM devices d WHERE d.id = ${s}.id AND d.hub_id IS NOT NULL
      UNION ALL SELECT h.hub_id FROM user_hubs h WHERE h.user_id = ${s}.id) b)`)
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
