import { statfsSync } from 'node:fs'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { LiveClients } from './live/clients.ts'
import type { Log } from './log.ts'
import type { StoredBatch } from './writer.ts'

/**
 * The ends of the buckets of both delays, in seconds. A screen is told four times a second, and a point that waited for a
 * database may be minutes late.
 */
export const DELAY_BUCKETS: readonly number[] = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600,
]

const createDelay = (registry: Registry, name: string, help: string) =>
  new Histogram({ name, help, buckets: [...DELAY_BUCKETS], registers: [registry] })

/** Returns how to count that a frame with positions was sent to screens, `seconds` after its first point was received. */
export function createLiveDelay(registry: Registry): (seconds: number) => void {
  const delay = createDelay(
    registry,
    'fieldline_live_delay_seconds',
    'Time from receipt of the first point of a frame until it was sent to screens',
  )
  return seconds => delay.observe(seconds)
}

/** The writer's metrics. */
export function createWriterMetrics(registry: Registry) {
  const registers = [registry]
  const entries = new Counter({
    name: 'fieldline_stored_total',
    help: 'Entries stored: new points, duplicates, rejections',
    labelNames: ['kind'],
    registers,
  })
  const seconds = new Histogram({
    name: 'fieldline_store_batch_seconds',
    help: 'Time to store a batch',
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers,
  })
  const failed = new Counter({
    name: 'fieldline_store_failed_total',
    help: 'Batches that could not be stored, because the database is away or its disk is full, for example; each is tried again',
    registers,
  })
  const delay = createDelay(
    registry,
    'fieldline_store_delay_seconds',
    'Time from receipt of the first entry of a batch until the batch was stored',
  )
  let points = 0
  const onStored = (stored: StoredBatch) => {
    points += stored.points + stored.duplicates
    entries.inc({ kind: 'point' }, stored.points)
    entries.inc({ kind: 'duplicate' }, stored.duplicates)
    entries.inc({ kind: 'rejection' }, stored.rejections)
    seconds.observe(stored.seconds)
    delay.observe(stored.delaySeconds)
  }
  return { onStored, onFailed: () => failed.inc(), storedPoints: () => points }
}

/** Gauges of the parts that this process has, read when the metrics are asked for. */
export function observe(
  registry: Registry,
  parts: {
    log: Log | null
    connections: { size: number; max: number; closed: number }
    liveClients: LiveClients | undefined
    countOnline: (() => number) | undefined
    mqttConnections: (() => number) | undefined
    /** The directory of the files. */
    dataDir: string
    clockOffsetMs: () => number
  },
): void {
  const { log, connections, liveClients, mqttConnections, dataDir } = parts
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  gauge('fieldline_connections', 'Open connections of HTTP and MQTT together', () => connections.size)
  gauge('fieldline_connections_max', 'Their limit', () => connections.max)
  let closed = 0
  new Counter({
    name: 'fieldline_connections_closed_total',
    help: 'Connections that were closed to make room for others, or refused for lack of room',
    registers: [registry],
    collect() {
      this.inc(connections.closed - closed)
      closed = connections.closed
    },
  })
  gauge(
    'fieldline_clock_offset_seconds',
    "How far the database's clock, which Fieldline uses, is ahead of this machine's clock",
    () => parts.clockOffsetMs() / 1000,
  )
  gauge('fieldline_data_dir_free_bytes', 'Room on the disk of DATA_DIR', () => readDisk(dataDir).free)
  gauge('fieldline_data_dir_size_bytes', 'Size of that disk', () => readDisk(dataDir).size)
  if (log) {
    gauge('fieldline_log_waiting_entries', 'Entries that wait to become durable', () => log.waiting.entries)
    gauge('fieldline_log_waiting_bytes', 'Their bytes', () => log.waiting.bytes)
    gauge(
      'fieldline_log_oldest_waiting_seconds',
      'How long the oldest of them has been waiting',
      log.oldestWaitingSeconds,
    )
    gauge(
      'fieldline_log_waiting_max_bytes',
      'At this many bytes nothing more is read from devices',
      () => log.maxWaitingBytes,
    )
  }
  if (liveClients) gauge('fieldline_live_screens', 'Screens that watch', () => liveClients.count)
  if (parts.countOnline)
    gauge('fieldline_subjects_online', 'Users and devices that are not offline', parts.countOnline)
  if (mqttConnections) gauge('fieldline_mqtt_connections', 'MQTT connections', mqttConnections)
}

function readDisk(folder: string): { free: number; size: number } {
  try {
    const { bavail, blocks, bsize } = statfsSync(folder)
    return { free: bavail * bsize, size: blocks * bsize }
  } catch {
    // The directory does not exist before the first file is written.
    return { free: Number.NaN, size: Number.NaN }
  }
}
