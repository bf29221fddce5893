import type { Flow } from '../../../db/queries/flows.ts'
import type { NewTask, Task } from '../../../db/queries/tasks.ts'
import { assignTask, firstEntry, type Mover } from './history.ts'

/** A new task in the first step of its flow, or assigned if it has an assignee. */
export function composeTask(
  given: Omit<NewTask, 'status' | 'history'>,
  flow: Flow,
  mover: Mover,
  now: Date,
): NewTask {
  const first = firstEntry(flow, mover, now)
  const task: NewTask = { ...given, assigneeId: null, status: first.status, history: [first] }
  return assignTask(task as Task, flow, given.assigneeId, mover)
}

/**
 * The types that content may come from: those of its records, and those of earlier records, whose values it may still
 * contain.
 */
export const typesOf = (
  ofRecords: Iterable<string>,
  before: Pick<Task, 'dataTypeIds'> = { dataTypeIds: [] },
): string[] => [...new Set([...before.dataTypeIds, ...ofRecords])]
