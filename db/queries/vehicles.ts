import { eq } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { vehicles } from '../schema/vehicles.ts'

/** A vehicle of the organization, or null. */
export async function findVehicle(tx: Queryable, id: string) {
  const [row] = await tx.orm.select().from(vehicles).where(eq(vehicles.id, id))
  return row ?? null
}
