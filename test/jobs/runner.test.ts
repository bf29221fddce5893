import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { cancelJob } from '../../db/queries/jobs.ts'
import { doublingBackoff } from '../../src/jobs/kind.ts'
import { FAST, kind, useJobs } from '../support/jobs.ts'
import { pause, until } from '../support/wait.ts'

describe.each(['postgres', 'pglite'] as const)('The job runner on %s', which => {
  const { db, organizations, run, add, read, ends, mark, marks } = useJobs(which)

  it('runs a job once and keeps its result', async () => {
    await run([kind(async context => ({ sum: (context.job.payload as { a: number }).a + 1 }))])
    const id = await add(0, { a: 1 })
    await ends(id, 'done')
    expect(await read(id)).toMatchObject({ attempts: 1, result: { sum: 2 }, error: null })
  })

  it('takes a job up at once, not at the next look', async () => {
    // The next poll comes after the end of any test.
    await run([kind(context => mark(context, 'done'))], { ...FAST, pollMs: 3_600_000 })
    await db.hearChanges()
    await ends(await add(0), 'done')
  })

  it('tries again with a delay that grows, and fails with the last error', async () => {
    const ended: unknown[] = []
    const failing = kind(
      async ({ job }) => {
        throw new Error(`attempt ${job.attempt}`)
      },
      { ended: async (_tx, job, end) => void ended.push([job.id, end]) },
    )
    await run([failing])
    const id = await add(0)
    await ends(id, 'failed')
    expect(await read(id)).toMatchObject({ attempts: 3, error: 'attempt 3' })
    expect(ended).toEqual([[id, { status: 'failed', error: 'attempt 3' }]])
    expect([1, 2, 3, 4, 20].map(doublingBackoff)).toEqual([1000, 2000, 4000, 8000, 300_000])
  })

  it('continues from the progress of a failed attempt, and does nothing twice', async () => {
    await run([
      kind(async context => {
        const from = (context.job.progress as { done: number } | null)?.done ?? 0
        for (let step = from; step < 4; step++) {
          await mark(context, `step ${step}`, { done: step + 1 })
          if (step === 1 && context.job.attempt === 1) throw new Error('in the middle')
        }
      }),
    ])
    const id = await add(0)
    await ends(id, 'done')
    expect(await marks()).toEqual(['step 0', 'step 1', 'step 2', 'step 3'])
    expect((await read(id))?.progress).toEqual({ done: 4 })
  })

  it('rolls back the writes of a failed commit', async () => {
    await run([
      kind(
        context =>
          context.commit(async tx => {
            await tx.query(`INSERT INTO done (name) VALUES ('never')`)
            throw new Error('no')
          }),
        { attempts: 1 },
      ),
    ])
    await ends(await add(0), 'failed')
    expect(await marks()).toEqual([])
  })

  it('writes under the tenant role: a job cannot touch another organization', async () => {
    await run([
      kind(
        context =>
          context.commit(tx =>
            tx.query('INSERT INTO hubs (id, organization_id, name, lat, lng) VALUES ($1, $2, $3, 1, 1)', [
              newId(),
              organizations[1],
              'Smuggled',
            ]),
          ),
        { attempts: 1 },
      ),
    ])
    const id = await add(0)
    await ends(id, 'failed')
    expect((await read(id))?.error).toMatch(/row-level security/)
  })

  it('keeps one job of a kind and key', async () => {
    const first = await add(0, {}, { uniqueKey: 'only' })
    expect(await add(0, {}, { uniqueKey: 'only' })).toBeNull()
    await run([kind(context => mark(context, 'done'))])
    await ends(first, 'done')
    expect(await add(0, {}, { uniqueKey: 'only' })).toBeTruthy()
  })

  it('a stuck job of one organization keeps no other waiting', async () => {
    const stuck = new AbortController()
    const runner = await run([
      kind(
        async context => {
          const name = (context.job.payload as { name: string }).name
          if (name === 'stuck') await once(stuck.signal, 'abort')
          else await mark(context, name)
        },
        { slots: 2, slotsPerRoot: 1 },
      ),
    ])
    for (let n = 0; n < 6; n++) await add(0, { name: 'stuck' })
    await pause(200)
    const others = await Promise.all([add(1, { name: 'one' }), add(2, { name: 'two' })])
    for (const id of others) await ends(id, 'done')
    stuck.abort()
    await runner.stop()
  })

  it('organizations take turns, however many jobs one of them has', async () => {
    for (let n = 0; n < 12; n++) await add(0, { name: 'many' })
    await add(1, { name: 'few' })
    const begun: string[] = []
    await run([
      kind(
        async context => {
          const { name } = context.job.payload as { name: string }
          begun.push(name)
          await mark(context, name)
        },
        { slots: 2, slotsPerRoot: 2 },
      ),
    ])
    await until('all', async () => (await marks()).length === 13)
    expect(begun.indexOf('few')).toBeLessThan(6)
  })

  it('a cancelled job that waits never runs, and one that runs is stopped and commits nothing more', async () => {
    const waiting = await add(0, {}, { delayMs: 3_600_000 })
    await db.system.transaction(tx => cancelJob(tx, waiting))
    expect((await read(waiting))?.status).toBe('cancelled')

    const ended: string[] = []
    let committed: unknown
    await run([
      kind(
        async context => {
          await mark(context, 'begun')
          await once(context.signal, 'abort')
          committed = await mark(context, 'too late').catch(error => error)
          throw context.signal.reason
        },
        { ended: async (_tx, _job, end) => void ended.push(end.status) },
      ),
    ])
    const id = await add(0)
    await until('begun', async () => (await marks()).length === 1)
    expect(await db.system.transaction(tx => cancelJob(tx, id))).toBe(true)
    await ends(id, 'cancelled')
    expect(committed).toBeInstanceOf(Error)
    expect(await marks()).toEqual(['begun'])
    expect(ended).toEqual(['cancelled'])
    expect(await db.system.transaction(tx => cancelJob(tx, id))).toBe(false)
  })

  it('one that takes too long is stopped and tried again', async () => {
    await run([
      kind(
        async context => {
          if (context.job.attempt === 1) await once(context.signal, 'abort')
          context.signal.throwIfAborted()
          await mark(context, 'done')
        },
        // Enough for the second attempt on a busy machine, or for one after it on a machine that pauses.
        { timeoutMs: 2_000, attempts: 10 },
      ),
    ])
    const id = await add(0)
    await ends(id, 'done')
    expect((await read(id))?.attempts).toBeGreaterThan(1)
  })

  it('a long one keeps its lease by the heartbeat', async () => {
    const leaseMs = 9_000
    let runs = 0
    const leaseEnd = async () => {
      const [row] = await db.system.query<{ at: Date }>('SELECT max(lease_until) AS at FROM jobs')
      return row?.at.getTime() ?? 0
    }
    const long = kind(async context => {
      runs++
      const first = await leaseEnd()
      await until('its lease ends later', async () => (await leaseEnd()) > first + leaseMs / 2)
      await mark(context, 'done')
    })
    await run([long], { ...FAST, leaseMs })
    await run([long], { ...FAST, leaseMs })
    await ends(await add(0), 'done')
    expect(runs).toBe(1)
    expect(await marks()).toEqual(['done'])
  })

  it('who lost the lease can commit nothing any more', async () => {
    let first: unknown
    let release = () => {}
    const held = new Promise<void>(done => {
      release = done
    })
    await run([
      kind(async context => {
        if (context.job.attempt > 1) return mark(context, 'second')
        await held
        first = await mark(context, 'first').catch(error => error)
        throw first
      }),
    ])
    const id = await add(0)
    await until('taken', async () => (await read(id))?.status === 'running')
    // Another process whose clock says that this one is dead does the same.
    await db.system.query(
      `UPDATE jobs SET status = 'queued', run_at = now(), lease_until = NULL WHERE id = $1`,
      [id],
    )
    await ends(id, 'done').catch(() => {})
    release()
    await until('refused', () => first instanceof Error)
    expect(await marks()).toEqual(['second'])
  })

  it('an orderly stop gives jobs back without counting that as an attempt', async () => {
    const runner = await run([
      kind(async context => {
        await once(context.signal, 'abort')
        context.signal.throwIfAborted()
      }),
    ])
    const id = await add(0)
    await until('taken', async () => (await read(id))?.status === 'running')
    await runner.stop()
    expect(await read(id)).toMatchObject({ status: 'queued', attempts: 0 })
  })

  it('repeats a periodic job, also after a failure', async () => {
    let runs = 0
    const periodic = kind(
      async () => {
        if (++runs % 2 === 0) throw new Error('sometimes')
      },
      { kind: 'periodic', everyMs: 20, attempts: 1 },
    )
    await run([periodic])
    await run([periodic])
    await until('five times', () => runs >= 5)
    const [row] = await db.system.query<{ n: number }>(
      `SELECT count(*)::int4 AS n FROM jobs WHERE kind = 'periodic' AND status IN ('queued', 'running')`,
    )
    expect(row?.n).toBe(1)
  })

  it('jobs that a process left when it died are taken up by the next, or fail at last', async () => {
    const ids = [await add(0), await add(0)]
    await db.system.query(
      `UPDATE jobs SET status = 'running', lease = 1, lease_until = now() - interval '1 s',
         attempts = CASE WHEN id = $1 THEN 1 ELSE 3 END`,
      [ids[0]],
    )
    const ended: string[] = []
    await run([
      kind(context => mark(context, 'done'), {
        ended: async (_tx, _job, { error }) => void ended.push(error),
      }),
    ])
    await ends(ids[0] as string, 'done')
    await ends(ids[1] as string, 'failed')
    expect(ended).toEqual(['The process that ran it ended'])
  })

  it('one that cannot be ended keeps no other from being taken up, and takes no lease from those that run', async () => {
    const running = await add(1)
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    const leaseMs = 9_000
    const cannotEnd = kind(
      async context => {
        if (context.job.id === running) await held
        return mark(context, 'done')
      },
      {
        ended: async () => {
          throw new Error('it cannot be said')
        },
      },
    )
    await run([cannotEnd], { ...FAST, leaseMs })
    await until('it runs', async () => (await read(running))?.status === 'running')
    // Later, so that the runner does not take them before they are left behind.
    const later = { delayMs: 3_600_000 }
    const [unendable, left] = [await add(0, {}, later), await add(2, {}, later)]
    await db.system.query(
      `UPDATE jobs SET status = 'running', lease = 1, lease_until = now() - interval '1 s',
         attempts = CASE WHEN id = $1 THEN 3 ELSE 1 END WHERE id = ANY($2)`,
      [unendable, [unendable, left]],
    )
    await ends(left, 'done')
    const leaseEnd = async () => {
      const [row] = await db.system.query<{ at: Date | null }>(
        'SELECT lease_until AS at FROM jobs WHERE id = $1',
        [running],
      )
      return row?.at?.getTime() ?? 0
    }
    const first = await leaseEnd()
    await until('its lease ends later', async () => (await leaseEnd()) > first + leaseMs / 2)
    release()
    await ends(running, 'done')
    const [row] = await db.system.query('SELECT attempts FROM jobs WHERE id = $1', [running])
    expect(row).toEqual({ attempts: 1 })
  })
})
