import { afterAll, afterEach } from 'vitest'
import { openKafkaLog } from '../../stream/kafka/log.ts'
import { claimAlone, NOTHING_STORED, startTestKafka } from '../support/kafka.ts'
import { pause } from '../support/wait.ts'
import { testLog } from './log-contract.ts'

const kafka = await startTestKafka()
afterEach(() => kafka.control.thaw())
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
