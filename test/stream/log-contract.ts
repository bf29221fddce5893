import { describe, expect, it } from 'vitest'
import type { Batch, Log, Positions, Record } from '../../stream/log.ts'
import { partitionOf } from '../../stream/log.ts'
import type { Entry, Point } from '../../stream/point.ts'
import { pause, until } from '../support/wait.ts'
import { createTable, EDGES, point, sourceOf, type Table } from './entries.ts'

/** The means to test the promises below on one kind of log. */
export interface LogBench {
  /** The reason why it cannot be tested here. */
  missing?: string | undefined
  partitions: number
  /** Whether the caller that appended an entry learns the outcome of storing it. */
  tellsOutcomes: boolean
  /** Creates a new log, with the means to disturb it. */
  create(): Promise<LogUnderTest>
}

export interface LogUnderTest {
  /** Opens the log, also again as after a restart, with the batches that the table has stored so far. */
  open(table: Table, options?: { maxWaitingBytes?: number }): Promise<Log>
  /** Lets nothing become durable until the returned function is called. */
  hold(table: Table): Promise<() => Promise<void>>
  /** Kills the storage of the entries at once, and restarts it. */
  crash(log: Log): Promise<void>
}

/** The promises of every log, independent of its storage. */
export function testLog(name: string, bench: LogBench): void {
  describe.skipIf(bench.missing)(`The log ${name}${bench.missing ? ` (${bench.missing})` : ''}`, () => {
    const open = async (options?: { maxWaitingBytes?: number }) => {
      const under = await bench.create()
      const table = createTable()
      const log = await under.open(table, options)
      return { under, table, log }
    }
    const stored = (table: Table, count: number) =>
      until(`${count} entries are stored`, () => table.entries().length >= count)

    it('has every kind of entry come out as it went in', async () => {
      const { log, table } = await open()
      const storing = await log.store(table.store)
      await log.append(EDGES, sourceOf(1, 2, 3))
      await stored(table, EDGES.length)
      for (const key of [1, 2, 3]) {
        const of = (entries: readonly Entry[]) => entries.filter(entry => entry.subject === key)
        expect(of(table.entries())).toEqual(of(EDGES))
      }
      await storing.close()
      await log.close()
    })

    it('keeps acknowledged entries through a crash', async () => {
      const { under, log, table } = await open()
      const storing = await log.store(table.store)
      await log.append([point(1, 1), point(2, 2)], sourceOf(1, 2))
      await under.crash(log)
      await stored(table, 2)
      await log.append([point(1, 3)], sourceOf(1))
      await stored(table, 3)
      const times = (of: (entry: Entry) => boolean) =>
        table
          .entries()
          .filter(of)
          .map(entry => (entry as Point).recordedAt)
      expect(times(({ subject }) => subject === 1)).toEqual([1, 3])
      // An entry of another partition may come before, between or after them.
      expect(times(({ subject }) => subject === 2)).toEqual([2])
      await storing.close()
      await log.close()
    })

    it('acknowledges and continues if a listener throws', async () => {
      const { under, log, table } = await open({ maxWaitingBytes: 1 })
      const told: boolean[] = []
      log.onFull(() => {
        throw new Error('This listener throws')
      })
      log.onFull(full => told.push(full))
      const release = await under.hold(table)
      const storing = await log.store(table.store)
      const appended = log.append([point(1, 1)], sourceOf(1))
      expect(log.full).toBe(true)
      await release()
      await appended
      expect(told).toEqual([true, false])
      await log.append([point(1, 2)], sourceOf(1))
      await stored(table, 2)
      await storing.close()
      await log.close()
    })

    it('keeps the order of a subject, on one partition, under rising offsets', async () => {
      const { log, table } = await open()
      const storing = await log.store(table.store)
      const subjects = [1, 2, 3, 4, 5, 6, 7, 8, 9]
      const source = sourceOf(...subjects)
      const appended: Promise<unknown>[] = []
      for (let n = 0; n < 300; n++) {
        appended.push(
          log.append(n % 7 ? [point(subjects[n % 9] as number, n)] : subjects.map(s => point(s, n)), source),
        )
        if (n % 50 === 0) await pause(5)
      }
      await Promise.all(appended)
      await stored(table, 300 - 43 + 43 * 9)
      for (const [partition, records] of table.records) {
        const offsets = records.map(record => record.offset)
        expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => a - b))
        const entries = records.flatMap(record => record.entries) as Point[]
        expect(entries.every(entry => partitionOf(entry.subject, bench.partitions) === partition)).toBe(true)
        for (const subject of subjects) {
          const times = entries.filter(entry => entry.subject === subject).map(entry => entry.recordedAt)
          expect(times).toEqual([...times].sort((a, b) => a - b))
        }
      }
      for (const { records, nextOffset } of table.handed) {
        expect(nextOffset).toBeGreaterThan(records.at(-1)?.offset as number)
      }
      await storing.close()
      await log.close()
    })

    it('hands a batch over again, the same, until it is stored', async () => {
      const { log, table } = await open()
      let failures = 3
      table.before = async () => {
        if (failures-- > 0) throw new Error('The database is away')
      }
      const storing = await log.store(table.store)
      await log.append([point(1, 1), point(1, 2)], sourceOf(1))
      await log.append([point(1, 3)], sourceOf(1))
      await stored(table, 3)
      const [first, ...others] = table.handed.slice(0, 4)
      for (const again of others) expect(again).toEqual(first)
      expect(table.entries()).toEqual([point(1, 1), point(1, 2), point(1, 3)])
      await storing.close()
      await log.close()
    })

    it('may drop the waiting entries of an ended connection, and nothing else', async () => {
      const { under, log, table } = await open()
      const storing = await log.store(table.store)
      await log.append([point(1, 0)], sourceOf(1))
      await stored(table, 1)
      const release = await under.hold(table)
      const gone = sourceOf(1)
      const before = log.append([point(1, 1)], sourceOf(1))
      await pause(50)
      const dropped = [log.append([point(1, 2)], gone), log.append([point(1, 3)], gone)]
      const after = log.append([point(1, 4)], sourceOf(1))
      gone.ended = true
      const settled = Promise.allSettled(dropped)
      await pause(1_500)
      await release()
      await Promise.all([before, after])
      await settled
      await until('stored', () => table.entries().some(entry => (entry as Point).recordedAt === 4))
      const times = table.entries().map(entry => (entry as Point).recordedAt)
      expect(times.filter(time => time !== 2 && time !== 3)).toEqual([0, 1, 4])
      expect(log.waiting).toEqual({ entries: 0, bytes: 0 })
      await storing.close()
      await log.close()
    })

    it('hands a follower every record from its positions on, once and in order, also records that came meanwhile', async () => {
      const { log, table } = await open()
      const storing = await log.store(table.store)
      const source = sourceOf(1, 2, 3, 4, 5)
      let going = true
      let n = 0
      const appending = (async () => {
        while (going) await log.append([point(1 + (n % 5), n++)], source)
      })()
      await until('something is stored', () => table.entries().length > 20)

      const followed = new Map<number, Record[]>()
      let from: Positions = new Map()
      const following = await log.follow(
        async () => {
          from = table.positions()
          await pause(100)
          return from
        },
        batch => {
          const records = followed.get(batch.partition)
          if (records) records.push(...batch.records)
          else followed.set(batch.partition, [...batch.records])
        },
      )
      // The subjects take turns, so that each partition gets some.
      const before = n
      await until('more is appended', () => n >= before + 6)
      going = false
      await appending
      await stored(table, n)
      const expected = (partition: number) =>
        (table.records.get(partition) ?? []).filter(record => record.offset >= (from.get(partition) ?? 0))
      await until('all of it is followed', () =>
        [...table.records.keys()].every(
          partition => (followed.get(partition) ?? []).length >= expected(partition).length,
        ),
      )
      expect(expected(1).length).toBeGreaterThan(0)
      for (const partition of table.records.keys())
        expect(followed.get(partition)).toEqual(expected(partition))
      await following.close()
      await storing.close()
      await log.close()
    })

    it('continues above the stored offsets when it is opened again, and a follower reads on from there', async () => {
      const { under, log, table } = await open()
      const storing = await log.store(table.store)
      await log.append([point(1, 1), point(2, 1)], sourceOf(1, 2))
      await stored(table, 2)
      await storing.close()
      await log.close()
      const positions = table.positions()

      const again = await under.open(table)
      const followed: Batch[] = []
      const following = await again.follow(
        async () => positions,
        batch => followed.push(batch),
      )
      const storingAgain = await again.store(table.store)
      await again.append([point(1, 2), point(2, 2)], sourceOf(1, 2))
      await stored(table, 4)
      await until('followed', () => followed.flatMap(batch => batch.records).length >= 2)
      const records = followed.flatMap(batch => batch.records)
      expect(records.flatMap(record => record.entries).map(entry => (entry as Point).recordedAt)).toEqual([
        2, 2,
      ])
      for (const { partition, records } of followed) {
        for (const { offset } of records) expect(offset).toBeGreaterThanOrEqual(positions.get(partition) ?? 0)
      }
      await following.close()
      await storingAgain.close()
      await again.close()
    })

    it('is full when as many bytes wait as may, and says so, and when there is room again', async () => {
      const { under, log, table } = await open({ maxWaitingBytes: 20_000 })
      const storing = await log.store(table.store)
      await log.append([point(1, 0)], sourceOf(1))
      const release = await under.hold(table)
      const told: boolean[] = []
      const stop = log.onFull(full => told.push(full))
      const appended: Promise<unknown>[] = []
      for (let n = 1; !log.full; n++) appended.push(log.append([point(1, n)], sourceOf(1)))
      expect(log.waiting.bytes).toBeGreaterThan(20_000)
      expect(log.waiting.entries).toBe(appended.length)
      await pause(200)
      expect(told).toEqual([true])
      const age = log.oldestWaitingSeconds()
      expect(age).toBeGreaterThan(0.1)
      await until('the oldest has aged', () => log.oldestWaitingSeconds() > age + 1)
      await release()
      await Promise.all(appended)
      expect({ full: log.full, told, waiting: log.waiting, age: log.oldestWaitingSeconds() }).toEqual({
        full: false,
        told: [true, false],
        waiting: { entries: 0, bytes: 0 },
        age: 0,
      })
      stop()
      await storing.close()
      await log.close()
    })

    it('takes thousands of points with large attributes at once', async () => {
      const { log, table } = await open()
      const storing = await log.store(table.store)
      const attributes = JSON.stringify({ text: 'ö'.repeat(1_000) })
      const points = Array.from({ length: 5_000 }, (_, n) => point(1 + (n % 3), n, { attributes }))
      await log.append(points, sourceOf(1, 2, 3))
      await stored(table, 5_000)
      for (const key of [1, 2, 3]) {
        const times = (entries: readonly Entry[]) =>
          entries.filter(entry => entry.subject === key).map(entry => (entry as Point).recordedAt)
        expect(times(table.entries())).toEqual(times(points))
      }
      await storing.close()
      await log.close()
    })

    it('tells the appending caller the outcome of storing, if it is known by then', async () => {
      const { log, table } = await open()
      table.outcomes = batch =>
        new Map(batch.records.flatMap(record => record.entries).map(entry => [entry, { kind: 'duplicate' }]))
      const storing = await log.store(table.store)
      const [only, other] = [point(1, 1), point(2, 1)]
      const outcomes = await log.append([only, other], sourceOf(1, 2))
      expect(outcomes.get(only)).toEqual(bench.tellsOutcomes ? { kind: 'duplicate' } : undefined)
      expect(outcomes.get(other)).toEqual(bench.tellsOutcomes ? { kind: 'duplicate' } : undefined)
      await storing.close()
      await log.close()
    })

    it('ends storing after the batch in hand', async () => {
      const { log, table } = await open()
      let finish = () => {}
      table.before = () =>
        new Promise(resolve => {
          finish = resolve
        })
      const storing = await log.store(table.store)
      log.append([point(1, 1)], sourceOf(1)).catch(() => {})
      await until('a batch is in hand', () => table.handed.length > 0)
      let ended = false
      const closing = storing.close().then(() => {
        ended = true
      })
      await pause(300)
      expect(ended).toBe(false)
      finish()
      await closing
      expect(table.entries()).toEqual([point(1, 1)])
      await log.close()
    })

    it('rejects waiting entries when it closes, and all later ones', async () => {
      const { under, log, table } = await open()
      const storing = await log.store(table.store)
      await log.append([], sourceOf())
      await log.append([point(1, 1)], sourceOf(1))
      const release = await under.hold(table)
      const inHand = log.append([point(1, 2)], sourceOf(1))
      await pause(50)
      const waiting = log.append([point(1, 3)], sourceOf(1))
      const settled = Promise.allSettled([inHand, waiting])
      const closing = Promise.all([storing.close(), log.close()])
      const releasing = pause(3_000).then(release)
      const [first, second] = await settled
      // Closing waits a little for the entries in flight; Kafka may not have answered by then.
      if (first.status === 'rejected') expect(first.reason).toMatchObject({ message: 'The log is closed' })
      expect(second).toMatchObject({ status: 'rejected', reason: { message: 'The log is closed' } })
      await Promise.all([closing, releasing])
      await expect(log.append([point(1, 4)], sourceOf(1))).rejects.toThrow('closed')
      expect(log.waiting).toEqual({ entries: 0, bytes: 0 })
    })
  })
}
