import type { Queryable } from '../../../db/client.ts'
import { findFlow } from '../../../db/queries/flows.ts'
import type { DueSchedule } from '../../../db/queries/schedules.ts'
import { insertTasks, listMadeOccurrences } from '../../../db/queries/tasks.ts'
import { isOfTeam } from '../../../db/queries/teams.ts'
import { findDataTypes, gatherContent } from '../tasks/content.ts'
import { SCHEDULE } from '../tasks/history.ts'
import { composeTask } from '../tasks/new-task.ts'

/** Why the tasks of a schedule cannot be created, in a sentence for the planner. */
export class CannotCreateTasks extends Error {}

/** Creates the tasks of the given occurrences, except existing ones. The transaction must hold the schedule. */
export async function createScheduledTasks(
  tx: Queryable,
  organizationId: string,
  schedule: DueSchedule,
  occurrences: readonly Date[],
): Promise<void> {
  const { _id, name, flowId, hubId, teamId, assigneeId, vehicleId, location } = schedule
  const { dataIds, dataTypeIds, isSample, duration } = schedule
  const flow = await findFlow(tx, flowId, 'FOR SHARE')
  if (!flow) throw new CannotCreateTasks('Its flow was deleted. Choose another one.')
  const types = await findDataTypes(tx, organizationId, dataIds)
  const gone = dataIds.filter(id => !types.has(id)).length
  if (gone > 0)
    throw new CannotCreateTasks(`${gone} of its data sources were deleted. Take them out of dataIds.`)
  if (teamId && assigneeId && !(await isOfTeam(tx, teamId, assigneeId)))
    throw new CannotCreateTasks('Its assignee does not belong to its team any more. Choose another one.')
  const content = await gatherContent(tx, organizationId, flow, schedule)
  if (!content)
    throw new CannotCreateTasks(
      'Its content with that of its data sources is too long. Take some out of dataIds.',
    )
  const made = await listMadeOccurrences(tx, _id, occurrences)
  const tasks = occurrences
    .filter(at => !made.has(at.getTime()))
    .map(at => {
      const endTime = duration === null ? null : new Date(at.getTime() + duration * 1000)
      const task = {
        name,
        flowId,
        dataIds,
        dataTypeIds,
        hubId,
        teamId,
        assigneeId,
        vehicleId,
        location,
        content,
      }
      return composeTask(
        { ...task, startTime: at, endTime, scheduleId: _id, scheduledFor: at, isSample },
        flow,
        SCHEDULE,
        new Date(schedule.now),
      )
    })
  if (tasks.length > 0) await insertTasks(tx, organizationId, tasks)
}
