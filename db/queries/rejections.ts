import type { Queryable } from '../client.ts'

/** A rejection with its place in the log, which identifies it, and the point that won a conflict. */
export interface NumberedRejection {
  entry: {
    subject: number
    receivedAt: number
    reason: string
    message: string
    index: number | null
    topic: string | null
    payload: string | null
  }
  offset: number
  ordinal: number
  stored?: unknown
}

/** Stores rejections and counts those that are new by reason. Again with the same ones it changes nothing. */
export async function insertRejections(
  db: Queryable,
  partition: number,
  rejections: readonly NumberedRejection[],
): Promise<void> {
  const entries = rejections.map(rejection => rejection.entry)
  await db.query(
    `WITH given AS (
       SELECT * FROM unnest($2::int8[], $3::int4[], $4::int4[], $5::float8[], $6::text[], $7::text[], $8::int4[],
         $9::text[], $10::text[], $11::jsonb[])
         AS g(log_offset, ordinal, subject_key, received_ms, reason, message, index, topic, payload, stored)
     ), inserted AS (
       INSERT INTO rejections (log_partition, log_offset, ordinal, subject_key, organization_id, received_at, reason,
         message, index, topic, payload, stored)
       SELECT $1::int4, g.log_offset, g.ordinal, g.subject_key, s.organization_id, to_timestamp(g.received_ms / 1000),
         g.reason, g.message, g.index, g.topic, g.payload, g.stored
       FROM given g JOIN subjects s ON s.key = g.subject_key
       ON CONFLICT DO NOTHING
       RETURNING subject_key, organization_id, reason
     )
     INSERT INTO rejection_counts AS old (subject_key, reason, organization_id, count)
     SELECT subject_key, reason, organization_id, count(*) FROM inserted GROUP BY 1, 2, 3 ORDER BY 1, 2
     ON CONFLICT (subject_key, reason) DO UPDATE SET count = old.count + excluded.count`,
    [
      partition,
      rejections.map(rejection => rejection.offset),
      rejections.map(rejection => rejection.ordinal),
      entries.map(entry => entry.subject),
      entries.map(entry => entry.receivedAt),
      entries.map(entry => entry.reason),
      entries.map(entry => entry.message),
      entries.map(entry => entry.index),
      entries.map(entry => entry.topic),
      entries.map(entry => entry.payload),
      rejections.map(rejection => (rejection.stored == null ? null : JSON.stringify(rejection.stored))),
    ],
  )
}

/** One rejection as the interface shows it. */
export interface RejectionRow {
  _id: string
  reason: string
  message: string
  index: number | null
  topic: string | null
  payload: string | null
  receivedAt: string
  stored?: unknown
}

/** A subject's last rejections, newest first, and how many there were by reason. */
export async function listRejections(
  tx: Queryable,
  subjectId: string,
  page: { limit: number; before: { receivedAt: string; id: string } | null },
): Promise<{ rejections: RejectionRow[]; counts: { [reason: string]: number } }> {
  const rejections = await tx.query<RejectionRow & { stored: unknown }>(
    `SELECT * FROM (
       SELECT log_partition || '-' || log_offset || '-' || ordinal AS _id, reason, message, "index", topic, payload,
         to_char(received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "receivedAt", stored
       FROM rejections WHERE subject_key = (SELECT key FROM subjects WHERE id = $1)
         AND received_at > now() - interval '30 days'
         AND ($3::timestamptz IS NULL OR received_at <= $3)
     ) r
     WHERE $3::timestamptz IS NULL OR ("receivedAt"::timestamptz, _id) < ($3, $4)
     ORDER BY "receivedAt" DESC, _id DESC LIMIT $2`,
    [subjectId, page.limit, page.before?.receivedAt ?? null, page.before?.id ?? null],
  )
  const counts = await tx.query<{ reason: string; count: number }>(
    'SELECT reason, count FROM rejection_counts WHERE subject_key = (SELECT key FROM subjects WHERE id = $1)',
    [subjectId],
  )
  return {
    rejections: rejections.map(({ stored, ...row }) => (stored == null ? row : { ...row, stored })),
    counts: Object.fromEntries(counts.map(row => [row.reason, row.count])),
  }
}

/** Removes what is beyond the last 1,000 of a subject, or older than 30 days. The counters stay. */
export async function pruneRejections(db: Queryable): Promise<void> {
  await db.query(
    `DELETE FROM rejections WHERE received_at < now() - interval '30 days' OR (log_partition, log_offset, ordinal) IN (
       SELECT log_partition, log_offset, ordinal FROM (
         SELECT log_partition, log_offset, ordinal,
           row_number() OVER (PARTITION BY subject_key ORDER BY received_at DESC) AS place
         FROM rejections
       ) numbered WHERE place > 1000 LIMIT 50000)`,
  )
}
