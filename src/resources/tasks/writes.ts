import { acrossOrganizations, type Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import { ALL_HUBS, listVisibleIds } from '../../../db/hub-rule.ts'
import { type Flow, findFlow, findUsualFlow } from '../../../db/queries/flows.ts'
import { listKnownHubs } from '../../../db/queries/hubs.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import {
  deleteTask,
  findTask,
  insertTasks,
  isTaskVisible,
  type NewTask,
  type Task,
  updateTask,
} from '../../../db/queries/tasks.ts'
import { isOfTeam } from '../../../db/queries/teams.ts'
import { listKnownUsers } from '../../../db/queries/users.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { differences, record } from '../../http/audit.ts'
import { unique } from '../../http/conflicts.ts'
import { FieldErrors, forbidden, found, invalid } from '../../http/errors.ts'
import type { Permission } from '../../http/permissions.ts'
import { checkReferences, placed } from '../../http/references.ts'
import { dataAccess } from '../data/access.ts'
import { checkValues, defaultsOf, listBrokenReferences } from '../data/check.ts'
import { fieldsOf, findDataTypes, fits, gatherContent, MAX_CONTENT_BYTES, withoutNulls } from './content.ts'
import { assignTask, countingFields, moverOf, moveTask, stepOf } from './history.ts'
import { composeTask, typesOf } from './new-task.ts'
import { everyTask, visibilityOf } from './present.ts'
import type { MoveBody, NewTaskBody, TaskPatch } from './schemas.ts'

// Each of these functions runs in one transaction of the caller's organization.

/** A phone's clock may be fast, as a tracker's may. */
const FAST_CLOCK_MS = 10 * 60_000

type Plain = Omit<NewTask, 'status' | 'history' | 'scheduleId' | 'isSample'>

export async function createTask(tx: Queryable, caller: Caller, body: NewTaskBody): Promise<Task> {
  const { organizationId } = caller
  const flowId = body.flowId ?? (await findUsualFlow(tx))
  if (flowId === null) throw invalid('flowId', 'There is no flow yet. Create one first.', 'required')
  const types = await findDataTypes(tx, organizationId, body.dataIds)
  await checkTask(tx, caller, { ...body, flowId }, types)
  const flow = found('flow', await findFlow(tx, flowId, 'FOR SHARE'))
  const given = await checkContent(tx, organizationId, flow, body.content)
  const content = await gatherContent(tx, organizationId, flow, { content: given, dataIds: body.dataIds })
  if (!content) throw tooMuch('dataIds')
  const assigned = composeTask(
    {
      ...body,
      flowId,
      dataTypeIds: typesOf(types.values()),
      content,
      scheduleId: null,
      isSample: false,
    },
    flow,
    moverOf(caller),
    new Date(timeOfDay()),
  )
  checkReach(caller, 'create/task', assigned)
  const [taskId = ''] = await unique('task with the code', body.code ?? '', () =>
    insertTasks(tx, organizationId, [assigned]),
  )
  return recordTask(tx, caller, 'create', null, taskId)
}

export async function changeTask(
  tx: Queryable,
  caller: Caller,
  taskId: string,
  { content = {}, ...patch }: TaskPatch,
): Promise<Task> {
  const { organizationId } = caller
  const before = await lockTask(tx, caller, 'update/task', taskId)
  const given = { ...before, ...patch }
  const types = await findDataTypes(tx, organizationId, patch.dataIds ?? [])
  await checkTask(tx, caller, given, types, before)
  const flow = found('flow', await findFlow(tx, given.flowId, 'FOR SHARE'))
  if (!stepOf(flow, before.status))
    throw invalid('flowId', `This flow has no step ${before.status}, which the task has.`)
  const checked = await checkContent(tx, organizationId, flow, content)
  const changed: Task = {
    ...given,
    assigneeId: before.assigneeId,
    dataTypeIds: typesOf(types.values(), before),
    content: withoutNulls({ ...before.content, ...checked }),
  }
  checkSize('content', changed)
  const after = assignTask(changed, flow, given.assigneeId, moverOf(caller))
  checkReach(caller, 'update/task', after)
  await unique('task with the code', after.code, () => updateTask(tx, after))
  return recordTask(tx, caller, 'update', before, taskId)
}

