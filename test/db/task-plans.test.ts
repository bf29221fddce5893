import { describe, expect, it, onTestFinished } from 'vitest'
import { casesOf, explain, fill, list } from '../../bench/tasks.ts'
import { createTestDatabase, openTestDatabase, postgresMissing } from '../support/database.ts'

/** Enough tasks that reading the table costs more than any index; `npm run bench -- tasks` has a million. */
const TASKS = 40_000

describe('The list of tasks', () => {
  it('finds every page by an index, whatever it is filtered by', async context => {
    const missing = postgresMissing()
    if (missing) return context.skip(missing)
    // A separate one for each attempt: leftovers of another one would change the plans.
    const files = await createTestDatabase('postgres')
    const db = await openTestDatabase(files)
    onTestFinished(async () => {
      await db.close()
      await files.remove()
    })
    const filled = await fill(db, TASKS, files.url as string)
    const cases = casesOf(filled, TASKS)
    expect(cases.length).toBeGreaterThan(20)
    for (const [name, filter, more] of cases) {
      const plan = await explain(db, asked => list(asked, filled, filter, more))
      expect(plan, name).toContain('tasks_')
      expect(plan, name).not.toContain('Seq Scan')
    }
  })
})
