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

/** PGlite is one session, so several batches at a time would only be smaller. */
const EMBEDDED_PARTITIONS = 1
/**
 * One batch is filled while another is stored. With four partitions the batches were half as large, and a point took a
 * sixth more processor time.
 */
const POSTGRES_PARTITIONS = 2

/** A writer that has lost its place in the group joins it again within 40 s, or it cannot. */
const OUTSIDE_AFTER_MS = 60_000

interface Parts {
  db: Database
  registry: Registry
  onError: (error: unknown, doing: string) => void
  onNote: (details: object, message: string) => void
}

/**
 * Opens the log of the configured tier: Kafka, or the one within the process. `dependencies` tell by name whether it
 * works.
 */
export async function openLog(
  config: Config,
  { db, registry, onError, onNote }: Parts,
): Promise<{ log: Log; dependencies: Record<string, () => Promise<boolean>> }> {
  if (!config.kafka) {
    const partitions = db.isOneSession ? EMBEDDED_PARTITIONS : POSTGRES_PARTITIONS
    const start = await claimProcessLog(db, partitions)
    const batch = db.isOneSession ? EMBEDDED_BATCH : undefined
    return {
      log: createProcessLog({ partitions, start, batch, onError }),
      dependencies: { log: async () => true },
    }
  }
  // Loaded only if needed: these are a fifth of all modules.
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
    onNote,
  })
  const storing = config.roles.has('writer')
  observeKafka(registry, log, { storing })
  const isInGroup = async () => performance.now() - (log.writing?.heardAt ?? 0) < OUTSIDE_AFTER_MS
  return { log, dependencies: { log: log.answers, ...(storing && { writer: isInGroup }) } }
}
