import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../../db/client.ts'
import { ALL_HUBS } from '../../../db/hub-rule.ts'
import { findSchedule, type Schedule, updateSchedule } from '../../../db/queries/schedules.ts'
import { createScheduler } from '../../../fair/scheduler.ts'
import { runSchedule, scheduleJob } from '../../../src/resources/schedules/job.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../../support/database.ts'
import { addPlanning, addSchedule, listOccurrences, type Planning } from '../../support/schedules.ts'
import { until } from '../../support/wait.ts'

const HOUR = 3_600_000
const ago = (hours: number) => new Date(Date.now() - hours * HOUR)
const scheduler = createScheduler()
const fail = (error: unknown) => {
  throw error
}

describe.each(['postgres', 'pglite'] as const)('Schedules on %s', which => {
  const missing = which === 'postgres' ? postgresMissing() : undefined
  let database: TestDatabase
  let db: Database
  let planning: Planning

  beforeAll(async () => {
    if (missing) return
    database = await createTestDatabase(which)
    db = await openTestDatabase(database)
  })
  beforeEach(async context => {
    if (missing) return context.skip(missing)
    planning = await addPlanning(db)
  })
  afterAll(async () => {
    if (missing) return
    await db.close()
    await database.remove()
  })

  const run = (of = planning) => runSchedule(db, scheduler, of.organizationId, fail)
  const runAll = async (of = planning) => {
    let made = 0
    for (let some = await run(of); some !== null; some = await run(of)) made += some
    return made
  }
  const read = async (id: string) => {
    const [row] = await db.system.query<{
      nextRunAt: Date | null
      lastRunAt: Date | null
      skipped: number
      lastError: string | null
    }>(
      `SELECT next_run_at AS "nextRunAt", last_run_at AS "lastRunAt", skipped, last_error AS "lastError"
       FROM schedules WHERE id = $1`,
      [id],
    )
    return row
  }
  const made = async (id: string) =>
    (
      await db.system.query<{ at: Date }>(
        'SELECT scheduled_for AS at FROM tasks WHERE schedule_id = $1 ORDER BY 1',
        [id],
      )
    ).map(({ at }) => at.getTime())

  it('make a task of each occurrence that is due, and know which one is next', async () => {
    const startTime = ago(49.5)
    const id = await addSchedule(db, planning, {
      startTime,
      repeat: { frequency: 'daily', interval: 1 },
      duration: 5400,
      location: { lat: 52.5, lng: 13.4, address: 'Here' },
      content: { note: 'Mind the dog' },
    })
    expect(await runAll()).toBe(3)
    const times = [0, 24, 48].map(hours => startTime.getTime() + hours * HOUR)
    expect(await made(id)).toEqual(times)
    expect(await read(id)).toEqual({
      nextRunAt: new Date(startTime.getTime() + 72 * HOUR),
      lastRunAt: new Date(times[2] as number),
      skipped: 0,
      lastError: null,
    })
    const [task] = await db.system.query(
      `SELECT name, status, flow_id AS "flowId", start_time AS "startTime", end_time AS "endTime", content, code,
         ST_Y(position) AS lat, address, history->0->'by' AS by FROM tasks WHERE schedule_id = $1 ORDER BY id LIMIT 1`,
      [id],
    )
    expect(task).toEqual({
      name: 'Scheduled',
      status: 'unassigned',
      flowId: planning.flowId,
      startTime,
      endTime: new Date(startTime.getTime() + 1.5 * HOUR),
      content: { note: 'Mind the dog' },
      code: 'T-1',
      lat: 52.5,
      address: 'Here',
      by: null,
    })
    expect(await run()).toBeNull()
  })

  it('end with their last occurrence', async () => {
    const startTime = ago(10)
    const id = await addSchedule(db, planning, { startTime, endTime: ago(7.5) })
    expect(await runAll()).toBe(3)
    expect(await read(id)).toMatchObject({
      nextRunAt: null,
      lastRunAt: new Date(startTime.getTime() + 2 * HOUR),
    })
  })

  // The embedded database does the same, but more slowly.
  if (which === 'postgres')
    it('make those that were missed, the last thousand, and count the rest', async () => {
      const startTime = ago(0.5)
      const id = await addSchedule(db, planning, { startTime })
      // As if nobody had looked for 1,500 hours.
      await db.system.query(
        `UPDATE schedules SET start_time = start_time - interval '1500 hours', next_run_at = next_run_at - interval '1500 hours'
       WHERE id = $1`,
        [id],
      )
      expect(await runAll()).toBe(1000)
      expect(await read(id)).toMatchObject({
        skipped: 501,
        lastRunAt: startTime,
        nextRunAt: new Date(startTime.getTime() + HOUR),
      })
      expect((await made(id))[0]).toBe(startTime.getTime() - 999 * HOUR)
    })

  it('make nothing twice that is there', async () => {
    const startTime = ago(5.5)
    const id = await addSchedule(db, planning, { startTime })
    await runAll()
    await db.system.query('UPDATE schedules SET next_run_at = start_time WHERE id = $1', [id])
    await runAll()
    expect(await made(id)).toHaveLength(6)
  })

  it('tell what keeps them from their tasks, try again, and keep no other waiting', async () => {
    const typeId = newId()
    const dataId = newId()
    await db.system.query(
      `INSERT INTO data_types (id, organization_id, name, type, fields) VALUES ($1, $2, 'Customer', 'customer', '[]')`,
      [typeId, planning.organizationId],
    )
    const failing = await addSchedule(db, planning, {
      startTime: ago(9.5),
      dataIds: [dataId],
      dataTypeIds: [typeId],
    })
    const other = await addSchedule(db, planning, { startTime: ago(2.5) })
    const due = (await read(failing))?.nextRunAt
    await runAll()
    expect(await made(other)).toHaveLength(3)
    expect(await read(failing)).toMatchObject({
      lastError: '1 of its data sources were deleted. Take them out of dataIds.',
      nextRunAt: due,
      lastRunAt: null,
    })
    await db.system.query(
      `INSERT INTO data_records (id, organization_id, data_type_id, data, search) VALUES ($1, $2, $3, '{}', '')`,
      [dataId, planning.organizationId, typeId],
    )
    expect(await run()).toBeNull()
    await db.system.query(`UPDATE schedules SET retry_at = now() WHERE id = $1`, [failing])
    await runAll()
    expect(await made(failing)).toHaveLength(10)
    expect(await read(failing)).toMatchObject({ lastError: null })
  })

  it('that are mended while their task fails are tried again at once, without the old error', async () => {
    const startTime = ago(2.5)
    const broken = { dataIds: [newId()], dataTypeIds: [newId()] }
    const id = await addSchedule(db, planning, { startTime, ...broken })
    let failures = 0
    const mend = () =>
      db.tenant(planning.organizationId, async tx => {
        const before = await findSchedule(tx, id, ALL_HUBS)
        const { _id, flow, lastRunAt, lastError, isSample, createdAt, updatedAt, ...given } =
          before as Schedule
        await updateSchedule(tx, id, { ...given, dataIds: [], dataTypeIds: [] })
      })
    const mending: Database = {
      ...db,
      tenant: (owner, work) =>
        db.tenant(owner, work).catch(async error => {
          failures++
          await mend()
          throw error
        }),
    }
    expect(await runSchedule(mending, scheduler, planning.organizationId, fail)).toBe(0)
    expect(failures).toBe(1)
    expect(await read(id)).toMatchObject({ lastError: null, nextRunAt: startTime })
    expect(await runAll()).toBe(3)
  })

  it('of one organization do not keep those of another waiting', async () => {
    const few = await addPlanning(db)
    const many = await Promise.all([1, 2, 3].map(() => addSchedule(db, planning, { startTime: ago(150.5) })))
    const id = await addSchedule(db, few, { startTime: ago(0.5) })
    const stop = new AbortController()
    const running = scheduleJob(db, scheduler, fail).run({ signal: stop.signal } as never)
    await until('all are made', async () => (await made(many[2] as string)).length === 151)
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow()
    expect(await made(id)).toHaveLength(1)
    const [before] = await db.system.query<{ tasks: number }>(
      `SELECT count(*)::int4 AS tasks FROM tasks t WHERE schedule_id = ANY($1::uuid[])
         AND t.id < (SELECT id FROM tasks WHERE schedule_id = $2)`,
      [many, id],
    )
    expect(before?.tasks).toBeLessThanOrEqual(100)
  })

  it('of one organization that fail again and again do not keep those of another waiting', async () => {
    await db.system.query(
      `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '40001'; END $$`,
    )
    await db.system.query(
      `CREATE TRIGGER refuse BEFORE INSERT ON tasks FOR EACH ROW
         WHEN (NEW.organization_id = '${planning.organizationId}') EXECUTE FUNCTION refuse()`,
    )
    const refused = await addSchedule(db, planning, { startTime: ago(2.5) })
    const id = await addSchedule(db, await addPlanning(db), { startTime: ago(0.5) })
    const stop = new AbortController()
    const failures: unknown[] = []
    const running = scheduleJob(db, scheduler, error => void failures.push(error)).run({
      signal: stop.signal,
    } as never)
    running.catch(() => {})
    try {
      await until(
        'it has failed, and the other is made',
        async () => failures.length > 1 && (await made(id)).length === 1,
      )
      expect(await made(refused)).toEqual([])
    } finally {
      await db.system.query('DROP TRIGGER refuse ON tasks')
    }
    await until('it is made when it can be', async () => (await made(refused)).length === 3)
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow()
  })
})

