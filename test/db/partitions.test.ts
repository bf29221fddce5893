import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Database } from '../../db/client.ts'
import { migrate } from '../../db/migrate.ts'
import { createPartitions, dropOldPartitions, listPartitions, neededPartitions } from '../../db/partitions.ts'
import { setRetention } from '../../db/retention.ts'
import type { JobContext } from '../../src/jobs/kind.ts'
import { upkeepJob } from '../../src/upkeep.ts'
import { createWriter } from '../../stream/writer.ts'
import { createOwnPostgres } from '../integrity/own-postgres.ts'
import { startPostgres } from '../services/postgres.ts'
import type { Control } from '../services/services.ts'
import { point } from '../stream/entries.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { until } from '../support/wait.ts'

const DAY_MS = 24 * 3600_000
const now = Date.now()

/** The tests of a kind share its database: each attempt has its own subjects. */
let subjects = 0

const insert = (db: Database, subject: number, ...times: number[]) =>
  db.writer.query(
    `INSERT INTO points (subject_key, recorded_at, received_at, position)
     SELECT $1, to_timestamp(t / 1000), now(), ST_SetSRID(ST_MakePoint(1, 2), 4326) FROM unnest($2::float8[]) t`,
    [subject, times],
  )
const count = async (db: Database, subject: number) =>
  (
    await db.system.query<{ n: number }>('SELECT count(*)::int AS n FROM points WHERE subject_key = $1', [
      subject,
    ])
  )[0]?.n

describe.each([
  { name: 'TimescaleDB', kind: 'postgres', plain: false },
  { name: 'plain PostgreSQL', kind: 'postgres', plain: true },
  { name: 'PGlite', kind: 'pglite', plain: false },
] as const)('Partitions on $name', ({ kind, plain }) => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let files: TestDatabase
  let db: Database
  beforeAll(async () => {
    if (missing) return
    files = plain ? await createPlain() : await createTestDatabase(kind)
    db = await openTestDatabase(files)
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })
  const test = (name: string, work: () => Promise<void>) =>
    it(name, async context => {
      if (missing) return context.skip(missing)
      await work()
    })

  test('take a point of any age inside the year, and a little ahead', async () => {
    const times = Array.from({ length: 365 }, (_, days) => now - days * DAY_MS)
    const subject = ++subjects
    await insert(db, subject, ...times, now + 600_000)
    expect(await count(db, subject)).toBe(366)
  })

  test('are dropped whole when all of them is over a year old, while points arrive and nobody waits', async () => {
    // A database that has run for a while: created in the past, and full of points of that time.
    await createPartitions(db, now - 60 * DAY_MS)
    const [old, arriving] = [++subjects, ++subjects]
    await insert(db, old, ...Array.from({ length: 90 }, (_, days) => now - (330 + days) * DAY_MS))

    const reader = kind === 'postgres' ? await openSlowReader(files.url as string) : undefined
    let written = 0
    let done = false
    const writing = (async () => {
      for (; !done; written++) await insert(db, arriving, now - written * 1000)
    })()
    const before = written
    const dropping = dropOldPartitions(db, now)
    // While the reader is open, a partition cannot be dropped, but writes must not wait for that.
    if (reader) await until('points are written', () => written > before + 50)
    await reader?.end()
    const dropped = [...(await dropping), ...(await dropOldPartitions(db, now))]
    const meanwhile = written - before
    done = true
    await writing

    expect(dropped.length).toBeGreaterThan(5)
    expect(meanwhile, 'points written, at least one between two partitions').toBeGreaterThanOrEqual(
      dropped.length,
    )
    const [oldest] = await db.system.query<{ days: number }>(
      `SELECT extract(epoch FROM to_timestamp($1::float8 / 1000) - min(recorded_at))::float8 / 86400 AS days FROM points`,
      [now],
    )
    // A week that is partly within the year stays whole.
    expect(oldest?.days).toBeGreaterThanOrEqual(364)
    expect(oldest?.days).toBeLessThan(365 + 7)
    expect(await count(db, old)).toBeLessThan(90 - 5 * 7)
    expect(await dropOldPartitions(db, now)).toEqual([])
  })
})

