import { expect, it } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { runRounds } from './rounds.ts'

it('every acknowledged point is in the history exactly once, though the embedded server is killed', async () => {
  const database = await createTestDatabase('pglite')
  const report = await runRounds({ database, rounds: 2, devices: 5, killWithinMs: 1_000, rate: 200 })
  expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0 })
  expect(report.acknowledged).toBeGreaterThan(100)
  await database.remove()
})
