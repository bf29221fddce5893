import type { Queryable } from './client.ts'

/** All hubs, for somebody who is bound to none. */
export const ALL_HUBS = null

/** The hubs whose records somebody sees. Records without a hub are seen by everybody. */
export type VisibleHubs = readonly string[] | typeof ALL_HUBS

/**
 * The condition that a record is visible by its hub, an SQL expression; none if all hubs are visible. `placeholder` takes
 * a value and returns its placeholder.
 */
export function hubConditions(
  hub: string,
  visible: VisibleHubs,
  placeholder: (value: unknown) => string,
): string[] {
  if (visible === ALL_HUBS) return []
  return [`(${hub} IS NULL OR ${hub} = ANY(${placeholder(visible)}::uuid[]))`]
}

/** The same for a record in memory. */
export const isInVisibleHub = (hubId: string | null, visible: VisibleHubs): boolean =>
  visible === ALL_HUBS || hubId === null || visible.includes(hubId)

/** Whether each of these hubs is visible: whoever works in fewer hubs does not act for who works in them. */
export const areVisibleHubs = (hubIds: readonly string[], visible: VisibleHubs): boolean =>
  hubIds.every(hubId => isInVisibleHub(hubId, visible))

/** The visible ones among these records. */
export async function listVisibleIds(
  tx: Queryable,
  table: 'teams' | 'vehicles',
  ids: readonly string[],
  visible: VisibleHubs,
): Promise<Set<string>> {
  const values: unknown[] = [ids]
  const where = hubConditions('hub_id', visible, value => `$${values.push(value)}`)
  const rows = await tx.query<{ id: string }>(
    `SELECT id FROM ${table} WHERE ${['id = ANY($1::uuid[])', ...where].join(' AND ')}`,
    values,
  )
  return new Set(rows.map(({ id }) => id))
}
