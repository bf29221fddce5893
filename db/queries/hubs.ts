import { eq } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { hubs } from '../schema/hubs.ts'

/** A hub of the organization, or null. */
export async function findHub(tx: Queryable, id: string) {
  const [row] = await tx.orm.select().from(hubs).where(eq(hubs.id, id))
  return row ?? null
}
