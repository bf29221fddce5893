import { expect, it } from 'vitest'
import { postgresMissing } from '../support/database.ts'
import { runRounds } from './rounds.ts'
import { startPrimaryAndStandby } from './standby.ts'

it('Every acknowledged point is in the history exactly once, though the primary is lost and the standby takes its place', async context => {
  const missing = postgresMissing()
  if (missing) return context.skip(missing)
  const machines = await startPrimaryAndStandby()
  const { database, victim } = machines
  const report = await runRounds({ database, rounds: 4, devices: 8, killWithinMs: 1_500, victims: [victim] })
  expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0 })
  expect(report.acknowledged).toBeGreaterThan(200)
  await machines.stop()
})
