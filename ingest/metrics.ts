import { Counter, Histogram, type Registry } from 'prom-client'
import type { Entry } from '../stream/point.ts'

export type Door = 'mqtt' | 'http'

/** What the doors count. */
export interface IngestMetrics {
  received(door: Door, entries: readonly Entry[]): void
  acknowledged(door: Door, entries: number, seconds: number): void
}

export function createIngestMetrics(registry: Registry): IngestMetrics {
  const registers = [registry]
  const points = new Counter({
    name: 'fieldline_ingest_points_total',
    help: 'Points that were received, by door',
    labelNames: ['door'],
    registers,
  })
  const rejected = new Counter({
    name: 'fieldline_ingest_rejected_total',
    help: 'Points that were refused at the door, by reason',
    labelNames: ['door', 'reason'],
    registers,
  })
  const acknowledged = new Counter({
    name: 'fieldline_ingest_acknowledged_total',
    help: 'Points and rejections that are durable and acknowledged, by door',
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
  return {
    received(door, entries) {
      let good = 0
      for (const entry of entries) {
        if (entry.kind === 'point') good++
        else rejected.inc({ door, reason: entry.reason })
      }
      if (good > 0) points.inc({ door }, good)
    },
    acknowledged(door, entries, elapsed) {
      acknowledged.inc({ door }, entries)
      seconds.observe({ door }, elapsed)
    },
  }
}
