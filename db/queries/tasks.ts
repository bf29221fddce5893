import { type Database, newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { hubConditions, isInVisibleHub, type VisibleHubs } from '../hub-rule.ts'
import { tasks } from '../schema/tasks.ts'
import { conditions, type Page, type PageRequest, storedBytes } from './page.ts'
import { countInSteps, listInSteps } from './records-in-steps.ts'

/**
 * Tasks. Lists take the organization first and run with the owner's rights, since a policy would prevent the use of
 * indexes for boxes and texts; everything else runs as the tenant. A row's alias is `d`, as in `records-in-steps.ts`.
 */
export interface Place {
  lat: number
  lng: number
  address: string | null
}

/** A task as the interface shows it, and the types of its data records. */
export type Task = Shown<typeof tasks, 'position' | 'address' | 'search'> & { location: Place | null }

/** The fields of a task, as in its row. */
export type NewTask = Omit<Task, '_id' | 'code' | 'scheduledFor' | 'createdAt' | 'updatedAt'> & {
  /** Generated if it is left out. */
  code?: string | undefined
  /** Only for tasks of a schedule. */
  scheduledFor?: Date | null
}

const COLUMNS = `${shownColumns(tasks, 'd', ['position', 'address', 'search'])},
  CASE WHEN d.position IS NOT NULL THEN
    json_build_object('lat', ST_Y(d.position), 'lng', ST_X(d.position), 'address', d.address) END AS location`

/** A task without a time begins after every other one. */
const START = `coalesce(d.start_time, 'infinity')`

export const TASK_SORTS = {
  // Identifiers are in the order of creation, and indexed.
  createdAt: { sql: 'd.id', type: 'uuid' },
  startTime: { sql: START, type: 'timestamptz' },
  name: { sql: 'lower(d.name)', type: 'text' },
} as const

/** A list gives no total above this: counting grows with the matches, a page does not. */
const COUNT_UP_TO = 1_000

/** The tasks that a user sees: those of its hubs and without a hub, within the scope of its role. */
export interface TaskVisibility {
  userId: string
  hubIds: VisibleHubs
  teamIds: readonly string[]
  scope: 'all' | 'team' | 'own'
}

/** The fields of a task that decide who sees it. */
export type SeenThrough = Pick<Task, 'hubId' | 'teamId' | 'assigneeId'>

function visibleConditions(
  { userId, hubIds, teamIds, scope }: TaskVisibility,
  add: (value: unknown) => string,
): string[] {
  const where = hubConditions('d.hub_id', hubIds, add)
  if (scope === 'own') where.push(`d.assignee_id = ${add(userId)}`)
  if (scope === 'team')
    where.push(`(d.assignee_id = ${add(userId)} OR d.team_id = ANY(${add(teamIds)}::uuid[]))`)
  return where
}

/** The same for a task in memory; `test/api/watch-tasks.test.ts` compares the two. */
export function isTaskVisible(
  { userId, hubIds, teamIds, scope }: TaskVisibility,
  { hubId, teamId, assigneeId }: SeenThrough,
): boolean {
  if (!isInVisibleHub(hubId, hubIds)) return false
  if (scope === 'all' || assigneeId === userId) return true
  return scope === 'team' && teamId !== null && teamIds.includes(teamId)
}

export interface TaskFilter {
  statuses?: readonly string[] | undefined
  flowIds?: readonly string[] | undefined
  hubIds?: readonly string[] | undefined
  teamIds?: readonly string[] | undefined
  assigneeIds?: readonly string[] | undefined
  vehicleIds?: readonly string[] | undefined
  scheduleIds?: readonly string[] | undefined
  /** Bounds of `startTime`, inclusive and exclusive, in milliseconds since 1970. */
  from?: number | undefined
  to?: number | undefined
  /** West, south, east, north in degrees. */
  bbox?: readonly [number, number, number, number] | undefined
}

/** The columns of the filters, each of which has an index. */
const FILTERED = [
  ['d.flow_id', 'uuid', 'flowIds'],
  ['d.hub_id', 'uuid', 'hubIds'],
  ['d.team_id', 'uuid', 'teamIds'],
  ['d.assignee_id', 'uuid', 'assigneeIds'],
  ['d.vehicle_id', 'uuid', 'vehicleIds'],
  ['d.schedule_id', 'uuid', 'scheduleIds'],
  ['d.status', 'text', 'statuses'],
] as const

function filterConditions(filter: TaskFilter, add: (value: unknown) => string): string[] {
  const where: string[] = []
  for (const [column, type, name] of FILTERED) {
    const wanted = filter[name]
    // A single value is read from the index in the order of the list.
    if (wanted?.length === 1) where.push(`${column} = ${add(wanted[0])}::${type}`)
    else if (wanted) where.push(`${column} = ANY(${add(wanted)}::${type}[])`)
  }
  if (filter.from !== undefined || filter.to !== undefined) where.push('d.start_time IS NOT NULL')
  if (filter.from !== undefined) where.push(`${START} >= to_timestamp(${add(filter.from)}::float8 / 1000)`)
  if (filter.to !== undefined) where.push(`${START} < to_timestamp(${add(filter.to)}::float8 / 1000)`)
  if (filter.bbox) {
    const [west, south, east, north] = filter.bbox
    const box = (from: number, to: number) =>
      `d.position && ST_MakeEnvelope(${[from, south, to, north].map(degrees => `${add(degrees)}::float8`).join(', ')}, 4326)`
    where.push(west <= east ? box(west, east) : `(${box(west, 180)} OR ${box(-180, east)})`)
  }
  return where
}

/** One page of the matching tasks that the user may see. */
export function listTasks(
  db: Database,
  organizationId: string,
  visibility: TaskVisibility,
  filter: TaskFilter,
  page: PageRequest,
): Promise<Page<Task>> {
  const { where, values, add } = conditions()
  const placeholder = (value: unknown) => `$${values.push(value)}`
  add('d.organization_id = ?', organizationId)
  where.push(...visibleConditions(visibility, placeholder), ...filterConditions(filter, placeholder))
  const isFiltered = where.length > 1
  const indexed = isFiltered ? { where: [...where], values: [...values] } : null
  const listing = {
    columns: COLUMNS,
    from: 'tasks d',
    where,
    values,
    bytes: `1000 + ${storedBytes('d.content', 'd.history')}`,
    id: 'd.id',
    sorts: TASK_SORTS,
    search: ['d.search'],
    countUpTo: COUNT_UP_TO,
  }
  return listInSteps(db, { ...listing, table: 'tasks', of: { organizationId }, indexed }, page)
}

/** The number of tasks, whoever sees them. */
export const countTasks = (db: Queryable, organizationId: string, signal: AbortSignal): Promise<number> =>
  countInSteps(db, { table: 'tasks', of: { organizationId } }, signal)

/** A visible task, or null. A lock keeps it from changing until the transaction ends. */
export async function findTask(
  tx: Queryable,
  visibility: TaskVisibility,
  id: string,
  lock: '' | 'FOR NO KEY UPDATE' = '',
): Promise<Task | null> {
  const values: unknown[] = [id]
  const where = visibleConditions(visibility, value => `$${values.push(value)}`)
  const [row] = await tx.query<Task>(
    `SELECT ${COLUMNS} FROM tasks d WHERE ${['d.id = $1', ...where].join(' AND ')} ${lock}`,
    values,
  )
  return row ?? null
}

/** The existing ones among these tasks, whoever sees them. */
export function listTasksById(tx: Queryable, ids: readonly string[]): Promise<Task[]> {
  return tx.query(`SELECT ${COLUMNS} FROM tasks d WHERE d.id = ANY($1::uuid[])`, [ids])
}

/** The columns with which a task is written, as a JSON record. */
const WRITTEN = {
  code: 'text',
  name: 'text',
  status: 'text',
  flow_id: 'uuid',
  data_ids: 'uuid[]',
  data_type_ids: 'uuid[]',
  hub_id: 'uuid',
  team_id: 'uuid',
  assignee_id: 'uuid',
  vehicle_id: 'uuid',
  schedule_id: 'uuid',
  scheduled_for: 'timestamptz',
  address: 'text',
  start_time: 'timestamptz',
  end_time: 'timestamptz',
  content: 'jsonb',
  history: 'jsonb',
  is_sample: 'boolean',
}
const NAMES = [...Object.keys(WRITTEN), 'position'].join(', ')
const VALUES = [
  ...Object.keys(WRITTEN).map(name => `r.${name}`),
  'ST_SetSRID(ST_MakePoint(r.lng, r.lat), 4326)',
].join(', ')
const RECORD = Object.entries({ id: 'uuid', ...WRITTEN, lat: 'float8', lng: 'float8' })
  .map(([name, type]) => `${name} ${type}`)
  .join(', ')

const toRecord = (id: string, code: string, task: NewTask) => ({
  id,
  code,
  name: task.name,
  status: task.status,
  flow_id: task.flowId,
  data_ids: task.dataIds,
  data_type_ids: task.dataTypeIds,
  hub_id: task.hubId,
  team_id: task.teamId,
  assignee_id: task.assigneeId,
  vehicle_id: task.vehicleId,
  schedule_id: task.scheduleId,
  scheduled_for: task.scheduledFor,
  address: task.location?.address,
  lat: task.location?.lat,
  lng: task.location?.lng,
  start_time: task.startTime,
  end_time: task.endTime,
  content: task.content,
  history: task.history,
  is_sample: task.isSample,
})

/**
 * Creates tasks. Those without a code get one, which locks the counter until the transaction ends, so this comes late
 * in it. Returns the identifiers in the given order.
 */
export async function insertTasks(
  tx: Queryable,
  organizationId: string,
  given: readonly NewTask[],
): Promise<string[]> {
  const codes = await drawCodes(tx, organizationId, given.filter(({ code }) => code === undefined).length)
  const records = given.map(task => toRecord(newId(), task.code ?? (codes.pop() as string), task))
  await tx.query(
    `INSERT INTO tasks (organization_id, id, ${NAMES})
     SELECT $1, r.id, ${VALUES} FROM json_to_recordset($2) AS r(${RECORD})`,
    [organizationId, JSON.stringify(records)],
  )
  return records.map(({ id }) => id)
}

/** Codes that no task has, the highest first. A user may have given a code of our form: then the next one is taken. */
async function drawCodes(tx: Queryable, organizationId: string, count: number): Promise<string[]> {
  const codes: string[] = []
  while (codes.length < count) {
    const missing = count - codes.length
    const [row] = await tx.query<{ last: number }>(
      `INSERT INTO task_counters (organization_id, last) VALUES ($1, $2)
       ON CONFLICT (organization_id) DO UPDATE SET last = task_counters.last + $2 RETURNING last`,
      [organizationId, missing],
    )
    const last = row?.last as number
    const drawn = Array.from({ length: missing }, (_, at) => `T-${last - missing + 1 + at}`)
    const taken = await tx.query<{ code: string }>(
      'SELECT code FROM tasks WHERE organization_id = $1 AND code = ANY($2::text[])',
      [organizationId, drawn],
    )
    codes.push(...drawn.filter(code => !taken.some(other => other.code === code)))
  }
  return codes.reverse()
}

/** Writes a task that the transaction has locked. */
export async function updateTask(tx: Queryable, { _id, ...task }: Task): Promise<void> {
  await tx.query(
    `UPDATE tasks d SET (${NAMES}, updated_at) = (SELECT ${VALUES}, now() FROM json_to_record($2) AS r(${RECORD}))
     WHERE d.id = $1`,
    [_id, JSON.stringify(toRecord(_id, task.code, task))],
  )
}

export async function deleteTask(tx: Queryable, id: string): Promise<void> {
  await tx.query('DELETE FROM tasks WHERE id = $1', [id])
}

/** The references that tasks lose when their target is deleted. */
export type TaskReference = 'team_id' | 'assignee_id' | 'vehicle_id' | 'schedule_id'

/** Clears a reference in at most `limit` tasks that have it, as its foreign key does. Returns their number. */
export async function clearReference(
  tx: Queryable,
  reference: TaskReference,
  id: string,
  limit: number,
): Promise<number> {
  const cleared = await tx.query(
    `UPDATE tasks SET ${reference} = NULL
     WHERE id IN (SELECT id FROM tasks WHERE ${reference} = $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE) RETURNING 1`,
    [id, limit],
  )
  return cleared.length
}

/** The occurrences of a schedule, among these, that have their task, in milliseconds since 1970. */
export async function listMadeOccurrences(
  tx: Queryable,
  scheduleId: string,
  occurrences: readonly Date[],
): Promise<Set<number>> {
  const rows = await tx.query<{ at: Date }>(
    'SELECT scheduled_for AS at FROM tasks WHERE schedule_id = $1 AND scheduled_for = ANY($2::timestamptz[])',
    [scheduleId, occurrences.map(at => at.toISOString())],
  )
  return new Set(rows.map(({ at }) => at.getTime()))
}

/** The number of tasks of a flow with one of these statuses. */
export async function countTasksIn(
  tx: Queryable,
  flowId: string,
  statuses: readonly string[],
): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    'SELECT count(*)::int4 AS count FROM tasks WHERE flow_id = $1 AND status = ANY($2::text[])',
    [flowId, statuses],
  )
  return row?.count ?? 0
}

/** Deletes at most `limit` of the sample tasks and those of sample drivers. Returns their number. */
export async function deleteSampleTasks(tx: Queryable, limit: number): Promise<number> {
  const deleted = await tx.query(
    `DELETE FROM tasks WHERE id IN (
       SELECT id FROM tasks WHERE is_sample UNION ALL
       SELECT t.id FROM users u JOIN tasks t ON t.organization_id = u.organization_id AND t.assignee_id = u.id WHERE u.is_sample
       LIMIT $1::int4) RETURNING 1`,
    [limit],
  )
  return deleted.length
}
