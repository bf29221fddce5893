import { eq, sql } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { hubConditions, type VisibleHubs } from '../hub-rule.ts'
import { schedules } from '../schema/schedules.ts'
import { type Flow, listFlowsById } from './flows.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'

const HIDDEN = ['failures', 'retryAt'] as const

type Row = Shown<typeof schedules, (typeof HIDDEN)[number]>

/** A schedule with its flow. */
export type Schedule = Row & { flow: Pick<Flow, '_id' | 'name' | 'steps'> }

/** The given fields of a schedule, and its progress. */
export type NewSchedule = Omit<
  Schedule,
  '_id' | 'flow' | 'lastRunAt' | 'lastError' | 'isSample' | 'createdAt' | 'updatedAt'
>

const COLUMNS = shownColumns(schedules, 's', HIDDEN)

export const SCHEDULE_SORTS = {
  name: { sql: 'lower(s.name)', type: 'text' },
  createdAt: { sql: 's.created_at', type: 'timestamptz' },
  nextRunAt: { sql: `coalesce(s.next_run_at, 'infinity')`, type: 'timestamptz' },
} as const

export interface ScheduleFilter {
  flowIds?: readonly string[]
  hubIds?: readonly string[]
  teamIds?: readonly string[]
}

/**
 * Schedules with their flows, each flow read once: joined to each row, 500 schedules of one flow of 400 KiB took 45 s
 * and 2.5 GB.
 */
async function withFlows(tx: Queryable, rows: readonly Row[]): Promise<Schedule[]> {
  const flows = await listFlowsById(tx, [...new Set(rows.map(({ flowId }) => flowId))])
  return rows.flatMap(row => {
    const flow = flows.get(row.flowId)
    return flow ? [{ ...row, flow: { _id: flow._id, name: flow.name, steps: flow.steps } }] : []
  })
}

export async function listSchedules(
  tx: Queryable,
  visible: VisibleHubs,
  filter: ScheduleFilter,
  page: PageRequest,
): Promise<Page<Schedule>> {
  const { where, values, add, placeholder } = conditions()
  where.push(...hubConditions('s.hub_id', visible, placeholder))
  if (filter.flowIds) add('s.flow_id = ANY(?::uuid[])', filter.flowIds)
  if (filter.hubIds) add('s.hub_id = ANY(?::uuid[])', filter.hubIds)
  if (filter.teamIds) add('s.team_id = ANY(?::uuid[])', filter.teamIds)
  const found = await readPage<Row>(
    tx,
    {
      columns: COLUMNS,
      bytes: `1000 + ${storedBytes('s.content', 's.repeat', 's.exceptions', 's.data_ids', 'f.steps')}`,
      from: 'schedules s JOIN flows f ON f.organization_id = s.organization_id AND f.id = s.flow_id',
      where,
      values,
      id: 's.id',
      sorts: SCHEDULE_SORTS,
      search: ['s.name'],
    },
    page,
  )
  return { ...found, rows: await withFlows(tx, found.rows) }
}

/** A visible schedule of the organization, or null. A lock keeps it from changing until the transaction ends. */
export async function findSchedule(
  tx: Queryable,
  id: string,
  visible: VisibleHubs,
  lock: '' | 'FOR UPDATE' = '',
): Promise<Schedule | null> {
  const { where, values, add, placeholder } = conditions()
  add('s.id = ?', id)
  where.push(...hubConditions('s.hub_id', visible, placeholder))
  const rows = await tx.query<Row>(
    `SELECT ${COLUMNS} FROM schedules s WHERE ${where.join(' AND ')} ${lock}`,
    values,
  )
  const [schedule] = await withFlows(tx, rows)
  return schedule ?? null
}

/** The schedules with these identifiers, in the given order. */
export async function listSchedulesById(tx: Queryable, ids: readonly string[]): Promise<Schedule[]> {
  const rows = await tx.query<Row>(
    `SELECT ${COLUMNS} FROM schedules s WHERE s.id = ANY($1::uuid[]) ORDER BY array_position($1, s.id)`,
    [ids],
  )
  return withFlows(tx, rows)
}

/** Returns the identifiers in the given order. */
export async function insertSchedules(
  tx: Queryable,
  organizationId: string,
  given: readonly (NewSchedule & { isSample?: boolean })[],
): Promise<string[]> {
  const rows = given.map(schedule => ({ ...schedule, id: newId(), organizationId }))
  if (rows.length > 0) await tx.orm.insert(schedules).values(rows)
  return rows.map(row => row.id)
}

