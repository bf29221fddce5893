import type { Queryable } from '../../../db/client.ts'
import { ALL_HUBS } from '../../../db/hub-rule.ts'
import { type DataType, listDataTypesById } from '../../../db/queries/data-types.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { isTaskVisible, type SeenThrough, type Task, type TaskVisibility } from '../../../db/queries/tasks.ts'
import { type Permission, scopeOf } from '../../http/permissions.ts'
import { type DataAccess, dataAccess } from '../data/access.ts'

/** The tasks on which a caller has this permission. */
export function visibilityOf(
  caller: Pick<Caller, 'userId' | 'hubIds' | 'teamIds' | 'permissionDetails'>,
  permission: Permission,
): TaskVisibility {
  const { userId, hubIds, teamIds } = caller
  return { userId, hubIds, teamIds, scope: scopeOf(caller.permissionDetails, permission) ?? 'own' }
}

export const everyTask = ({ userId }: Pick<Caller, 'userId'>): TaskVisibility => ({
  userId,
  hubIds: ALL_HUBS,
  teamIds: [],
  scope: 'all',
})

type Types = ReadonlyMap<string, Pick<DataType, 'fields'>>

/** The data types of tasks' records, which decide what a role hides of a task. */
export async function readTypes(
  db: Queryable,
  organizationId: string,
  tasks: readonly Pick<Task, 'dataTypeIds'>[],
): Promise<Types> {
  const ids = [...new Set(tasks.flatMap(({ dataTypeIds }) => dataTypeIds))]
  const types = ids.length > 0 ? await listDataTypesById(db, organizationId, ids) : []
  return new Map(types.map(type => [type._id, type]))
}

/** A filter for content that leaves out restricted values, as in `presentTask`. */
export function createContentFilter(
  caller: Pick<Caller, 'permissionDetails'>,
  of: Pick<Task, 'dataTypeIds'>,
  types: Types,
  set: object = {},
): (values: Task['content']) => Task['content'] {
  const access = dataAccess(caller, 'view/data')
  return values =>
    Object.fromEntries(
      Object.entries(values).filter(
        ([key]) => Object.hasOwn(set, key) || !hidesContent(access, of, types, key),
      ),
    )
}

/**
 * A task as a caller sees it: without the content that its role restricts in the type of one of the data records,
 * except for what the request itself has set.
 */
export function presentTask(
  caller: Pick<Caller, 'permissionDetails'>,
  task: Task,
  types: Types,
  set: object = {},
) {
  const { dataTypeIds, scheduledFor, ...rest } = task
  // In the history the values may be those of others, even under keys that the request has set.
  const shown = createContentFilter(caller, task, types)
  const history = task.history.map(entry => ({ ...entry, fields: shown(entry.fields) }))
  return { ...rest, content: createContentFilter(caller, task, types, set)(task.content), history }
}

/**
 * The message to a watcher about a changed or deleted task: the task if the caller may see it, its deletion if the
 * caller could see it before, else null. `before` comes from the trigger on tasks.
 */
export function presentTaskChange(
  caller: Caller,
  taskId: string,
  task: Task | undefined,
  before: readonly string[],
  types: Types,
) {
  const visibility = visibilityOf(caller, 'view/task')
  if (task && isTaskVisible(visibility, task)) return { type: 'task', task: presentTask(caller, task, types) }
  if (!before.some(text => isTaskVisible(visibility, readSeenThrough(text)))) return null
  return { type: 'task', deleted: true, task: { _id: taskId, deleted: true } }
}

function readSeenThrough(text: string): SeenThrough {
  const [hubId, teamId, assigneeId] = text.split(',').map(id => id || null)
  return { hubId: hubId ?? null, teamId: teamId ?? null, assigneeId: assigneeId ?? null }
}

/**
 * A type that the role does not cover hides its fields. A deleted type hides all of them, unless the role covers every
 * type.
 */
export const hidesContent = (
  access: DataAccess,
  { dataTypeIds }: Pick<Task, 'dataTypeIds'>,
  types: Types,
  key: string,
): boolean =>
  dataTypeIds.some(typeId => {
    if (access.grants(typeId)) return access.hides(typeId, key)
    return types.get(typeId)?.fields.some(field => field.key === key) ?? true
  })