/** Resolves to the task afterwards, also if it has made this move before, and to the content that this request set. */
export async function changeStatus(
  tx: Queryable,
  caller: Caller,
  taskId: string,
  { status, at, lat, lng, note, fields }: MoveBody,
): Promise<{ task: Task; set: Values }> {
  if ((lat === undefined) !== (lng === undefined))
    throw invalid(lat === undefined ? 'lat' : 'lng', 'A place has both lat and lng.', 'required')
  if (at && at.getTime() > timeOfDay() + FAST_CLOCK_MS)
    throw invalid('at', 'This is in the future.', 'too-late')
  const before = await lockTask(tx, caller, 'update/task', taskId)
  const flow = found('flow', await findFlow(tx, before.flowId, 'FOR SHARE'))
  const move = {
    status,
    at: at ?? null,
    ...moverOf(caller),
    lat: lat ?? null,
    lng: lng ?? null,
    note: note ?? null,
  }
  // The flow must allow the move before its fields are checked.
  if (moveTask(before, flow, { ...move, fields: {} }) === before) return { task: before, set: {} }
  const asked = await checkFields(tx, caller.organizationId, stepOf(flow, status)?.fields ?? [], fields)
  const after = moveTask(before, flow, { ...move, fields: asked })
  checkSize('fields', after)
  await updateTask(tx, after)
  const place = after.history.findIndex(entry => !before.history.includes(entry))
  const set = countingFields(asked, after.history.slice(place + 1))
  return { task: await recordTask(tx, caller, 'status', before, taskId), set }
}

export async function removeTask(tx: Queryable, caller: Caller, taskId: string): Promise<void> {
  const before = await lockTask(tx, caller, 'delete/task', taskId)
  await deleteTask(tx, taskId)
  await record(tx, caller, {
    action: 'delete',
    resource: 'task',
    resourceId: taskId,
    changes: differ(before, null),
    dataTypeIds: before.dataTypeIds,
  })
}

/** A task on which the caller has this permission, locked until the transaction ends. */
const lockTask = async (
  tx: Queryable,
  caller: Caller,
  permission: Permission,
  taskId: string,
): Promise<Task> =>
  found('task', await findTask(tx, visibilityOf(caller, permission), taskId, 'FOR NO KEY UPDATE'))

/**
 * Every reference must name a record that exists for the caller, or one that the task refers to already. Throws 400
 * otherwise.
 */
async function checkTask(
  tx: Queryable,
  caller: Caller,
  task: Omit<Plain, 'dataTypeIds' | 'content'>,
  types: ReadonlyMap<string, string>,
  before?: Task,
): Promise<void> {
  const { hubIds } = caller
  const { flowId, hubId, teamId, assigneeId, vehicleId, dataIds, startTime, endTime } = task
  const access = dataAccess(caller, 'view/data')
  const visible = [...types].filter(([, type]) => access.grants(type))
  await checkReferences(
    {
      what: 'flow',
      ids: { flowId },
      find: async ([id = '']) => new Set((await findFlow(tx, id)) ? [id] : []),
    },
    { what: 'hub', ids: { hubId }, find: ids => listKnownHubs(tx, ids, hubIds), present: [before?.hubId] },
    {
      what: 'team',
      ids: { teamId },
      find: ids => listVisibleIds(tx, 'teams', ids, hubIds),
      present: [before?.teamId],
    },
    {
      what: 'user',
      ids: { assigneeId },
      find: ids => listKnownUsers(tx, { ...caller, scope: 'all' }, ids),
      present: [before?.assigneeId],
    },
    {
      what: 'vehicle',
      ids: { vehicleId },
      find: ids => listVisibleIds(tx, 'vehicles', ids, hubIds),
      present: [before?.vehicleId],
    },
    {
      what: 'data source',
      ids: placed('dataIds', dataIds),
      find: async () => new Set(visible.map(([id]) => id)),
      present: before?.dataIds,
    },
  )
  const isOther = teamId !== before?.teamId || assigneeId !== before?.assigneeId
  if (isOther && teamId && assigneeId && !(await isOfTeam(tx, teamId, assigneeId)))
    throw invalid(
      before && assigneeId === before.assigneeId ? 'teamId' : 'assigneeId',
      'The task can be assigned only to a member of the team.',
    )
  if (startTime && endTime && endTime < startTime)
    throw invalid('endTime', 'This has to be after the beginning.', 'too-early')
}

