import type { Queryable } from '../client.ts'
import { deleteSome } from './prune.ts'

/**
 * The events of a device that left no point. `wrong-key` becomes `replaced-key` or `other-key` where the key is the
 * one before, or that of another device, and `wrong-name` for the device whose key came with another name.
 */
export type TraceKind =
  | 'wrong-key'
  | 'certificate-expired'
  | 'certificate-early'
  | 'wrong-topic'
  | 'wrong-will'
  | 'broken-rule'
  | 'too-large'
  | 'no-position'
  | 'connection'
export type StoredTraceKind = TraceKind | 'replaced-key' | 'other-key' | 'wrong-name'

export interface NewTrace {
  /** Null: the device that had this key before. */
  deviceId: string | null
  kind: TraceKind
  /** The age of the last time, because the database's clock counts. */
  secondsAgo: number
  count: number
  address: string | null
  detail: string | null
  /** In hexadecimal: the hash of the key that did not fit. */
  keyHash: string | null
}

const KEPT_FOR = `interval '30 days'`

/** Adds traces of devices of any organization. Those of a device that is not there are left out. */
export async function recordTraces(db: Queryable, traces: readonly NewTrace[]): Promise<void> {
  await db.query(
    `WITH given AS (
       SELECT device_id, kind, now() - make_interval(secs => seconds_ago) AS at, count, address, detail, decode(hash, 'hex') AS hash
       FROM unnest($1::uuid[], $2::text[], $3::float8[], $4::int8[], $5::text[], $6::text[], $7::text[])
         AS g(device_id, kind, seconds_ago, count, address, detail, hash)
     ), named AS (
       SELECT d.organization_id, d.id AS device_id, g.kind, g.at, g.count, g.address, g.detail, g.hash, d.replaced_key_hash
       FROM given g JOIN devices d ON d.id = g.device_id
       UNION ALL
       SELECT d.organization_id, d.id, g.kind, g.at, g.count, g.address, g.detail, g.hash, d.replaced_key_hash
       FROM given g JOIN devices d ON d.replaced_key_hash = g.hash WHERE g.device_id IS NULL
       UNION ALL
       SELECT d.organization_id, d.id, 'wrong-name', g.at, g.count, g.address, g.detail, g.hash, NULL
       FROM given g JOIN devices d ON d.key_hash = g.hash AND d.deleted_at IS NULL WHERE g.device_id IS DISTINCT FROM d.id
     ), told AS (
       SELECT organization_id, device_id, at, count, address, detail, CASE
         WHEN kind <> 'wrong-key' THEN kind
         WHEN hash = replaced_key_hash THEN 'replaced-key'
         WHEN EXISTS (SELECT FROM devices o WHERE o.key_hash = n.hash AND o.organization_id = n.organization_id
           AND o.deleted_at IS NULL) THEN 'other-key'
         ELSE 'wrong-key' END AS kind
       FROM named n
     )
     INSERT INTO device_traces AS t (organization_id, device_id, kind, first_at, last_at, count, address, detail)
     SELECT organization_id, device_id, kind, min(at), max(at), sum(count)::int8,
       (array_agg(address ORDER BY at DESC))[1], (array_agg(detail ORDER BY at DESC))[1]
     FROM told GROUP BY organization_id, device_id, kind ORDER BY organization_id, device_id, kind
     ON CONFLICT (organization_id, device_id, kind) DO UPDATE SET last_at = greatest(t.last_at, excluded.last_at),
       count = t.count + excluded.count, address = excluded.address, detail = excluded.detail`,
    [
      traces.map(({ deviceId }) => deviceId),
      traces.map(({ kind }) => kind),
      traces.map(({ secondsAgo }) => secondsAgo),
      traces.map(({ count }) => count),
      traces.map(({ address }) => address),
      traces.map(({ detail }) => detail),
      traces.map(({ keyHash }) => keyHash),
    ],
  )
}

export interface Trace {
  kind: StoredTraceKind
  firstAt: Date
  lastAt: Date
  count: number
  address: string | null
  detail: string | null
}

/** The traces of a device, newest first. */
export const listTraces = (tx: Queryable, deviceId: string): Promise<Trace[]> =>
  tx.query(
    `SELECT kind, first_at AS "firstAt", last_at AS "lastAt", count, address, detail FROM device_traces
     WHERE device_id = $1 AND last_at > now() - ${KEPT_FOR} ORDER BY last_at DESC, kind`,
    [deviceId],
  )

/** Deletes some of those that are older than 30 days. Resolves to whether there may be more. */
export const pruneTraces = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'device_traces', `last_at <= now() - ${KEPT_FOR} ORDER BY last_at`)
