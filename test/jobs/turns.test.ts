import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { usualKind } from '../support/database.ts'
import { kind, useJobs } from '../support/jobs.ts'
import { pause } from '../support/wait.ts'

describe('The turns of jobs', () => {
  const { db, organizations, run, add, read, ends, mark, marks } = useJobs(usualKind())

  const joinRoot = (...members: number[]) =>
    db.system.query('UPDATE organizations SET root = $1 WHERE id = ANY($2::uuid[])', [
      organizations[members[0] as number],
      members.map(member => organizations[member]),
    ])

  it('the organizations of one root share its slots, and take turns with others as one', async () => {
    await joinRoot(0, 1)
    const stuck = new AbortController()
    const runner = await run([
      kind(
        async context => {
          if ((context.job.payload as { name?: string }).name === 'stuck') await once(stuck.signal, 'abort')
        },
        { slots: 2, slotsPerRoot: 1 },
      ),
    ])
    await add(0, { name: 'stuck' })
    const sibling = await add(1)
    for (let n = 0; n < 3; n++) await ends(await add(2), 'done')
    expect((await read(sibling))?.status).toBe('queued')
    stuck.abort()
    await ends(sibling, 'done')
    await runner.stop()
  })

  it.each([{}, { pausable: 1 }])(
    'a long one gives way to others in its turn, and goes on from where it was (%o)',
    async more => {
      let other: string | undefined
      const attempts = new Set<number>()
      await run([
        kind(
          async context => {
            const { job } = context
            if ((job.payload as { name?: string }).name !== 'long') return mark(context, 'other')
            attempts.add(job.attempt)
            const from = (job.progress as { done: number } | null)?.done ?? 0
            for (let step = from; ; step++) {
              await mark(context, `step ${step}`, { done: step + 1 })
              await context.passTurn()
              other ??= await add(2)
              if ((await read(other))?.status === 'done') return
              await pause(10)
            }
          },
          { slots: 1, slotsPerRoot: 1, turnMs: 20, ...more },
        ),
      ])
      const long = await add(0, { name: 'long' })
      // The job belongs to the same organization, so nobody else waits.
      const behind = await add(0, { name: 'short' })
      await ends(long, 'done')
      await ends(behind, 'done')
      expect([...attempts]).toEqual([1])
      expect(await read(long)).toMatchObject({ attempts: 1, error: null })
      const steps = (await marks()).filter(name => name.startsWith('step'))
      expect(steps).toEqual(steps.map((_, step) => `step ${step}`))
      expect((await marks()).indexOf('other')).toBeGreaterThan(0)
    },
  )

  it('those that have had a turn leave a slot to those that have not', async () => {
    let stopped = false
    await run([
      kind(
        async context => {
          if ((context.job.payload as { name?: string }).name !== 'long') return
          while (!stopped) {
            await context.passTurn()
            await pause(20)
          }
        },
        { slots: 2, slotsPerRoot: 1, turnMs: 50 },
      ),
    ])
    const longs = [await add(0, { name: 'long' }), await add(1, { name: 'long' })]
    for (let n = 0; n < 3; n++) await ends(await add(2), 'done')
    stopped = true
    for (const id of longs) await ends(id, 'done')
  })
})