/** Nobody may create a task outside the scope of the own permission, or move one out of it. */
function checkReach(
  caller: Caller,
  permission: Permission,
  task: Pick<Task, 'hubId' | 'teamId' | 'assigneeId'>,
): void {
  if (!isTaskVisible({ ...visibilityOf(caller, permission), hubIds: ALL_HUBS }, task))
    throw forbidden(`Your role holds ${permission} for the own tasks or those of the own teams alone.`)
}

/** Content that grows by merging has the same maximum as content given at once. */
function checkSize(path: string, { content }: Task): void {
  if (!fits(content)) throw tooMuch(path)
}

const tooMuch = (path: string) =>
  invalid(path, `A task holds at most ${MAX_CONTENT_BYTES / 1024} KiB of content.`, 'too-large')

/** Content under keys of the flow's fields is checked against these fields; other content is free. */
export async function checkContent(
  tx: Queryable,
  organizationId: string,
  flow: Flow,
  content: Values,
): Promise<Values> {
  const fields = fieldsOf(flow)
  const known = Object.keys(content).filter(key => fields.has(key) && content[key] !== null)
  const held = known.map(key => ({ ...(fields.get(key) as Field), required: false, default: undefined }))
  const given = Object.fromEntries(known.map(key => [key, content[key]]))
  const checked = await checkAgainst(tx, organizationId, held, given, 'content')
  return { ...content, ...checked }
}

const checkFields = (tx: Queryable, organizationId: string, fields: readonly Field[], given: Values) =>
  checkAgainst(tx, organizationId, fields, given, 'fields')

async function checkAgainst(
  tx: Queryable,
  organizationId: string,
  fields: readonly Field[],
  given: Values,
  place: string,
): Promise<Values> {
  const type = { fields: [...fields] }
  const { data, errors } = checkValues(type, given, defaultsOf(type))
  const broken = fields.some(({ type }) => type === 'reference')
    ? await acrossOrganizations(tx, () => listBrokenReferences(tx, organizationId, type, [{ _id: '', data }]))
    : []
  const wrong = [
    ...errors.map(error => ({ ...error, path: error.path.replace('data', place) })),
    ...broken.map(({ key }) => ({
      path: `${place}.${key}`,
      code: 'not-found' as const,
      message: 'There is no such record to refer to.',
    })),
  ]
  const [first] = wrong
  if (first) throw new FieldErrors(wrong, `"${first.path}" is not valid: ${first.message}`)
  return data
}

/** Writes the change of a task into the audit log, and resolves to the task. */
async function recordTask(
  tx: Queryable,
  caller: Caller,
  action: string,
  before: Task | null,
  taskId: string,
): Promise<Task> {
  const after = found('task', await findTask(tx, everyTask(caller), taskId))
  await record(tx, caller, {
    action,
    resource: 'task',
    resourceId: taskId,
    changes: differ(before, after),
    dataTypeIds: after.dataTypeIds,
  })
  return after
}

/** The entry names the keys of content without their values, which not every reader of the audit log may see. */
export function differ<Record extends { content: Values }>(before: Record | null, after: Record | null) {
  const plain = (one: Record | null) =>
    one && { ...one, content: undefined, history: undefined, flow: undefined }
  const keys = Object.keys(differences(before?.content ?? {}, after?.content ?? {}))
  return {
    ...differences(plain(before), plain(after)),
    ...Object.fromEntries(keys.map(key => [`content.${key}`, {}])),
  }
}
