import { statfsSync } from 'node:fs'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { LiveClients } from './live/clients.ts'
import type { Log } from './log.ts'

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
  let points = 0
  const onStored = (stored: { points: number; duplicates: number; rejections: number; seconds: number }) => {
    points += stored.points + stored.duplicates
    entries.inc({ kind: 'point' }, stored.points)
    entries.inc({ kind: 'duplicate' }, stored.duplicates)
    entries.inc({ kind: 'rejection' }, stored.rejections)
    seconds.observe(stored.seconds)
  }
  return { onStored, onFailed: () => failed.inc(), storedPoints: () => points }
}

/** Gauges of the parts that this process has, read when the metrics are asked for. */
export function observe(
  registry: Registry,
  parts: {
    log: Log | null
    connections: { size: number; closed: number }
    liveClients: LiveClients | undefined
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
  gauge('fieldline_data_dir_free_bytes', 'Room on the disk of DATA_DIR', () => readFree(dataDir))
  if (log) {
    gauge('fieldline_log_waiting_entries', 'Entries that wait to become durable', () => log.waiting.entries)
    gauge('fieldline_log_waiting_bytes', 'Their bytes', () => log.waiting.bytes)
  }
  if (liveClients) gauge('fieldline_live_screens', 'Screens that watch', () => liveClients.count)
  if (mqttConnections) gauge('fieldline_mqtt_connections', 'MQTT connections', mqttConnections)
}

function readFree(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    // The directory does not exist before the first file is written.
    return Number.NaN
  }
}
