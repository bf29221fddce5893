import { expect, it } from 'vitest'
import type { Queryable } from '../../db/client.ts'
import type { SubjectInfo } from '../../db/queries/newest-fixes.ts'
import { createRefreshing } from '../../stream/live/refreshing.ts'

const SUBJECTS = 20_000

it('Names of many subjects are taken over with turns for others in between', async () => {
  const infos = Array.from({ length: SUBJECTS }, (_, subject) => ({ subject }) as SubjectInfo)
  const db = { query: async (text: string) => (text.includes('visibility_version') ? [] : infos) }
  let named = 0
  const seen = new Set<number>()
  let isDone = false
  const look = () => {
    seen.add(named)
    if (!isDone) setImmediate(look)
  }
  look()
  await createRefreshing({
    db: db as unknown as Queryable,
    listKnown: () => [],
    name: () => void named++,
    setView() {},
    onError(error) {
      throw error
    },
  }).all()
  isDone = true
  expect(named).toBe(SUBJECTS)
  expect(seen.size).toBeGreaterThan(10)
})
