import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { createTestDatabase, openTestDatabase, postgresMissing } from '../../support/database.ts'
import { addPlanning, addSchedule } from '../../support/schedules.ts'
import { until } from '../../support/wait.ts'

const WORKER = resolve(import.meta.dirname, '../../support/schedule-worker.ts')

it('each occurrence makes its task once, whichever of two processes dies when', async context => {
  const missing = postgresMissing()
  if (missing) return context.skip(missing)
  const database = await createTestDatabase('postgres')
  const db = await openTestDatabase(database)
  const count = { kills: 3, schedules: 2, occurrences: 800 }
  const startTime = new Date(Date.now() - (count.occurrences - 0.5) * 3_600_000)
  const workers = new Set<ChildProcess>()
  const start = () => {
    const worker = spawn(process.execPath, ['--import', 'tsx', WORKER, database.url as string], {
      stdio: 'inherit',
    })
    workers.add(worker)
  }
  const kill = async (worker: ChildProcess) => {
    workers.delete(worker)
    const gone = once(worker, 'exit')
    worker.kill('SIGKILL')
    await gone
  }
  const left = async () => {
    const [row] = await db.system.query<{ n: number }>(
      'SELECT count(*)::int4 AS n FROM schedules WHERE next_run_at <= now()',
    )
    return row?.n ?? 0
  }
  const read = async () => {
    const [row] = await db.system.query<{ tasks: number; different: number }>(
      `SELECT count(*)::int4 AS tasks, count(DISTINCT (schedule_id, scheduled_for))::int4 AS different FROM tasks`,
    )
    return row as { tasks: number; different: number }
  }
  start()
  start()
  for (let killed = 0; killed < count.kills; killed++) {
    // More work for each, so that some is left however fast it is done.
    const planning = await addPlanning(db)
    const seen = (await read()).tasks
    for (let at = 0; at < count.schedules; at++) await addSchedule(db, planning, { startTime })
    await until('they work', async () => (await read()).tasks >= seen + 450)
    await kill([...workers][0] as ChildProcess)
    start()
  }
  await until('all is done', async () => (await left()) === 0)
  for (const worker of workers) await kill(worker)
  const total = count.kills * count.schedules * count.occurrences
  expect(await read()).toEqual({ tasks: total, different: total })
  await db.close()
  await database.remove()
})
