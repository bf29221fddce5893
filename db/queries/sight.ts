/** Which subjects somebody may see of an organization. */
export interface Sight {
  organizationId: string
  /** Null is every subject; otherwise these, and the users of the teams named. */
  subjectIds: readonly string[] | null
  teamIds: readonly string[]
  /** Null is every hub; otherwise subjects that are bound to one of these, or to none at all. */
  hubIds: readonly string[] | null
}

/**
 * The condition that subject `s` (a row of `subjects`) is in sight; `stream/live/view.ts` judges alike. The values are
 * added by `add`, which returns their placeholder.
 */
export function inSight(s: string, sight: Sight, add: (value: unknown) => string): string {
  const conditions: string[] = []
  if (sight.subjectIds) {
    conditions.push(`(${s}.id = ANY(${add(sight.subjectIds)}::uuid[]) OR EXISTS (
      SELECT FROM team_users t WHERE t.user_id = ${s}.id AND t.team_id = ANY(${add(sight.teamIds)}::uuid[])))`)
  }
  if (sight.hubIds) {
    conditions.push(`(SELECT coalesce(bool_or(b.hub_id = ANY(${add(sight.hubIds)}::uuid[])), true) FROM (
      SELECT d.hub_id FROM devices d WHERE d.id = ${s}.id AND d.hub_id IS NOT NULL
      UNION ALL SELECT h.hub_id FROM user_hubs h WHERE h.user_id = ${s}.id) b)`)
  }
  return conditions.join(' AND ') || 'true'
}
