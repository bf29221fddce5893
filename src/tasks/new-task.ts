import type { DataRecord } from '../../db/queries/data.ts'
import type { Flow } from '../../db/queries/flows.ts'
import type { NewTask, Task } from '../../db/queries/tasks.ts'
import type { Values } from '../../db/schema/data-records.ts'
import type { Field } from '../../db/schema/flows.ts'
import { assignTask, firstEntry } from './history.ts'

/**
 * A new task in the first step of its flow, or assigned where it has an assignee. Its content is what is given, and for the
 * other fields of the flow what its records have. `by` is who creates it; null is nobody, a schedule.
 */
export function composeTask(
  given: Omit<NewTask, 'status' | 'history'>,
  of: { flow: Flow; records: ReadonlyMap<string, Pick<DataRecord, 'data'>> },
  by: string | null,
  now: Date,
): NewTask {
  const first = firstEntry(of.flow, by, now)
  const task: NewTask = {
    ...given,
    content: withoutNulls({ ...contentOf(of.flow, given.dataIds, of.records), ...given.content }),
    assigneeId: null,
    status: first.status,
    history: [first],
  }
  return assignTask(task as Task, of.flow, given.assigneeId, by)
}

export const fieldsOf = ({ steps }: Flow): Map<string, Field> =>
  new Map(steps.flatMap(({ fields }) => fields.map(field => [field.key, field] as const)).reverse())

/** The types that content may come from: of its records, and of those that were named before, which it still may hold. */
export const typesOf = (
  records: Iterable<Pick<DataRecord, 'dataTypeId'>>,
  before: Pick<Task, 'dataTypeIds'> = { dataTypeIds: [] },
): string[] => [...new Set([...before.dataTypeIds, ...[...records].map(({ dataTypeId }) => dataTypeId)])]

/** What a new task takes from its records: values under the keys of the flow's fields, of several records the first. */
function contentOf(
  flow: Flow,
  dataIds: readonly string[],
  records: ReadonlyMap<string, Pick<DataRecord, 'data'>>,
): Values {
  const content: Values = {}
  for (const key of fieldsOf(flow).keys()) {
    const from = dataIds.map(id => records.get(id)?.data ?? {}).find(data => Object.hasOwn(data, key))
    if (from) content[key] = from[key]
  }
  return content
}

export const withoutNulls = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
