import pg from 'pg'
import { createDatabase, type Database, newId, type Queryable } from '../db/client.ts'
import { openPostgres } from '../db/drivers/postgres.ts'
import { listTasks, TASK_SORTS, type TaskFilter, type TaskVisibility } from '../db/queries/tasks.ts'
import { readPageRequest } from '../src/http/lists.ts'
import { count, median, ms, progress, type Row } from './report.ts'
import type { Tier } from './tiers.ts'

const SIZES = [10_000, 1_000_000] as const
/** Tasks of another organization in the same table. */
const OTHERS = 100_000
const REPEAT = 9

/** Three years of work: tasks long past are done, and the last hundredth is still to do. */
const FILL = `
  INSERT INTO tasks (id, organization_id, code, name, status, flow_id, hub_id, team_id, assignee_id, vehicle_id,
    schedule_id, position, address, start_time, end_time, content, history)
  SELECT ('01800000-' || lpad(to_hex(n >> 12), 4, '0') || '-7' || lpad(to_hex(n & 4095), 3, '0') || '-8000-' ||
      lpad(to_hex(n), 12, '0'))::uuid, $1, 'T-' || n, 'Deliver ' || (n % 7) || ' parcels to ' || md5(n::text),
    CASE WHEN n > $2 * 0.99 THEN (ARRAY['unassigned', 'assigned', 'accepted', 'on_the_way', 'in_progress'])[1 + n % 5]
      WHEN n % 20 = 0 THEN 'failed' WHEN n % 50 = 1 THEN 'cancelled' ELSE 'completed' END,
    $3, ($4::uuid[])[1 + n % 20], ($5::uuid[])[1 + n % 50], ($6::uuid[])[1 + n % 500], ($7::uuid[])[1 + n % 200],
    CASE WHEN n % 4 = 0 THEN ($8::uuid[])[1 + n % 40] END,
    ST_SetSRID(ST_MakePoint(5 + (n::int8 * 7919 % 100000) / 10000.0, 47 + (n::int8 * 104729 % 80000) / 10000.0), 4326),
    (n % 100) || ' Main Street', timestamptz '2024-01-01' + n * (interval '3 years' / $2),
    timestamptz '2024-01-01' + n * (interval '3 years' / $2) + interval '1 hour', jsonb_build_object('parcels', n % 7),
    jsonb_build_array(jsonb_build_object('status', 'completed', 'at', '2026-01-01T00:00:00.000Z', 'fields', '{}'::jsonb))
  FROM generate_series($9::int4, least($10::int4, $2::int4)) n`
/** Rows of one statement: the service's connections wait no longer. */
const STEP = 10_000

interface Filled {
  organizationId: string
  users: string[]
  hubs: string[]
  teams: string[]
  vehicles: string[]
  schedules: string[]
  flowId: string
}

/**
 * Measures lists of tasks with ten thousand and with a million: each filter must use an index, and its cost must depend
 * on the page.
 */
export async function benchTasks(tier: Tier): Promise<Row[]> {
  const found: Map<string, number[]> = new Map()
  const scanned = new Set<string>()
  for (const size of SIZES) {
    const store = await tier.fresh()
    const url = store.url as string
    const db = createDatabase(
      openPostgres({ url, directUrl: url, onError: error => progress(String(error)) }),
      error => progress(String(error)),
    )
    try {
      progress(`filling ${count(size)} tasks`)
      const filled = await fill(db, size, url)
      for (const [name, filter, more] of casesOf(filled, size)) {
        const times = await measure(() => list(db, filled, filter, more))
        found.set(name, [...(found.get(name) ?? []), times])
        const plans = await explain(db, asked => list(asked, filled, filter, more))
        if (size === SIZES[1] && plans.includes('Seq Scan on tasks')) scanned.add(name)
        progress(`${count(size)}: ${name} ${ms(times)}`)
      }
    } finally {
      await db.close()
      await store.remove()
    }
  }
  return [...found].map(([name, [small = 0, large = 0]]) => ({
    figure: `tasks, ${name}`,
    ours: `${ms(large)} of ${count(SIZES[1])}`,
    beside: `${ms(small)} of ${count(SIZES[0])}`,
    ratio: large / small,
    goal: '',
    note: scanned.has(name) ? 'reads the table' : '',
  }))
}

