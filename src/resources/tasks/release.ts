import type { Database } from '../../../db/client.ts'
import { clearReference, type TaskReference } from '../../../db/queries/tasks.ts'

/** Tasks of one transaction, which takes some 20 ms on the embedded database. */
const AT_ONCE = 100

/**
 * Removes the reference to a record that is about to be deleted from its tasks, in steps, so that other requests have a
 * turn in between: when the foreign key did it, a team of 20,000 tasks blocked the embedded database for 5 s. The
 * foreign key handles tasks that refer to it meanwhile.
 */
export async function releaseTasks(
  db: Database,
  organizationId: string,
  reference: TaskReference,
  id: string,
): Promise<void> {
  for (;;) {
    const released = await db.tenant(organizationId, tx => clearReference(tx, reference, id, AT_ONCE))
    if (released < AT_ONCE) return
  }
}
