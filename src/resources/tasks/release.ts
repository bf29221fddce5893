import type { Database } from '../../../db/client.ts'
import { clearReference, type TaskReference } from '../../../db/queries/tasks.ts'

/** In one transaction, some 20 ms of the embedded database. */
const AT_ONCE = 100

/**
 * Takes what is about to be deleted off the tasks that name it, some at a time, so that everybody else has a turn between:
 * left to the foreign key, a team of 20,000 tasks held the embedded database for 5 s. Tasks that come to name it meanwhile
 * are left to the foreign key.
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
