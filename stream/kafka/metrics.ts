import { Counter, Gauge, type Registry } from 'prom-client'
import { timeOfDay } from '../../db/clock.ts'
import { within } from './client.ts'
import type { KafkaLog } from './log.ts'
import { RETENTION_MS } from './topic-settings.ts'

/** A Kafka that does not answer must not delay the other metrics. */
const READ_WITHIN_MS = 2_000

/**
 * Shows how far the writers are behind, and how close that is to Kafka's retention: a point that they have not read when
 * the retention ends is lost. Every process with Kafka knows the lag, even when no writer runs. Only the writer that
 * fetched a record knows the age of the oldest record that is not stored.
 */
export function observeKafka(registry: Registry, log: KafkaLog, roles: { storing: boolean }): void {
  const registers = [registry]
  let lag: ReadonlyMap<number, number> = new Map()
  let answered = false
  let reading: Promise<void> | undefined
  let retentionMs = RETENTION_MS

  /** Reads once for all metrics of one request. */
  function read(): Promise<void> {
    if (reading) return reading
    answered = false
    const answer = log.readLag().then(found => {
      lag = found
      answered = true
    })
    reading = within(READ_WITHIN_MS, answer).finally(() => {
      reading = undefined
    })
    return reading
  }

  new Gauge({
    name: 'fieldline_log_up',
    help: 'Whether Kafka answered; while it is 0 the lag is out of date',
    registers,
    async collect() {
      await read()
      this.set(answered ? 1 : 0)
    },
  })
  new Gauge({
    name: 'fieldline_log_lag_records',
    help: 'Records in the log that the writers have not stored, by partition',
    labelNames: ['partition'],
    registers,
    async collect() {
      await read()
      for (const [partition, records] of lag) this.set({ partition }, records)
    },
  })
  new Gauge({
    name: 'fieldline_log_retention_seconds',
    help: 'How long Kafka keeps records that the writers have not stored, as the topic says',
    registers,
    async collect() {
      // Without an answer or the right to ask, the last known time remains.
      const asked = log.readRetentionMs().then(
        ms => {
          retentionMs = ms
        },
        () => {},
      )
      await within(READ_WITHIN_MS, asked)
      this.set(retentionMs / 1000)
    },
  })
  if (!roles.storing) return
  for (const [name, help, read] of [
    [
      'fieldline_log_reread_records_total',
      'Records that are read again because the database did not have them, for example after a restore',
      () => log.behind.again,
    ],
    [
      'fieldline_log_missing_records_total',
      'Records that the database does not have and Kafka no longer has: their points are lost',
      () => log.behind.missing,
    ],
  ] as const) {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  }
  new Gauge({
    name: 'fieldline_log_writer_partitions',
    help: 'Partitions that the writers have assigned to this one; 0 while it is not in their group',
    registers,
    collect() {
      this.set(log.writing?.partitions.length ?? 0)
    },
  })
  new Gauge({
    name: 'fieldline_log_unstored_seconds',
    help: 'Age of the oldest record that this writer has fetched and not stored, 0 if there is none',
    registers,
    collect() {
      const since = Math.min(...log.unstoredSince.values())
      this.set(Number.isFinite(since) ? Math.max(0, timeOfDay() - since) / 1000 : 0)
    },
  })
}
