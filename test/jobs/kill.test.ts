import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { insertJob } from '../../db/queries/jobs.ts'
import { createTestDatabase, openTestDatabase, postgresMissing } from '../support/database.ts'
import { pause } from '../support/wait.ts'

describe('Jobs under kill -9', () => {
  const WORKER = resolve(import.meta.dirname, '../support/job-worker.ts')
  const missing = postgresMissing()

  it('are each done once, whichever process dies when', async context => {
    if (missing) return context.skip(missing)
    const database = await createTestDatabase('postgres')
    const db = await openTestDatabase(database)
    await db.system.query('CREATE TABLE done (job uuid, step int)')
    const count = 160
    await db.system.transaction(async tx => {
      for (let n = 0; n < count; n++) await insertJob(tx, { kind: 'steps', organizationId: null })
    })
    const start = () =>
      spawn(process.execPath, ['--import', 'tsx', WORKER, database.url as string], { stdio: 'inherit' })
    const workers: ChildProcess[] = [start(), start()]
    const left = async () => {
      const [row] = await db.system.query<{ n: number }>(
        `SELECT count(*)::int4 AS n FROM jobs WHERE status IN ('queued', 'running')`,
      )
      return row?.n ?? 0
    }
    for (let round = 0; (await left()) > 0; round++) {
      await pause(1_000 + Math.random() * 700)
      const victim = workers[round % 2] as ChildProcess
      const gone = once(victim, 'exit')
      victim.kill('SIGKILL')
      await gone
      workers[round % 2] = start()
      if (round > 60) throw new Error(`${await left()} jobs are left`)
    }
    const [row] = await db.system.query<{ done: number; steps: number; twice: number }>(
      `SELECT (SELECT count(*)::int4 FROM jobs WHERE status = 'done') AS done,
         (SELECT count(*)::int4 FROM done) AS steps,
         (SELECT count(*)::int4 FROM (SELECT FROM done GROUP BY job, step HAVING count(*) > 1) d) AS twice`,
    )
    expect(row).toEqual({ done: count, steps: count * 5, twice: 0 })
    for (const worker of workers) {
      const gone = once(worker, 'exit')
      worker.kill('SIGKILL')
      await gone
    }
    await db.close()
    await database.remove()
  }, 180_000)
})
