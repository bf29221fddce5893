import type { Registry } from 'prom-client'
import type { Database } from '../db/client.ts'
import { lockUntilCommit } from '../db/locks.ts'
import { adoptLog, PROCESS_LOG, readLogPositions } from '../db/queries/log-positions.ts'
import { LOG_GAP } from '../db/single-writer.ts'
import { openKafkaLog } from '../stream/kafka/log.ts'
import { observeKafka } from '../stream/kafka/metrics.ts'
import type { Log } from '../stream/log.ts'
import { createProcessLog } from '../stream/process-log.ts'
import type { Config } from './config.ts'

/** PGlite is one session, so more than one batch at a time only makes them smaller. */
const EMBEDDED_PARTITIONS = 1
/** One batch is made while another is stored. With four they were half as large, and a point took a sixth more processor. */
const POSTGRES_PARTITIONS = 2

/** Opens the log of the tier that the configuration names: Kafka, or the process itself. */
export async function openLog(
  config: Config,
  parts: { db: Database; registry: Registry; onError: (error: unknown, doing: string) => void },
): Promise<{ log: Log; answers: () => Promise<boolean> }> {
  const { db, registry, onError } = parts
  if (!config.kafka) {
    const partitions = config.databaseUrl ? POSTGRES_PARTITIONS : EMBEDDED_PARTITIONS
    const start = await db.system.transaction(async tx => {
      await lockUntilCommit(tx, 'logPositions')
      await adoptLog(tx, PROCESS_LOG, partitions, false)
      const stored = await readLogPositions(tx)
      // Above what a process that was killed may still commit.
      return new Map([...stored].map(([partition, offset]) => [partition, offset + LOG_GAP]))
    })
    return { log: createProcessLog({ partitions, start, onError }), answers: async () => true }
  }
  const log = await openKafkaLog({
    ...config.kafka,
    adoptLog: work =>
      db.system.transaction(async tx => {
        await lockUntilCommit(tx, 'logPositions')
        return work((name, partitions, anew) => adoptLog(tx, name, partitions, anew))
      }),
    onError,
  })
  observeKafka(registry, log, { storing: config.roles.has('writer') })
  return { log, answers: log.answers }
}
