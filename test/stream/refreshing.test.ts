import { expect, it } from 'vitest'
import type { Queryable } from '../../db/client.ts'
import type { SubjectInfo } from '../../db/queries/newest-fixes.ts'
import { createRefreshing } from '../../stream/live/refreshing.ts'

const SUBJECTS = 20_000

const options = {
  listKnown: () => [],
  setView() {},
  onError(error: unknown) {
    throw error
  },
}

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
    ...options,
    db: db as unknown as Queryable,
    name: () => void named++,
  }).all()
  isDone = true
  expect(named).toBe(SUBJECTS)
  expect(seen.size).toBeGreaterThan(10)
})

it('A name that changes while all are read again is the newest afterwards', async () => {
  let newest = 'old'
  const last = () => ({ subject: SUBJECTS, organizationId: 'one', name: newest }) as SubjectInfo
  const others = Array.from({ length: SUBJECTS }, (_, subject) => ({ subject }) as SubjectInfo)
  const db = {
    async query(text: string, values?: unknown[]) {
      if (text.includes('visibility_version')) return []
      return values ? [last()] : [...others, last()]
    },
  }
  let named = 0
  let name = ''
  const refreshing = createRefreshing({
    ...options,
    db: db as unknown as Queryable,
    name(info) {
      named++
      if (info.subject === SUBJECTS) name = info.name
    },
  })
  const all = refreshing.all()
  while (named === 0) await new Promise(setImmediate)
  newest = 'new'
  await refreshing.one('one')
  expect(named).toBeLessThan(SUBJECTS)
  await all
  expect(name).toBe('new')
})
