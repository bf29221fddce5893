import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Entry, Reason } from '../stream/point.ts'
import type { ProtocolErrorKind } from './mqtt/protocol.ts'

/** How points arrive; `broker` means somebody else's MQTT broker, to which Fieldline subscribes. */
export type Protocol = 'mqtt' | 'http' | 'broker'

/** The metrics of ingest. */
export interface IngestMetrics {
  received(protocol: Protocol, entries: readonly Entry[]): void
  /** Counts entries that are durable and acknowledged. */
  acknowledged(protocol: Protocol, entries: number, seconds: number): void
  /** Counts a point that was valid on arrival and rejected when it was stored. */
  rejected(protocol: Protocol, reason: Reason): void
  /** Counts entries that begin to wait for the log or, with a negative number, that stop waiting. */
  waiting(protocol: Protocol, change: number): void
  /** Counts an MQTT connection that was closed because of its client, or not accepted. */
  closed(kind: ProtocolErrorKind): void
  /** Registers gauges that are read together with the metrics. */
  observe(server: {
    connecting: () => number
    sessionsAway: () => number
    /** The certificate's end is in milliseconds since 1970; undefined without TLS. */
    listeners: { certificateEndsAt: (() => number) | undefined }
  }): void
}

export function createIngestMetrics(registry: Registry): IngestMetrics {
  const registers = [registry]
  /** Points since the last read: adding here costs nothing, a counter of prom-client a per cent for each message. */
  const received: Record<Protocol, number> = { mqtt: 0, http: 0, broker: 0 }
  new Counter({
    name: 'fieldline_ingest_points_total',
    help: 'Points that were received, by protocol',
    labelNames: ['protocol'],
    registers,
    collect() {
      for (const protocol of ['mqtt', 'http', 'broker'] as const) {
        if (received[protocol] > 0) this.inc({ protocol }, received[protocol])
        received[protocol] = 0
      }
    },
  })
  const rejected = new Counter({
    name: 'fieldline_ingest_rejected_total',
    help: 'Points that were rejected when they came or when they were stored, by protocol and reason',
    labelNames: ['protocol', 'reason'],
    registers,
  })
  const acknowledged = new Counter({
    name: 'fieldline_ingest_acknowledged_total',
    help: 'Points and rejections that are durable and acknowledged, by protocol',
    labelNames: ['protocol'],
    registers,
  })
  const waiting = new Gauge({
    name: 'fieldline_ingest_waiting',
    help: 'Points and rejections that are not yet durable: their senders wait',
    labelNames: ['protocol'],
    registers,
  })
  const seconds = new Histogram({
    name: 'fieldline_ingest_acknowledge_seconds',
    help: 'Time from receipt to acknowledgement',
    labelNames: ['protocol'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers,
  })
  const closed = new Counter({
    name: 'fieldline_mqtt_closed_total',
    help: 'MQTT connections that were closed because of their client, or not accepted, by kind',
    labelNames: ['kind'],
    registers,
  })
  return {
    received(protocol, entries) {
      for (const entry of entries) {
        if (entry.kind === 'point') received[protocol]++
        else rejected.inc({ protocol, reason: entry.reason })
      }
    },
    acknowledged(protocol, entries, elapsed) {
      acknowledged.inc({ protocol }, entries)
      seconds.observe({ protocol }, elapsed)
    },
    rejected: (protocol, reason) => rejected.inc({ protocol, reason }),
    waiting: (protocol, change) => waiting.inc({ protocol }, change),
    closed: kind => closed.inc({ kind }),
    observe({ connecting, sessionsAway, listeners: { certificateEndsAt } }) {
      const gauge = (name: string, help: string, read: () => number) =>
        new Gauge({
          name,
          help,
          registers,
          collect() {
            this.set(read())
          },
        })
      gauge('fieldline_mqtt_waiting', 'MQTT connections that wait to be accepted', connecting)
      if (certificateEndsAt) {
        gauge(
          'fieldline_mqtt_certificate_expiry_timestamp_seconds',
          'When the certificate of MQTT over TLS ends',
          () => certificateEndsAt() / 1_000,
        )
      }
      gauge('fieldline_mqtt_sessions_away', 'MQTT sessions that wait for their client', sessionsAway)
    },
  }
}
