import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { casesOf, explain, fill, list } from '../../bench/tasks.ts'
import type { Database } from '../../db/client.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'

/** As many as make reading the table dearer than any index; `npm run bench -- tasks` has a million. */
const TASKS = 40_000

describe('The list of tasks', () => {
  const missing = postgresMissing()
  let files: TestDatabase
  let db: Database

  beforeAll(async () => {
    if (missing) return
    files = await createTestDatabase('postgres')
    db = await openTestDatabase(files)
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
  })

  it('finds every page by an index, whatever it is filtered by', async context => {
    if (missing) return context.skip(missing)
    const filled = await fill(db, TASKS, files.url as string)
    const cases = casesOf(filled, TASKS)
    expect(cases.length).toBeGreaterThan(20)
    for (const [name, filter, more] of cases) {
      const plan = await explain(db, asked => list(asked, filled, filter, more))
      expect(plan, name).toContain('tasks_')
      expect(plan, name).not.toContain('Seq Scan')
    }
  }, 120_000)
})
