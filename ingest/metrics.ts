import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Entry, Reason } from '../stream/point.ts'
import type { BreachKind } from './mqtt/protocol.ts'

export type Door = 'mqtt' | 'http'

/** What the doors count. */
export interface IngestMetrics {
  received(door: Door, entries: readonly Entry[]): void
  /** Durable and acknowledged. */
  acknowledged(door: Door, entries: number, seconds: number): void
  /** A point that was good at the door and refused when it was stored. */
  rejected(door: Door, reason: Reason): void
  /** Entries begin (or, negative, cease) to wait for the log. */
  held(door: Door, change: number): void
  /** An MQTT connection is refused or closed for what its client did. */
  refused(kind: BreachKind): void
  /** What is asked for when the figures are read. */
  observe(door: { waiting: () => number; sessionsAway: () => number }): void
}

export function createIngestMetrics(registry: Registry): IngestMetrics {
  const registers = [registry]
  /** Points since the figures were read: a sum costs a message nothing, a counter of prom-client a percent. */
  const received: Record<Door, number> = { mqtt: 0, http: 0 }
  new Counter({
    name: 'fieldline_ingest_points_total',
    help: 'Points that were received, by door',
    labelNames: ['door'],
    registers,
    collect() {
      for (const door of ['mqtt', 'http'] as const) {
        if (received[door] > 0) this.inc({ door }, received[door])
        received[door] = 0
      }
    },
  })
  const rejected = new Counter({
    name: 'fieldline_ingest_rejected_total',
    help: 'Points that were refused at the door or when they were stored, by reason',
    labelNames: ['door', 'reason'],
    registers,
  })
  const acknowledged = new Counter({
    name: 'fieldline_ingest_acknowledged_total',
    help: 'Points and rejections that are durable and acknowledged, by door',
    labelNames: ['door'],
    registers,
  })
  const held = new Gauge({
    name: 'fieldline_ingest_held',
    help: 'Points and rejections that are not yet durable: their senders wait',
    labelNames: ['door'],
    registers,
  })
  const seconds = new Histogram({
    name: 'fieldline_ingest_acknowledge_seconds',
    help: 'Time from receipt to acknowledgement',
    labelNames: ['door'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers,
  })
  const refused = new Counter({
    name: 'fieldline_mqtt_refused_total',
    help: 'MQTT connections that were refused or closed for what their client did, by kind',
    labelNames: ['kind'],
    registers,
  })
  return {
    received(door, entries) {
      for (const entry of entries) {
        if (entry.kind === 'point') received[door]++
        else rejected.inc({ door, reason: entry.reason })
      }
    },
    acknowledged(door, entries, elapsed) {
      acknowledged.inc({ door }, entries)
      seconds.observe({ door }, elapsed)
    },
    rejected: (door, reason) => rejected.inc({ door, reason }),
    held: (door, change) => held.inc({ door }, change),
    refused: kind => refused.inc({ kind }),
    observe({ waiting, sessionsAway }) {
      const gauge = (name: string, help: string, read: () => number) =>
        new Gauge({
          name,
          help,
          registers,
          collect() {
            this.set(read())
          },
        })
      gauge('fieldline_mqtt_waiting', 'MQTT connections that wait to be let in', waiting)
      gauge('fieldline_mqtt_sessions_away', 'MQTT sessions that wait for their client', sessionsAway)
    },
  }
}