/** Fills a database with `size` tasks, and with up to `OTHERS` of another organization. */
export async function fill(db: Database, size: number, url: string): Promise<Filled> {
  const { system } = db
  const indexes = await system.query<{ made: string; name: string }>(
    `SELECT indexname AS name, indexdef AS made FROM pg_indexes WHERE tablename = 'tasks' AND indexdef ~ 'USING gi'`,
  )
  for (const { name } of indexes) await system.query(`DROP INDEX ${name}`)
  await system.query('ALTER TABLE tasks DISABLE TRIGGER USER')
  await insert(system, Math.min(size, OTHERS))
  const filled = await insert(system, size)
  await system.query('ALTER TABLE tasks ENABLE TRIGGER USER')
  // A connection without the service's statement timeout: creating the indexes takes a minute.
  const client = new pg.Client(url)
  await client.connect()
  for (const { made } of indexes) await client.query(made)
  await client.query('VACUUM ANALYZE tasks')
  await client.end()
  return filled
}

async function insert(system: Database['system'], size: number): Promise<Filled> {
  const ids = (length: number) => Array.from({ length }, () => newId())
  const [organizationId, flowId, roleId] = ids(3) as [string, string, string]
  const [users, hubs, teams, vehicles, schedules] = [ids(500), ids(20), ids(50), ids(200), ids(40)] as [
    string[],
    string[],
    string[],
    string[],
    string[],
  ]
  await system.query(`INSERT INTO organizations (id, name) VALUES ($1, 'Bench')`, [organizationId])
  await system.query(`INSERT INTO roles (id, organization_id, name) VALUES ($2, $1, 'Bench')`, [
    organizationId,
    roleId,
  ])
  await system.query(
    `INSERT INTO subjects (id, organization_id, type) SELECT unnest($2::uuid[]), $1, 'user'`,
    [organizationId, users],
  )
  await system.query(
    `WITH people AS (INSERT INTO accounts (id, email) SELECT gen_random_uuid(), id || '@bench.example'
       FROM unnest($2::uuid[]) id RETURNING id, email)
     INSERT INTO users (id, organization_id, account_id, role_id, name)
     SELECT split_part(email, '@', 1)::uuid, $1, id, $3, 'Bench' FROM people`,
    [organizationId, users, roleId],
  )
  await system.query(`INSERT INTO flows (id, organization_id, name, steps) VALUES ($2, $1, 'Bench', '[]')`, [
    organizationId,
    flowId,
  ])
  await system.query(
    `INSERT INTO hubs (id, organization_id, name, lat, lng) SELECT unnest($2::uuid[]), $1, 'Bench', 0, 0`,
    [organizationId, hubs],
  )
  await system.query(
    `INSERT INTO teams (id, organization_id, name) SELECT id, $1, id::text FROM unnest($2::uuid[]) id`,
    [organizationId, teams],
  )
  await system.query(
    `INSERT INTO vehicles (id, organization_id, name) SELECT unnest($2::uuid[]), $1, 'Bench'`,
    [organizationId, vehicles],
  )
  await system.query(
    `INSERT INTO schedules (id, organization_id, name, flow_id, repeat, start_time, timezone)
     SELECT unnest($2::uuid[]), $1, 'Bench', $3, '{"frequency": "daily"}', now(), 'UTC'`,
    [organizationId, schedules, flowId],
  )
  const lists = [hubs, teams, users, vehicles, schedules]
  for (let from = 1; from <= size; from += STEP)
    await system.query(FILL, [organizationId, size, flowId, ...lists, from, from + STEP - 1])
  return { organizationId, users, hubs, teams, vehicles, schedules, flowId }
}

