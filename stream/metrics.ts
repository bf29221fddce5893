import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { LiveClients } from './live/clients.ts'
import type { Log } from './log.ts'

/** What the writer counts. */
export function createWriterMetrics(registry: Registry) {
  const registers = [registry]
  const entries = new Counter({
    name: 'fieldline_stored_total',
    help: 'What was stored: points, duplicates that were there already, rejections',
    labelNames: ['kind'],
    registers,
  })
  const seconds = new Histogram({
    name: 'fieldline_store_batch_seconds',
    help: 'Time to store a batch',
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers,
  })
  return (stored: { points: number; duplicates: number; rejections: number; seconds: number }) => {
    entries.inc({ kind: 'point' }, stored.points)
    entries.inc({ kind: 'duplicate' }, stored.duplicates)
    entries.inc({ kind: 'rejection' }, stored.rejections)
    seconds.observe(stored.seconds)
  }
}

/** Figures that are read when they are asked for, of the parts that this process has. */
export function observe(
  registry: Registry,
  parts: {
    log: Log | null
    liveClients: LiveClients | undefined
    mqttConnections: (() => number) | undefined
  },
): void {
  const { log, liveClients, mqttConnections } = parts
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read())
      },
    })
  if (log) {
    gauge('fieldline_log_waiting_entries', 'Entries that wait to become durable', () => log.waiting.entries)
    gauge('fieldline_log_waiting_bytes', 'Their bytes', () => log.waiting.bytes)
  }
  if (liveClients) gauge('fieldline_live_screens', 'Screens that watch', () => liveClients.count)
  if (mqttConnections) gauge('fieldline_mqtt_connections', 'MQTT connections', mqttConnections)
}