/** Changes a schedule. Earlier failures are tried again at once. */
export async function updateSchedule(tx: Queryable, id: string, change: NewSchedule): Promise<void> {
  await tx.orm
    .update(schedules)
    .set({ ...change, failures: 0, retryAt: null, lastError: null, updatedAt: sql`now()` })
    .where(eq(schedules.id, id))
}

export async function deleteSchedule(tx: Queryable, id: string): Promise<void> {
  await tx.orm.delete(schedules).where(eq(schedules.id, id))
}

/** The defaults of a schedule. */
export interface ScheduleDefaults {
  /** The database's clock, in milliseconds since 1970. */
  now: number
  /** The organization's time zone. */
  timezone: string
  /** The flow of a task that names none; null if there is no flow yet. */
  flowId: string | null
}

/** In one round trip, since every write begins with it. */
export async function readScheduleDefaults(tx: Queryable): Promise<ScheduleDefaults> {
  const [row] = await tx.query<ScheduleDefaults>(
    `SELECT o.time_zone AS timezone, (extract(epoch FROM now()) * 1000)::float8 AS now,
       (SELECT id FROM flows ORDER BY is_default DESC, id LIMIT 1) AS "flowId" FROM organizations o`,
  )
  return row as ScheduleDefaults
}

/** Deletes the sample schedules. Returns their number. */
export async function deleteSampleSchedules(tx: Queryable): Promise<number> {
  return (await tx.query('DELETE FROM schedules WHERE is_sample RETURNING id')).length
}

/** Organizations with a due schedule, the longest waiting first. This cheap query runs again and again. */
export async function listDueOrganizations(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ organizationId: string }>(
    `SELECT organization_id AS "organizationId" FROM schedules
     WHERE next_run_at IS NOT NULL AND greatest(next_run_at, retry_at) <= now()
     GROUP BY organization_id ORDER BY min(greatest(next_run_at, retry_at))`,
  )
  return rows.map(({ organizationId }) => organizationId)
}

/** A due schedule, locked until the transaction ends. */
export type DueSchedule = Omit<Schedule, 'flow'> & {
  nextRunAt: Date
  failures: number
  /** The clock of the database, in milliseconds since 1970. */
  now: number
}

/** The organization's longest due schedule that is not locked, or null; with `id` only that one, if it is due. */
export async function claimSchedule(
  tx: Queryable,
  organizationId: string,
  id: string | null = null,
): Promise<DueSchedule | null> {
  const [row] = await tx.query<DueSchedule>(
    `SELECT ${shownColumns(schedules, 's', ['retryAt'])}, (extract(epoch FROM now()) * 1000)::float8 AS now
     FROM schedules s
     WHERE organization_id = $1 AND next_run_at IS NOT NULL AND greatest(next_run_at, retry_at) <= now()
       AND ($2::uuid IS NULL OR id = $2)
     ORDER BY greatest(next_run_at, retry_at) LIMIT 1 FOR UPDATE SKIP LOCKED`,
    [organizationId, id],
  )
  return row ?? null
}

/** Advances a schedule whose tasks are created up to `lastRunAt`. */
export async function moveSchedule(
  tx: Queryable,
  id: string,
  to: { nextRunAt: Date | null; lastRunAt: Date | null; skipped: number },
): Promise<void> {
  await tx.orm
    .update(schedules)
    .set({ ...to, failures: 0, retryAt: null, lastError: null })
    .where(eq(schedules.id, id))
}

/**
 * Stores in a schedule why its task could not be created, and delays the next attempt, unless it was changed or moved on
 * since it was read. A time that was read has no microseconds.
 */
export async function delaySchedule(
  tx: Queryable,
  { _id, nextRunAt, updatedAt }: Pick<DueSchedule, '_id' | 'nextRunAt' | 'updatedAt'>,
  { error, delayMs }: { error: string; delayMs: number },
): Promise<void> {
  await tx.query(
    `UPDATE schedules SET failures = failures + 1, last_error = $2,
       retry_at = now() + make_interval(secs => $3::float8 / 1000)
     WHERE id = $1 AND date_trunc('milliseconds', next_run_at) = $4 AND date_trunc('milliseconds', updated_at) = $5`,
    [_id, error, delayMs, nextRunAt, updatedAt],
  )
}