type More = { search?: string; sort?: string; visibility?: Partial<TaskVisibility> }

export function casesOf(filled: Filled, size: number): [string, TaskFilter, More?][] {
  const { users, hubs, teams, vehicles, schedules, flowId } = filled
  const day = Date.parse('2026-06-15T00:00:00Z')
  const DAY_MS = 24 * 3600_000
  const own = { userId: users[7] as string, teamIds: [teams[7] as string] }
  return [
    ['first page', {}],
    ['first page by start', {}, { sort: 'startTime' }],
    ['first page by name', {}, { sort: 'name' }],
    ['completed', { statuses: ['completed'] }],
    ['unassigned, 1 in 500', { statuses: ['unassigned'] }],
    ['two open statuses', { statuses: ['accepted', 'on_the_way'] }],
    ['no such status', { statuses: ['nothing'] }],
    ['a flow', { flowIds: [flowId] }],
    ['a hub', { hubIds: [hubs[3] as string] }],
    ['a team', { teamIds: [teams[3] as string] }],
    ['an assignee', { assigneeIds: [users[3] as string] }],
    ['a vehicle', { vehicleIds: [vehicles[3] as string] }],
    ['a schedule', { scheduleIds: [schedules[0] as string] }],
    ['a day', { from: day, to: day + DAY_MS }],
    ['a day by start', { from: day, to: day + DAY_MS }, { sort: 'startTime' }],
    ['a day of a hub', { from: day, to: day + DAY_MS, hubIds: [hubs[3] as string] }],
    ['a box of a town', { bbox: [13.3, 52.4, 13.5, 52.6] }],
    ['a box of everything', { bbox: [-180, -90, 180, 90] }],
    ['text, one match', {}, { search: `T-${size - 5}` }],
    ['text, no match', {}, { search: 'nobody has this' }],
    ['text, all match', {}, { search: 'main street' }],
    ['what a hub sees', {}, { visibility: { hubIds: [hubs[3] as string] } }],
    ['what a team sees', {}, { visibility: { ...own, scope: 'team' } }],
    ['the own ones', {}, { visibility: { ...own, scope: 'own' } }],
    ['the own ones to do', { statuses: ['accepted'] }, { visibility: { ...own, scope: 'own' } }],
  ]
}

export function list(
  db: Pick<Database, 'system' | 'isOneSession'>,
  filled: Filled,
  filter: TaskFilter,
  more: More = {},
) {
  const { search, sort = '-createdAt', visibility } = more
  const page = readPageRequest({ limit: 50, search, sort }, TASK_SORTS)
  const all: TaskVisibility = { userId: filled.users[0] as string, hubIds: null, teamIds: [], scope: 'all' }
  return listTasks(db as Database, filled.organizationId, { ...all, ...visibility }, filter, page)
}

async function measure(work: () => Promise<unknown>): Promise<number> {
  await work()
  const times: number[] = []
  for (let round = 0; round < REPEAT; round++) {
    const begun = performance.now()
    await work()
    times.push(performance.now() - begun)
  }
  return median(times)
}

/** The plan of the query that finds a page's rows; the count may scan, because it stops at 1,001. */
export async function explain(
  db: Database,
  work: (asked: Pick<Database, 'system' | 'isOneSession'>) => Promise<unknown>,
): Promise<string> {
  const plans: string[] = []
  const asked: Queryable = {
    orm: db.system.orm,
    async query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
      if (!text.includes('"pageSort"')) return db.system.query<Row>(text, values)
      const lines = await db.system.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, values)
      plans.push(...lines.map(line => line['QUERY PLAN']))
      return db.system.query<Row>(text, values)
    },
  }
  await work({ isOneSession: false, system: Object.assign(asked, { transaction: db.system.transaction }) })
  return plans.join('\n')
}
