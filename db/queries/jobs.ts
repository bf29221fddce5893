import { newId, notify, type Queryable } from '../client.ts'
import { deleteSome } from './prune.ts'

/** A claimed job. */
export interface Job<Payload = unknown> {
  id: string
  kind: string
  organizationId: string | null
  payload: Payload
  /** The attempt's number, from 1. */
  attempt: number
  /** Together with the identifier, identifies the holder. */
  lease: number
  /** The progress of an earlier attempt. */
  progress: unknown
  /** The number of times that it has given way to others. */
  turns: number
  /** The owner in whose turn it runs: the root of its organization (fair/roots.ts). */
  queue: string
}

/**
 * Puts a job into the queue, in the transaction of the record that it is for. Returns its identifier, or null if a job
 * of the same kind and `uniqueKey` waits or runs already.
 */
export async function insertJob(
  tx: Queryable,
  job: {
    /** Where the record that it is for has to know it; otherwise a new one. */
    id?: string
    kind: string
    organizationId: string | null
    payload?: unknown
    uniqueKey?: string
    /** The minimum delay in milliseconds. */
    delayMs?: number
  },
): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(
    `INSERT INTO jobs (id, kind, organization_id, root, payload, unique_key, run_at)
     VALUES ($1, $2, $3, (SELECT o.root FROM organizations o WHERE o.id = $3), $4::jsonb, $5,
       now() + make_interval(secs => $6::float8 / 1000))
     ON CONFLICT (kind, unique_key) WHERE status IN ('queued', 'running') DO NOTHING RETURNING id`,
    [
      job.id ?? newId(),
      job.kind,
      job.organizationId,
      JSON.stringify(job.payload ?? {}),
      job.uniqueKey ?? null,
      job.delayMs ?? 0,
    ],
  )
  if (row && !job.delayMs) await notify(tx, { kind: 'jobs' })
  return row?.id ?? null
}

/** Puts jobs of one kind into the queue, except those whose key waits or runs already. */
export async function insertJobs(
  tx: Queryable,
  kind: string,
  jobs: readonly { organizationId: string; payload: unknown; uniqueKey: string }[],
): Promise<void> {
  if (jobs.length === 0) return
  // In one order, so that two inserts of the same keys never deadlock.
  const sorted = [...jobs].sort((a, b) => (a.uniqueKey < b.uniqueKey ? -1 : 1))
  const inserted = await tx.query(
    `INSERT INTO jobs (id, kind, organization_id, root, payload, unique_key)
     SELECT j.id, $1, organization_id, o.root, payload::jsonb, unique_key
     FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[]) AS j(id, organization_id, payload, unique_key)
       JOIN organizations o ON o.id = j.organization_id
     ON CONFLICT (kind, unique_key) WHERE status IN ('queued', 'running') DO NOTHING RETURNING 1`,
    [
      kind,
      sorted.map(() => newId()),
      sorted.map(({ organizationId }) => organizationId),
      sorted.map(({ payload }) => JSON.stringify(payload)),
      sorted.map(({ uniqueKey }) => uniqueKey),
    ],
  )
  if (inserted.length > 0) await notify(tx, { kind: 'jobs' })
}

/** The kinds with a due job. This cheap query runs again and again. */
export async function listDueKinds(db: Queryable, kinds: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ kind: string }>(
    `SELECT kind FROM unnest($1::text[]) AS k(kind) WHERE EXISTS (
       SELECT FROM jobs j WHERE j.kind = k.kind AND j.status = 'queued' AND j.run_at <= clock_timestamp())`,
    [kinds],
  )
  return new Set(rows.map(row => row.kind))
}

/**
 * Claims the next job of a kind, or returns null. It takes a job of the root of organizations that has the fewest of
 * them running, so that a full queue delays no other root, then of the root that was `served` longest ago, and then the
 * one that is due longest. The queues are walked along their index (one probe each), however many jobs they have: with
 * 100,000 of one organization it takes 1.1 ms on PostgreSQL and 4 ms on PGlite, with 500 organizations more 3.8 and 10
 * ms.
 */
