import type { Flow } from '../../../db/queries/flows.ts'
import type { NewTask, Task } from '../../../db/queries/tasks.ts'
import { assignTask, firstEntry } from './history.ts'

/** A new task in the first step of its flow, or assigned if it has an assignee. `by` is null for a schedule. */
export function composeTask(
  given: Omit<NewTask, 'status' | 'history'>,
  flow: Flow,
  by: string | null,
  now: Date,
): NewTask {
  const first = firstEntry(flow, by, now)
  const task: NewTask = { ...given, assigneeId: null, status: first.status, history: [first] }
  return assignTask(task as Task, flow, given.assigneeId, by)
}

/**
 * The types that content may come from: those of its records, and those of earlier records, whose values it may still
 * contain.
 */
export const typesOf = (
  ofRecords: Iterable<string>,
  before: Pick<Task, 'dataTypeIds'> = { dataTypeIds: [] },
): string[] => [...new Set([...before.dataTypeIds, ...ofRecords])]