describe('A clock that is moved', () => {
  const missing = postgresMissing()
  let database: TestDatabase
  let db: Database

  beforeAll(async () => {
    if (missing) return
    database = await createTestDatabase('postgres')
    const setUp = await openTestDatabase(database)
    await setUp.system.query('CREATE SCHEMA moved')
    await setUp.system.query("CREATE TABLE moved.clock AS SELECT interval '0 s' AS by")
    for (const name of ['now', 'clock_timestamp'])
      await setUp.system.query(
        `CREATE FUNCTION moved.${name}() RETURNS timestamptz STABLE LANGUAGE sql AS
           'SELECT pg_catalog.${name}() + (SELECT by FROM moved.clock)'`,
      )
    await setUp.system.query('GRANT USAGE ON SCHEMA moved TO PUBLIC')
    await setUp.system.query('GRANT SELECT ON moved.clock TO PUBLIC')
    await setUp.close()
    const url = new URL(database.url as string)
    // Every now() of a statement uses the moved clock.
    url.searchParams.set('options', '-c search_path=moved,pg_catalog,public')
    db = await openTestDatabase({ ...database, url: url.href })
  })
  afterAll(async () => {
    if (missing) return
    await db.close()
    await database.remove()
  })

  it('an hour forward and back makes no task twice and loses none', async context => {
    if (missing) return context.skip(missing)
    const planning = await addPlanning(db)
    const startTime = ago(3)
    const repeat = { rrule: 'FREQ=MINUTELY;INTERVAL=7' }
    const id = await addSchedule(db, planning, { startTime, repeat })
    const move = (by: string) => db.system.query(`UPDATE moved.clock SET by = $1::interval`, [by])
    const made = async () => {
      const rows = await db.system.query<{ at: Date }>(
        'SELECT scheduled_for AS at FROM tasks WHERE schedule_id = $1 ORDER BY 1',
        [id],
      )
      return rows.map(({ at }) => at.getTime())
    }
    const dueAt = (time: number) => {
      const timing = { repeat, startTime, endTime: new Date(time), timezone: 'UTC', exceptions: [] }
      return listOccurrences(timing, 0)
    }
    let furthest = Number.NEGATIVE_INFINITY
    for (const hours of [-1, 0, 1, 0, -1, 1, 2, 0]) {
      await move(`${hours} hours`)
      furthest = Math.max(furthest, hours)
      const before = dueAt(Date.now() + furthest * HOUR)
      for (let more: number | null = 0; more !== null; )
        more = await runSchedule(db, scheduler, planning.organizationId, fail)
      const rows = await made()
      // Tasks that become due meanwhile may be there or not.
      expect(rows).toEqual(dueAt(Date.now() + furthest * HOUR).slice(0, Math.max(rows.length, before.length)))
    }
    expect((await made()).length).toBeGreaterThanOrEqual(dueAt(Date.now() + 1.9 * HOUR).length)
  })
})