export async function claimJob(
  db: Queryable,
  kind: string,
  options: {
    maxPerRoot: number
    leaseMs: number
    /** The queues from which this process took jobs last, the latest last. */
    served?: readonly string[]
    /** Only jobs that have not given way yet. */
    onlyNew?: boolean
  },
): Promise<Job | null> {
  const [row] = await db.query<Job>(
    `WITH RECURSIVE queues AS (
       (SELECT queue FROM jobs WHERE kind = $1 AND status = 'queued' ORDER BY queue LIMIT 1)
       UNION ALL
       SELECT (SELECT j.queue FROM jobs j WHERE j.kind = $1 AND j.status = 'queued' AND j.queue > q.queue
               ORDER BY j.queue LIMIT 1)
       FROM queues q WHERE q.queue IS NOT NULL
     ), busy AS (
       SELECT queue, count(*) AS running FROM jobs
       WHERE kind = $1 AND status = 'running' AND lease_until > clock_timestamp() GROUP BY queue
     ), due AS MATERIALIZED (
       SELECT d.id, row_number() OVER (
         ORDER BY coalesce(b.running, 0), coalesce(array_position($4::uuid[], q.queue), 0), d.run_at, d.id) AS turn
       FROM queues q CROSS JOIN LATERAL (
         SELECT j.id, j.run_at FROM jobs j
         WHERE j.kind = $1 AND j.status = 'queued' AND j.queue = q.queue AND j.run_at <= clock_timestamp()
           AND (NOT $5 OR j.turns = 0)
         ORDER BY j.run_at, j.id LIMIT 4
       ) d LEFT JOIN busy b ON b.queue = q.queue
       WHERE q.queue IS NOT NULL AND coalesce(b.running, 0) < $2
       ORDER BY turn LIMIT 16
     ), taken AS (
       SELECT j.id FROM jobs j JOIN due ON due.id = j.id WHERE j.status = 'queued'
       ORDER BY due.turn LIMIT 1 FOR UPDATE OF j SKIP LOCKED
     )
     UPDATE jobs j SET status = 'running', attempts = j.attempts + 1, lease = j.lease + 1, error = NULL,
       lease_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000),
       started_at = coalesce(j.started_at, clock_timestamp())
     FROM taken WHERE j.id = taken.id
     RETURNING j.id, j.kind, j.organization_id AS "organizationId", j.payload, j.attempts AS attempt, j.lease,
       j.progress, j.turns, j.queue`,
    [kind, options.maxPerRoot, options.leaseMs, options.served ?? [], options.onlyNew ?? false],
  )
  return row ?? null
}

/**
 * Whether a due job of another organization could run if this one gave way: a job of the same root, or of a root that
 * may run another one.
 */
export async function isOtherDue(
  db: Queryable,
  { kind, organizationId, queue }: Pick<Job, 'kind' | 'organizationId' | 'queue'>,
  fullQueues: readonly string[],
): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>(
    `SELECT EXISTS (SELECT FROM jobs
       WHERE kind = $1 AND status = 'queued' AND run_at <= clock_timestamp()
         AND organization_id IS DISTINCT FROM $2::uuid AND (queue = $3 OR queue <> ALL($4::uuid[]))) AS found`,
    [kind, organizationId, queue, fullQueues],
  )
  return row?.found ?? false
}

/** A lease; only its holder can finish the job. */
export type Lease = Pick<Job, 'id' | 'lease'>

/** Extends leases. Returns those that are still held, and whether their jobs are to stop. */
export async function extendLeases(
  db: Queryable,
  leases: readonly Lease[],
  leaseMs: number,
): Promise<Map<string, { cancelRequested: boolean }>> {
  const rows = await db.query<{ id: string; cancelRequested: boolean }>(
    `UPDATE jobs j SET lease_until = clock_timestamp() + make_interval(secs => $3::float8 / 1000)
     FROM unnest($1::uuid[], $2::int4[]) AS held(id, lease)
     WHERE j.id = held.id AND j.lease = held.lease AND j.status = 'running'
     RETURNING j.id, j.cancel_requested AS "cancelRequested"`,
    [leases.map(({ id }) => id), leases.map(({ lease }) => lease), leaseMs],
  )
  return new Map(rows.map(row => [row.id, row]))
}

