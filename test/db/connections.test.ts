import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import type { Driver } from '../../db/drivers/driver.ts'
import { isAway } from '../../db/errors.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { until } from '../support/wait.ts'

const missing = postgresMissing()
/** Binary COPY without a row: signature, flags, no header extension, and the end. */
const EMPTY = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\xff\xff', 'latin1')

describe.skipIf(missing)(`A connection to PostgreSQL${missing ? ` (${missing})` : ''}`, () => {
  let files: TestDatabase
  let db: Database & { driver: Driver }
  /** With separate connections. */
  let other: Database & { driver: Driver }
  beforeEach(async () => {
    files = await createTestDatabase('postgres')
    db = await openTestDatabase(files)
    other = await openTestDatabase(files)
  })
  afterEach(async () => {
    await db.close()
    await other.close()
    await files.remove()
  })

  const terminate = (where: string) =>
    other.system.query<{ done: boolean }>(
      `SELECT pg_terminate_backend(pid, 5000) AS done FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${where}`,
    )

  it('that is lost between two statements of a transaction fails that transaction alone', async () => {
    const failure = await db.system
      .transaction(async tx => {
        await tx.query('SELECT 1')
        expect(await terminate(`state = 'idle in transaction'`)).toEqual([{ done: true }])
        await new Promise(resolve => setTimeout(resolve, 100))
        return tx.query('SELECT 2')
      })
      .catch(error => error)
    expect(isAway(failure)).toBe(true)
    expect(await db.system.transaction(tx => tx.query('SELECT 3 AS three'))).toEqual([{ three: 3 }])
  })

  it('that is lost in the middle of COPY fails that batch alone', async () => {
    const lock = new pg.Client({ connectionString: files.url })
    await lock.connect()
    await lock.query('BEGIN; LOCK TABLE hubs IN SHARE MODE')
    const copying = db.writer
      .copyIn({ into: 'hubs (name)', rows: EMPTY, afterwards: 'SELECT 1' })
      .catch(error => error)
    const waiting = `wait_event_type = 'Lock' AND query LIKE 'COPY%'`
    await until('it waits for the lock', async () => (await terminate(waiting)).length === 1)
    expect(isAway(await copying)).toBe(true)
    await lock.end()
    expect(await db.writer.query('SELECT 3 AS three')).toEqual([{ three: 3 }])
  })

  it('that breaks under a write is away, not unwilling', () => {
    const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE', errno: -32, syscall: 'write' })
    expect(isAway(broken)).toBe(true)
    expect(isAway(new Error('Failed query', { cause: broken }))).toBe(true)
  })

  it('keeps nothing of a COPY that is done', async () => {
    const copy = () => db.writer.copyIn({ into: 'hubs (name)', rows: EMPTY, afterwards: 'SELECT 1' })
    // pg keeps a query, with all its rows, while the timer of its timeout runs.
    const timers = () => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length
    await copy()
    const before = timers()
    for (let n = 0; n < 60; n++) await copy()
    // The server that other files keep open in this process has timers too.
    expect(timers() - before).toBeLessThan(30)
  })
})
