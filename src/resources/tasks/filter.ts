import type { z } from 'zod'
import type { TaskFilter } from '../../../db/queries/tasks.ts'
import { splitIds } from '../../http/lists.ts'
import type { taskFilter } from './schemas.ts'

type Given = z.output<z.ZodObject<typeof taskFilter>>

/** The filter of a list of tasks. Texts that are no identifiers match nothing. */
export const readFilter = (given: Given): TaskFilter => ({
  statuses: given.status?.split(',').map(status => status.trim()),
  flowIds: splitIds(given.flowId),
  hubIds: splitIds(given.hubId),
  teamIds: splitIds(given.teamId),
  assigneeIds: splitIds(given.assigneeId),
  vehicleIds: splitIds(given.vehicleId),
  scheduleIds: splitIds(given.scheduleId),
  from: given.from,
  to: given.to,
  bbox: given.bbox,
})