/**
 * Stores the progress of a job, as the last statement in its transaction. Unless the lease is held, the transaction
 * must not commit. Without a value the progress stays.
 */
export async function keepProgress(
  tx: Queryable,
  lease: Lease,
  progress: unknown,
): Promise<'held' | 'cancelled' | 'lost'> {
  const [row] = await tx.query<{ cancelled: boolean }>(
    `UPDATE jobs SET progress = coalesce($3::jsonb, progress)
     WHERE id = $1 AND lease = $2 AND status = 'running' RETURNING cancel_requested AS cancelled`,
    [lease.id, lease.lease, progress === undefined ? null : JSON.stringify(progress)],
  )
  if (!row) return 'lost'
  return row.cancelled ? 'cancelled' : 'held'
}

/** Ends a job finally. Returns false if the lease was lost. */
export async function finishJob(
  tx: Queryable,
  lease: Lease,
  end: { status: 'done' | 'failed' | 'cancelled'; result?: unknown; error?: string },
): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE jobs SET status = $3, result = $4::jsonb, error = $5, lease_until = NULL, finished_at = clock_timestamp()
     WHERE id = $1 AND lease = $2 AND status = 'running' RETURNING id`,
    [lease.id, lease.lease, end.status, JSON.stringify(end.result ?? null), end.error ?? null],
  )
  return rows.length > 0
}

/**
 * Puts a job back into the queue. `counts` says whether that was an attempt: an orderly stop is none, and neither is
 * giving way to others (`isTurn`).
 */
export async function requeueJob(
  tx: Queryable,
  lease: Lease,
  again: { delayMs: number; error: string | null; counts: boolean; isTurn?: boolean },
): Promise<void> {
  await tx.query(
    `UPDATE jobs SET status = 'queued', error = $4, lease_until = NULL,
       run_at = clock_timestamp() + make_interval(secs => $3::float8 / 1000),
       attempts = attempts - CASE WHEN $5 THEN 0 ELSE 1 END, turns = turns + CASE WHEN $6 THEN 1 ELSE 0 END
     WHERE id = $1 AND lease = $2 AND status = 'running'`,
    [lease.id, lease.lease, again.delayMs, again.error, again.counts, again.isTurn ?? false],
  )
}

/** Jobs whose lease ran out; `mine` are those that run in this process all the same. */
export async function listAbandonedJobs(
  db: Queryable,
  kinds: readonly string[],
  mine: readonly string[],
): Promise<(Job & { cancelRequested: boolean })[]> {
  return db.query(
    `SELECT id, kind, organization_id AS "organizationId", payload, attempts AS attempt, lease, progress,
       turns, queue, cancel_requested AS "cancelRequested"
     FROM jobs
     WHERE kind = ANY($1::text[]) AND status = 'running' AND lease_until < clock_timestamp() AND id <> ALL($2::uuid[])
     LIMIT 100`,
    [kinds, mine],
  )
}

/** Ends every lease: for a database that no other process can have open. */
export async function abandonLeases(db: Queryable): Promise<void> {
  await db.query(`UPDATE jobs SET lease_until = '-infinity' WHERE status = 'running'`)
}

/** Cancels a waiting job, or asks a running one to stop. Returns false if it has ended. */
export async function cancelJob(tx: Queryable, id: string): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE jobs SET cancel_requested = true,
       status = CASE status WHEN 'queued' THEN 'cancelled' ELSE status END,
       finished_at = CASE status WHEN 'queued' THEN clock_timestamp() END
     WHERE id = $1 AND status IN ('queued', 'running') RETURNING id`,
    [id],
  )
  if (rows.length > 0) await notify(tx, { kind: 'jobs' })
  return rows.length > 0
}

/** The waiting or running job of a kind and key, or null. */
export async function findActiveJob(tx: Queryable, kind: string, uniqueKey: string): Promise<string | null> {
  const [row] = await tx.query<{ id: string }>(
    `SELECT id FROM jobs WHERE kind = $1 AND unique_key = $2 AND status IN ('queued', 'running')`,
    [kind, uniqueKey],
  )
  return row?.id ?? null
}

/** Deletes jobs that ended over a week ago; their results are in the records that they worked for. */
export const pruneJobs = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'jobs', `finished_at < now() - interval '7 days'`)
