import { notify, type Queryable } from '../client.ts'

/**
 * Called in every transaction that changes who may see what, or how it is called: live cursors of before lead to a
 * fresh snapshot, and open screens are looked at again.
 */
export async function raiseSight(tx: Queryable, organizationId: string): Promise<void> {
  await tx.query('UPDATE organizations SET sight_version = sight_version + 1 WHERE id = $1', [organizationId])
  await notify(tx, { kind: 'sight', organizationId })
}
