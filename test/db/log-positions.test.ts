import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { claimLog, readLogPositions } from '../../db/queries/log-positions.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'

describe('The positions of the log', () => {
  let database: TestDatabase
  let db: Database
  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    db = await openTestDatabase(database)
  })
  afterAll(async () => {
    await db.close()
    await database.remove()
  })

  const claim = async (log: string, partitions: number, anew = false) =>
    [...(await claimLog(db, log, partitions, async () => anew))].sort(([a], [b]) => a - b)
  const store = (partition: number, nextOffset: number) =>
    db.writer.query('UPDATE log_positions SET next_offset = $2 WHERE log_partition = $1', [
      partition,
      nextOffset,
    ])

  it('go on above what was stored when the log becomes another one, and when it comes back', async () => {
    await claim('process', 2)
    await store(0, 500)
    expect(await claim('kafka/points', 3)).toEqual([
      [0, 500],
      [1, 0],
      [2, 0],
    ])
    await store(0, 510)
    await store(2, 7)
    expect(await claim('kafka/points', 3)).toEqual([
      [0, 500],
      [1, 0],
      [2, 0],
    ])
    await claim('process', 2)
    await store(0, 900)
    // Ten of it are stored, so it continues with the next one.
    expect(await claim('kafka/points', 3)).toEqual([
      [0, 890],
      [1, 0],
      [2, 0],
    ])
    expect(await readLogPositions(db.system)).toEqual(
      new Map([
        [0, 900],
        [1, 0],
        [2, 7],
      ]),
    )
  })

  it('go on above what was stored when a log of the same name begins again', async () => {
    expect(await claim('kafka/points', 3, true)).toEqual([
      [0, 900],
      [1, 0],
      [2, 7],
    ])
  })

  it('are the same for all that open a log at once', async () => {
    await store(1, 40)
    const all = await Promise.all(Array.from({ length: 6 }, () => claim('other/points', 3)))
    for (const bases of all)
      expect(bases).toEqual([
        [0, 900],
        [1, 40],
        [2, 7],
      ])
  })
})
