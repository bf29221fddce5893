import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { insertJob } from '../../db/queries/jobs.ts'
import { createTestDatabase, openTestDatabase, postgresMissing } from '../support/database.ts'
import { until } from '../support/wait.ts'

describe('Jobs under kill -9', () => {
  const WORKER = resolve(import.meta.dirname, '../support/job-worker.ts')
  const missing = postgresMissing()

  it('are each done once, whichever process dies when', async context => {
    if (missing) return context.skip(missing)
    const database = await createTestDatabase('postgres')
    const db = await openTestDatabase(database)
    await db.system.query('CREATE TABLE done (job uuid, step int, pid int)')
    let count = 0
    const add = (jobs: number) =>
      db.system.transaction(async tx => {
        for (let n = 0; n < jobs; n++) await insertJob(tx, { kind: 'steps', organizationId: null })
        count += jobs
      })
    const start = () =>
      spawn(process.execPath, ['--import', 'tsx', WORKER, database.url as string], { stdio: 'inherit' })
    const workers: ChildProcess[] = [start(), start()]
    const kill = async (worker: ChildProcess) => {
      if (worker.exitCode !== null) throw new Error(`A worker ended by itself with ${worker.exitCode}`)
      const gone = once(worker, 'exit')
      worker.kill('SIGKILL')
      await gone
    }
    onTestFinished(() => {
      for (const worker of workers) worker.kill('SIGKILL')
    })
    const left = async () => {
      const [row] = await db.system.query<{ n: number }>(
        `SELECT count(*)::int4 AS n FROM jobs WHERE status IN ('queued', 'running')`,
      )
      return row?.n ?? 0
    }
    const stepsOf = async ({ pid }: ChildProcess) => {
      const [row] = await db.system.query<{ n: number }>(
        'SELECT count(*)::int4 AS n FROM done WHERE pid = $1',
        [pid],
      )
      return row?.n ?? 0
    }
    for (let round = 0; round < 6; round++) {
      const worker = workers[round % 2] as ChildProcess
      // Kills in the middle of its work, however long a start takes, and whatever the other does meanwhile.
      const enough = (await stepsOf(worker)) + 5 + Math.random() * 20
      await until('it works', async () => {
        if ((await left()) < 12) await add(12)
        return (await stepsOf(worker)) > enough
      })
      await kill(worker)
      workers[round % 2] = start()
    }
    await until('all is done', async () => (await left()) === 0)
    const [row] = await db.system.query<{ done: number; steps: number; twice: number }>(
      `SELECT (SELECT count(*)::int4 FROM jobs WHERE status = 'done') AS done,
         (SELECT count(*)::int4 FROM done) AS steps,
         (SELECT count(*)::int4 FROM (SELECT FROM done GROUP BY job, step HAVING count(*) > 1) d) AS twice`,
    )
    expect(row).toEqual({ done: count, steps: count * 5, twice: 0 })
    for (const worker of workers) await kill(worker)
    await db.close()
    await database.remove()
  })
})
