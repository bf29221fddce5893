import { eq } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { vehicles } from '../schema/vehicles.ts'

/** Those of these vehicles that exist and may be seen; null is every hub. */
export async function listKnownVehicles(
  tx: Queryable,
  ids: readonly string[],
  visible: readonly string[] | null,
): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `SELECT id FROM vehicles
     WHERE id = ANY($1::uuid[]) AND ($2::uuid[] IS NULL OR hub_id IS NULL OR hub_id = ANY($2))`,
    [ids, visible],
  )
  return new Set(rows.map(({ id }) => id))
}

export async function insertVehicles(
  tx: Queryable,
  organizationId: string,
  given: readonly { name: string; hubId: string | null; isSample: boolean }[],
): Promise<void> {
  await tx.orm.insert(vehicles).values(given.map(vehicle => ({ ...vehicle, id: newId(), organizationId })))
}

/** Removes the sample vehicles. Returns how many there were. */
export async function deleteSampleVehicles(tx: Queryable): Promise<number> {
  const gone = await tx.orm.delete(vehicles).where(eq(vehicles.isSample, true)).returning({ id: vehicles.id })
  return gone.length
}
