import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Database, newId } from '../../db/client.ts'
import { claimLog } from '../../db/queries/log-positions.ts'
import { openKafkaLog } from '../../stream/kafka/log.ts'
import type { ClaimLog } from '../../stream/kafka/topics.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { claimAlone, NOTHING_STORED, startTestKafka } from '../support/kafka.ts'
import { pause } from '../support/wait.ts'
import { point, sourceOf, subjectOf } from './entries.ts'
import { testLog } from './log-contract.ts'

const kafka = await startTestKafka()
afterEach(() => kafka.missing ?? kafka.control.thaw())
afterAll(() => kafka.stop())

let count = 0
testLog('in Kafka', {
  missing: kafka.missing,
  partitions: 3,
  tellsOutcomes: false,
  async create() {
    const prefix = `contract-${++count}`
    return {
      open: (_table, options) =>
        openKafkaLog({
          brokers: kafka.brokers,
          prefix,
          partitions: 3,
          replication: 1,
          claimLog: claimAlone,
          stored: NOTHING_STORED,
          ...options,
          onError: kafka.onError,
        }),
      async hold() {
        kafka.control.freeze()
        // A signal takes a moment to reach every thread.
        await pause(100)
        return async () => kafka.control.thaw()
      },
      async crash() {
        await kafka.control.kill9()
        await kafka.control.start()
      },
    }
  },
})

function openLog(prefix: string, claimLog: ClaimLog = claimAlone) {
  const { brokers, onError } = kafka
  return openKafkaLog({
    brokers,
    prefix,
    partitions: 1,
    replication: 1,
    claimLog,
    stored: NOTHING_STORED,
    onError,
  })
}

describe.skipIf(kafka.missing)('A process that asks a frozen Kafka', () => {
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

  it('keeps no other from claiming its log, once the topics are there', async () => {
    const claim: ClaimLog = (...of) => claimLog(db, ...of)
    await (await openLog('frozen', claim)).close()
    kafka.control.freeze()
    let opened = false
    const opening = openLog('frozen', claim).then(log => {
      opened = true
      return log
    })
    await pause(1_000)
    // The frozen one gives up after 20 s, and would hold its locks until then.
    const late = pause(15_000).then(() => 'late')
    expect(await Promise.race([claimLog(db, 'another', 1).then(() => 'claimed'), late])).toBe('claimed')
    expect(opened).toBe(false)
    kafka.control.thaw()
    await (await opening).close()
  })
})

describe.skipIf(kafka.missing)('An organization that floods Kafka', () => {
  it('delays the acknowledgement of another by a tenth of its flood at the most', async () => {
    const log = await openLog('flood')
    const other = { ended: false, subjects: [{ ...subjectOf(2), organizationId: newId() }] }
    await log.append([point(2, 0)], other)
    let acknowledged = 0
    const flood = Array.from({ length: 300 }, async (_, call) => {
      const points = Array.from({ length: 1_000 }, (_, n) => point(1, call * 1_000 + n))
      await log.append(points, sourceOf(1))
      acknowledged++
    })
    const delays: number[] = []
    while (acknowledged < flood.length / 2) {
      const before = acknowledged
      await log.append([point(2, 1 + delays.length)], other)
      delays.push(acknowledged - before)
    }
    expect(Math.max(...delays) / flood.length).toBeLessThan(0.1)
    expect(delays.length).toBeGreaterThan(5)
    await Promise.all(flood)
    await log.close()
  })
})
