import { eq } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { vehicles } from '../schema/vehicles.ts'

/** A vehicle of the organization that may be seen (null is every hub), or null. */
export async function findVehicle(
  tx: Queryable,
  id: string,
  visible: readonly string[] | null,
): Promise<{ id: string; name: string } | null> {
  const [row] = await tx.query<{ id: string; name: string }>(
    `SELECT id, name FROM vehicles
     WHERE id = $1 AND ($2::uuid[] IS NULL OR hub_id IS NULL OR hub_id = ANY($2))`,
    [id, visible],
  )
  return row ?? null
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
