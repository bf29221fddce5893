import type { Database } from '../../../db/client.ts'
import type { Schedule } from '../../../db/queries/schedules.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { createContentFilter, readTypes } from '../tasks/present.ts'

/**
 * Resolves to a function that shows these schedules to a caller. Content that the role restricts in the type of one of
 * the data records is left out, except for values that the request itself has set.
 */
export async function createPresenter(db: Database, caller: Caller, schedules: readonly Schedule[]) {
  const types = await readTypes(db.system, caller.organizationId, schedules)
  return ({ dataTypeIds, ...schedule }: Schedule, set: object = {}) => {
    const shown = createContentFilter(caller, { dataTypeIds }, types, set)
    return { ...schedule, content: shown(schedule.content) }
  }
}