describe.each([
  { name: 'plain PostgreSQL', kind: 'postgres' },
  { name: 'PGlite', kind: 'pglite' },
] as const)('On $name', ({ kind }) => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  let files: TestDatabase
  let db: Database
  beforeAll(async () => {
    if (missing) return
    files = kind === 'postgres' ? await createPlain() : await createTestDatabase(kind)
    db = await openTestDatabase(files)
    // The embedded one is a copy that was prepared in this month: after two weeks its clock would have leapt.
    await db.system.query('UPDATE clock SET seen_at = now(), doubted_since = NULL')
  })
  afterEach(() => void vi.useRealTimers())
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })
  const test = (name: string, work: () => Promise<void>) =>
    it(name, async context => {
      if (missing) return context.skip(missing)
      await work()
    })
  const names = async () => (await listPartitions(db.system)).map(partition => partition.name)
  const run = () => {
    const job = { signal: new AbortController().signal } as JobContext<unknown>
    return upkeepJob(db, []).run(job)
  }

  // The embedded database does the same, but more slowly.
  if (kind === 'postgres')
    test('upkeep deletes all that has had its time, however much was made since the last one', async () => {
      await db.system.query(
        `INSERT INTO jobs (id, kind, status, finished_at)
         SELECT gen_random_uuid(), 'old', 'done', now() - interval '8 days' FROM generate_series(1, 50001)`,
      )
      await run()
      expect(await db.system.query(`SELECT FROM jobs WHERE kind = 'old'`)).toEqual([])
    })

  test('a good point whose partition is missing is stored, and not refused', async () => {
    const at = now - 100 * DAY_MS
    const [gone] = (await listPartitions(db.system)).filter(({ to }) => to.getTime() > at)
    await db.system.query(`DROP TABLE ${gone?.name}`)
    const subject = ++subjects
    const lost = point(subject, at)
    const outcomes = await createWriter({ db }).store({
      partition: 0,
      records: [{ offset: 1, entries: [point(subject, now - DAY_MS), lost, point(subject, now)] }],
      nextOffset: 2,
    })
    expect(outcomes.size).toBe(0)
    expect(await count(db, subject)).toBe(3)
    expect(await names()).toContain(gone?.name)
  })

  test('a process whose clock is 14 months ahead drops nothing', async () => {
    // The database may be a copy of one that was prepared on another day.
    await run()
    const before = await names()
    vi.useFakeTimers({ toFake: ['Date'], now: now + 425 * DAY_MS })
    await run()
    expect(await names()).toEqual(before)
  })

  test('a clock of the database that leaps ahead drops nothing before it has stood there for days', async () => {
    await createPartitions(db, now - 60 * DAY_MS)
    const before = await names()
    await db.system.query(`UPDATE clock SET seen_at = now() - interval '14 months', doubted_since = NULL`)
    await expect(run()).rejects.toMatchObject({
      errors: [expect.objectContaining({ message: expect.stringMatching(/42\d days after/) })],
    })
    await expect(run()).rejects.toThrow()
    expect(await names()).toEqual(before)
    await db.system.query(`UPDATE clock SET doubted_since = now() - interval '3 days'`)
    await run()
    expect((await names()).length).toBeLessThan(before.length)
    await run()
  })
})

describe('Partitions', () => {
  it('reach from the oldest point that may come to a month ahead, without gaps', () => {
    const needed = neededPartitions(now)
    expect((needed[0]?.from.getTime() as number) <= now - 365 * DAY_MS).toBe(true)
    expect((needed.at(-1)?.to.getTime() as number) >= now + 30 * DAY_MS).toBe(true)
    for (const [index, { to }] of needed.entries()) {
      if (needed[index + 1]) expect(needed[index + 1]?.from).toEqual(to)
    }
  })

  it('reach as far as RETENTION_DAYS', () => {
    setRetention(800)
    try {
      expect((neededPartitions(now)[0]?.from.getTime() as number) <= now - 800 * DAY_MS).toBe(true)
    } finally {
      setRetention(365)
    }
  })

  it('that are half detached when a process dies are finished by the next run', async context => {
    const missing = postgresMissing()
    if (missing) return context.skip(missing)
    const files = await createPlain()
    const db = await openTestDatabase(files)
    await createPartitions(db, now - 30 * DAY_MS)
    const [oldest] = await listPartitions(db.system)
    const reader = await openSlowReader(files.url as string)
    const dying = new pg.Client({ connectionString: files.url })
    dying.on('error', () => {})
    await dying.connect()
    const detach = dying
      .query(`ALTER TABLE points DETACH PARTITION ${oldest?.name} CONCURRENTLY`)
      .catch(() => {})
    await until('it is half detached', async () => (await listPartitions(db.system))[0]?.detaching === true)
    await db.system.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'ALTER TABLE points DETACH%'
         AND pid <> pg_backend_pid()`,
    )
    await detach
    await reader.end()
    expect((await listPartitions(db.system))[0]?.detaching).toBe(true)
    expect(await dropOldPartitions(db, now)).toContain(oldest?.name)
    await db.close()
    await files.remove()
  })
})

/** Started by the first test that needs it. */
let plainServer: ReturnType<typeof startPostgres> | undefined
afterAll(async () => {
  const server = await plainServer
  if (server?.available) await server.stop()
})

/** A migrated database there that nobody uses: the others are its copies. */
let migrated: Promise<TestDatabase> | undefined
afterAll(async () => (await migrated)?.remove())

/** A migrated database on a server without TimescaleDB. */
async function createPlain(): Promise<TestDatabase> {
  plainServer ??= startPostgres({ own: true, timescaledb: false })
  const server = await plainServer
  if (!server.available || !server.control) throw new Error('PostgreSQL cannot be had here')
  migrated ??= createMigrated(server.url, server.control)
  const { url } = await migrated
  const name = `copy_${Math.random().toString(36).slice(2, 10)}`
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${new URL(url as string).pathname.slice(1)}`)
  await client.end()
  const copy = new URL(server.url)
  copy.pathname = name
  const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
  const remove = async () => rmSync(dataDir, { recursive: true, force: true })
  return { kind: 'postgres', url: copy.href, dataDir, remove }
}

async function createMigrated(url: string, control: Control): Promise<TestDatabase> {
  const { database } = await createOwnPostgres(url, control)
  const db = await openTestDatabase(database)
  await migrate(db.driver)
  await createPartitions(db, now)
  await db.close()
  return database
}

/** A transaction that has read every partition and does not end. */
async function openSlowReader(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('BEGIN')
  await client.query('SELECT count(*) FROM points')
  return client
}
