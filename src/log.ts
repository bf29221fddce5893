import type { Registry } from 'prom-client'
import type { Database } from '../db/client.ts'
import {
  claimLog,
  listKnownSubjects,
  readLogPositions,
  reserveSubjectKeys,
} from '../db/queries/log-positions.ts'
import { claimProcessLog } from '../db/single-writer.ts'
import type { Log } from '../stream/log.ts'
import { createProcessLog, EMBEDDED_BATCH } from '../stream/process-log.ts'
import type { Config } from './config.ts'

/** PGlite is one session, so more than one batch at a time only makes them smaller. */
const EMBEDDED_PARTITIONS = 1
/** One batch is filled while another is stored. With four they were half as large, and a point took a sixth more processor. */
const POSTGRES_PARTITIONS = 2

/** Opens the log of the tier that the configuration names: Kafka, or the process itself. */
export async function openLog(
  config: Config,
  parts: { db: Database; registry: Registry; onError: (error: unknown, doing: string) => void },
): Promise<{ log: Log; answers: () => Promise<boolean> }> {
  const { db, registry, onError } = parts
  if (!config.kafka) {
    const partitions = db.isOneSession ? EMBEDDED_PARTITIONS : POSTGRES_PARTITIONS
    const start = await claimProcessLog(db, partitions)
    const batch = db.isOneSession ? EMBEDDED_BATCH : undefined
    return { log: createProcessLog({ partitions, start, batch, onError }), answers: async () => true }
  }
  // Loaded where it is used: a fifth of all modules.
  const [{ openKafkaLog }, { observeKafka }] = await Promise.all([
    import('../stream/kafka/log.ts'),
    import('../stream/kafka/metrics.ts'),
  ])
  const log = await openKafkaLog({
    ...config.kafka,
    claimLog: (log, partitions, begin) => claimLog(db, log, partitions, begin),
    stored: {
      readPositions: () => readLogPositions(db.system),
      listKnown: subjects => listKnownSubjects(db.system, subjects),
      reserveKeys: key => reserveSubjectKeys(db.system, key),
    },
    onError,
  })
  observeKafka(registry, log, { storing: config.roles.has('writer') })
  return { log, answers: log.answers }
}
