import { expect, it } from 'vitest'
import { createProcessLog } from '../../stream/process-log.ts'
import { createTable, point, sourceOf } from './entries.ts'
import { testLog } from './log-contract.ts'

testLog('of one process', {
  partitions: 3,
  tellsOutcomes: true,
  async create() {
    let release = () => {}
    return {
      async open(table, options) {
        return createProcessLog({ partitions: 3, start: table.positions(), ...options, onError: () => {} })
      },
      async hold(table) {
        const before = table.before
        const held = new Promise<void>(resolve => {
          release = resolve
        })
        table.before = async batch => {
          await held
          await before(batch)
        }
        return async () => release()
      },
      // Durable entries are in the table; there is nothing else to kill.
      crash: async () => {},
    }
  },
})

it('A follower that throws keeps nobody from the acknowledgement, nor from the next batch', async () => {
  const table = createTable()
  const log = createProcessLog({ partitions: 1, start: table.positions(), onError: () => {} })
  const storing = await log.store(table.store)
  const following = await log.follow(
    async () => new Map(),
    () => {
      throw new Error('This follower throws')
    },
  )
  for (const time of [1, 2]) await log.append([point(1, time)], sourceOf(1))
  expect(table.entries()).toHaveLength(2)
  await following.close()
  await storing.close()
  await log.close()
})

it('A sender with much waiting makes another of its organization wait for one batch at the most', async () => {
  const table = createTable()
  const log = createProcessLog({ partitions: 1, start: table.positions(), onError: () => {} })
  const batches: number[][] = []
  const many = Array.from({ length: 20 }, (_, part) =>
    log.append(
      Array.from({ length: 1_000 }, (_, index) => point(1, part * 1_000 + index)),
      sourceOf(1),
    ),
  )
  const one = log.append([point(2, 1)], sourceOf(2))
  const storing = await log.store(batch => {
    batches.push(batch.records.flatMap(({ entries }) => entries.map(({ subject }) => subject)))
    return table.store(batch)
  })
  await Promise.all([...many, one])
  expect(batches.findIndex(subjects => subjects.includes(2))).toBe(0)
  expect(table.entries().filter(({ subject }) => subject === 1)).toHaveLength(20_000)
  await storing.close()
  await log.close()
})

it('Entries that are appended together are stored in bounded batches, and acknowledged when all of them are stored', async () => {
  const table = createTable()
  const batch = { cost: 100, bytes: 1_000_000 }
  const log = createProcessLog({ partitions: 2, start: table.positions(), batch, onError: () => {} })
  const sizes: number[] = []
  const storing = await log.store(batch => {
    sizes.push(batch.records.flatMap(({ entries }) => entries).length)
    return table.store(batch)
  })
  const points = Array.from({ length: 1_050 }, (_, time) => point(time % 3, time))
  await log.append(points, sourceOf(1))
  expect(table.entries()).toHaveLength(1_050)
  const times = table
    .entries()
    .flatMap(entry => ('recordedAt' in entry && entry.subject === 1 ? [entry.recordedAt] : []))
  expect(times).toEqual([...times].sort((a, b) => a - b))
  expect(Math.max(...sizes)).toBeLessThanOrEqual(100)
  const long = Array.from({ length: 10 }, (_, time) => ({
    ...point(1, 2_000 + time),
    attributes: JSON.stringify('x'.repeat(400_000)),
  }))
  sizes.length = 0
  await log.append(long, sourceOf(1))
  expect(sizes).toEqual([2, 2, 2, 2, 2])
  await storing.close()
  await log.close()
})
