import { afterAll, beforeAll, beforeEach } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { insertJob } from '../../db/queries/jobs.ts'
import type { JobContext, JobKind } from '../../src/jobs/kind.ts'
import { type JobRunner, startJobs } from '../../src/jobs/runner.ts'
import { createTestDatabase, openTestDatabase, postgresMissing, type TestDatabase } from './database.ts'
import { until } from './wait.ts'

/** A runner that polls often. Its leases outlast a pause of the machine, so that no job is taken away by chance. */
export const FAST = { leaseMs: 20_000, pollMs: 50 }

/** A kind of job, whose jobs `add` queues. */
export function kind(
  run: (context: JobContext<never>) => Promise<unknown>,
  more: Partial<JobKind> = {},
): JobKind {
  return {
    kind: 'test',
    slots: 4,
    slotsPerRoot: 2,
    attempts: 3,
    backoffMs: () => 10,
    timeoutMs: 120_000,
    run: run as JobKind['run'],
    ...more,
  }
}

/** Runners on a separate database with three organizations, and a table that jobs write to. */
export function useJobs(which: 'postgres' | 'pglite') {
  const missing = which === 'postgres' ? postgresMissing() : undefined
  let database: TestDatabase
  // Filled later, so that a file names them once and before anything runs.
  const db = {} as Database
  const organizations: string[] = []
  const runners: JobRunner[] = []

  beforeAll(async () => {
    if (missing) return
    database = await createTestDatabase(which)
    Object.assign(db, await openTestDatabase(database))
    await db.system.query('CREATE TABLE done (name text, at timestamptz DEFAULT clock_timestamp())')
    await db.system.query('GRANT SELECT, INSERT ON done TO fieldline_tenant')
  })
  beforeEach(async context => {
    if (missing) return context.skip(missing)
    await stopAll()
    await db.system.query('DELETE FROM jobs')
    await db.system.query('DELETE FROM done')
    organizations.splice(0, 3, newId(), newId(), newId())
    for (const id of organizations) {
      await db.system.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [id, 'An organization'])
    }
  })
  afterAll(async () => {
    if (missing) return
    await stopAll()
    await db.close()
    await database.remove()
  })

  async function stopAll(): Promise<void> {
    await Promise.all(runners.splice(0).map(runner => runner.stop()))
  }
  async function run(kinds: JobKind[], options: object = FAST): Promise<JobRunner> {
    const runner = await startJobs({ db, kinds, alone: false, onError: () => {}, ...options })
    runners.push(runner)
    return runner
  }
  const add = (organization: number | null, payload: unknown = {}, more: object = {}) =>
    db.system.transaction(tx =>
      insertJob(tx, {
        kind: 'test',
        organizationId: organization === null ? null : (organizations[organization] as string),
        payload,
        ...more,
      }),
    ) as Promise<string>
  const read = async (id: string) => {
    const [row] = await db.system.query<{
      status: string
      attempts: number
      error: string | null
      result: unknown
      progress: unknown
    }>('SELECT status, attempts, error, result, progress FROM jobs WHERE id = $1', [id])
    return row
  }
  const ends = (id: string, status: string) =>
    until(`the job is ${status}`, async () => (await read(id))?.status === status)
  const mark = (context: JobContext<never>, name: string, progress?: unknown) =>
    context.commit(tx => tx.query('INSERT INTO done (name) VALUES ($1)', [name]), progress)
  const marks = async () =>
    (await db.system.query<{ name: string }>('SELECT name FROM done ORDER BY at')).map(({ name }) => name)
  return { db, organizations, run, add, read, ends, mark, marks }
}
