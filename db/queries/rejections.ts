import type { Queryable } from '../client.ts'
import type { VisibleHubs } from '../hub-rule.ts'
import { visibleCondition } from '../visibility.ts'
import { deleteSome } from './prune.ts'

/** A rejection with its position in the log, which identifies it, and the point that won a conflict. */
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

/** The maximum of a subject's stored rejections, and their retention. */
const KEPT = 1000
const KEPT_FOR = `interval '30 days'`
const NEWEST_FIRST = 'r.received_at DESC, r.log_partition DESC, r.log_offset DESC, r.ordinal DESC'
/**
 * A subject's rows are counted once in this many new ones: finding its last thousand takes 1,000 entries of an index.
 */
const COUNTED_EVERY = 100

/**
 * Stores rejections and counts the new ones by reason. Repeating it with the same ones changes nothing. A subject whose
 * count passes a hundred loses the rows beyond its last thousand at once: a device that sends invalid data as fast as
 * it can must not fill the disk. At most a thousand rejections of one record become rows, and the others are only
 * counted: 5,000 rows took 1.5 s.
 */
export async function insertRejections(
  db: Queryable,
  partition: number,
  rejections: readonly NumberedRejection[],
): Promise<void> {
  const { kept, counted } = selectKept(rejections)
  const entries = kept.map(rejection => rejection.entry)
  const crowded = await db.query<{ subject: number }>(
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
       RETURNING log_offset, ordinal, subject_key, organization_id, reason
     ), added AS (
       SELECT subject_key, reason, organization_id, sum(count)::int8 AS count FROM (
         SELECT subject_key, reason, organization_id, 1 AS count FROM inserted
         UNION ALL
         SELECT i.subject_key, c.reason, i.organization_id, c.count
         FROM unnest($12::int8[], $13::int4[], $14::text[], $15::int4[]) AS c(log_offset, ordinal, reason, count)
         JOIN inserted i USING (log_offset, ordinal)
       ) each GROUP BY 1, 2, 3
     ), before AS (
       SELECT subject_key, sum(count) AS count FROM rejection_counts
       WHERE subject_key IN (SELECT subject_key FROM added) GROUP BY 1
     ), counted AS (
       INSERT INTO rejection_counts AS old (subject_key, reason, organization_id, count)
       SELECT subject_key, reason, organization_id, count FROM added ORDER BY 1, 2
       ON CONFLICT (subject_key, reason) DO UPDATE SET count = old.count + excluded.count
     )
     SELECT a.subject_key AS subject FROM added a LEFT JOIN before b USING (subject_key)
     GROUP BY a.subject_key, b.count
     HAVING coalesce(b.count, 0) + sum(a.count) > ${KEPT}
       AND div(coalesce(b.count, 0) + sum(a.count), ${COUNTED_EVERY}) > div(coalesce(b.count, 0), ${COUNTED_EVERY})`,
    [
      partition,
      kept.map(rejection => rejection.offset),
      kept.map(rejection => rejection.ordinal),
      entries.map(entry => entry.subject),
      entries.map(entry => entry.receivedAt),
      entries.map(entry => entry.reason),
      entries.map(entry => entry.message),
      entries.map(entry => entry.index),
      entries.map(entry => entry.topic),
      entries.map(entry => entry.payload),
      kept.map(rejection => (rejection.stored == null ? null : JSON.stringify(rejection.stored))),
      counted.map(one => one.newest.offset),
      counted.map(one => one.newest.ordinal),
      counted.map(one => one.reason),
      counted.map(one => one.count),
    ],
  )
  if (crowded.length === 0) return
  // The last row to keep is found once for a subject, and not for each of its rows.
  await db.query(
    `WITH last AS MATERIALIZED (
       SELECT key, place.* FROM unnest($1::int4[]) AS crowded(key) CROSS JOIN LATERAL (
         SELECT received_at, log_partition, log_offset, ordinal FROM rejections r WHERE subject_key = key
         ORDER BY ${NEWEST_FIRST} OFFSET ${KEPT - 1} LIMIT 1) place
     )
     DELETE FROM rejections r USING last WHERE r.subject_key = last.key AND r.received_at <= last.received_at
       AND (r.received_at, r.log_partition, r.log_offset, r.ordinal)
         < (last.received_at, last.log_partition, last.log_offset, last.ordinal)`,
    [crowded.map(({ subject }) => subject)],
  )
}

/**
 * The rejections of a reason beyond the last thousand; they are new if `newest`, of the same subject and record, is.
 */
interface Counted {
  newest: NumberedRejection
  reason: string
  count: number
}

/**
 * Selects the rejections that become rows, and counts the others. It goes by record, which is the same however often it
 * is read.
 */
function selectKept(rejections: readonly NumberedRejection[]): {
  kept: readonly NumberedRejection[]
  counted: Counted[]
} {
  if (rejections.length <= KEPT) return { kept: rejections, counted: [] }
  const sources = new Map<string, { newest: NumberedRejection; rows: number; more: Map<string, Counted> }>()
  const kept: NumberedRejection[] = []
  for (const rejection of [...rejections].sort((a, b) => b.offset - a.offset || b.ordinal - a.ordinal)) {
    const { subject, reason } = rejection.entry
    const key = `${subject} ${rejection.offset}`
    const source = sources.get(key) ?? { newest: rejection, rows: 0, more: new Map<string, Counted>() }
    sources.set(key, source)
    if (source.rows++ < KEPT) {
      kept.push(rejection)
      continue
    }
    const counted = source.more.get(reason) ?? { newest: source.newest, reason, count: 0 }
    counted.count++
    source.more.set(reason, counted)
  }
  return { kept, counted: [...sources.values()].flatMap(({ more }) => [...more.values()]) }
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

/** The end of a page: time and identifier of its last rejection. */
export interface RejectionPlace {
  receivedAt: string
  id: string
}

export interface RejectionPageRequest {
  limit: number
  before: RejectionPlace | null
  /** Only rejections with this reason. */
  reason: string | null
}

const ID = `r.log_partition || '-' || r.log_offset || '-' || r.ordinal`
const RECEIVED = `to_char(r.received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** The visibility of rejections: their payloads contain places, and the point that won a conflict is one. */
export interface RejectionVisibility {
  /** The subjects: devices in these hubs or without a hub, and users likewise. */
  hubIds: VisibleHubs
  /** Whether places of any subject are shown. */
  seesPlaces: boolean
}

/** Payload and stored point of rejection `r` of subject `s`, if the place of then is visible. */
function placesOf({ hubIds, seesPlaces }: RejectionVisibility, add: (value: unknown) => string): string {
  if (!seesPlaces) return 'NULL::text AS payload, NULL::jsonb AS stored'
  const at = `coalesce((r.stored ->> 'timestamp')::timestamptz, r.received_at)`
  const isSeen = visibleCondition('s', { subjectIds: null, teamIds: [], hubIds }, add, at)
  return `CASE WHEN ${isSeen} THEN r.payload END AS payload, CASE WHEN ${isSeen} THEN r.stored END AS stored`
}

/**
 * A page of a subject's last rejections, newest first, and their total numbers by reason. `next` is the start of the
 * next page, null on the last.
 */
export async function listRejections(
  tx: Queryable,
  subjectId: string,
  visibility: RejectionVisibility,
  page: RejectionPageRequest,
): Promise<{
  rejections: RejectionRow[]
  next: RejectionPlace | null
  counts: { [reason: string]: number }
}> {
  const [partition = null, offset = null, ordinal = null] = page.before?.id.split('-') ?? []
  const values: unknown[] = [
    subjectId,
    page.limit,
    page.before?.receivedAt ?? null,
    partition,
    offset,
    ordinal,
    page.reason,
  ]
  const places = placesOf(visibility, value => `$${values.push(value)}`)
  const found = await tx.query<RejectionRow & { stored: unknown }>(
    `SELECT ${ID} AS _id, r.reason, r.message, r."index", r.topic, r."receivedAt", ${places}
     FROM (
       SELECT *, ${RECEIVED} AS "receivedAt" FROM rejections r
       WHERE subject_key = (SELECT key FROM subjects WHERE id = $1) AND received_at > now() - ${KEPT_FOR}
       ORDER BY ${NEWEST_FIRST} LIMIT ${KEPT}
     ) r JOIN subjects s ON s.key = r.subject_key
     WHERE ($3::text IS NULL
         OR (r."receivedAt", r.log_partition, r.log_offset, r.ordinal) < ($3, $4::int4, $5::int8, $6::int4))
       AND ($7::text IS NULL OR r.reason = $7)
     ORDER BY r."receivedAt" DESC, r.log_partition DESC, r.log_offset DESC, r.ordinal DESC LIMIT $2::int4 + 1`,
    values,
  )
  const counts = await tx.query<{ reason: string; count: number }>(
    'SELECT reason, count FROM rejection_counts WHERE subject_key = (SELECT key FROM subjects WHERE id = $1)',
    [subjectId],
  )
  return {
    ...pageOf(found, page.limit),
    counts: Object.fromEntries(counts.map(row => [row.reason, row.count])),
  }
}

/** A rejection in the list of all subjects. */
export interface NamedRejectionRow extends RejectionRow {
  subjectId: string
  subjectType: 'device' | 'user'
  subjectName: string
}

/**
 * The same for all visible subjects, users among them if places are shown, optionally of one reason. A look into each subject's index finds those with the
 * newest rejections of all; no others have a place on the page, and only of these more is read.
 */
export async function listAllRejections(
  tx: Queryable,
  visibility: RejectionVisibility,
  page: RejectionPageRequest,
): Promise<{
  rejections: NamedRejectionRow[]
  next: RejectionPlace | null
  counts: { [reason: string]: number }
}> {
  const values: unknown[] = []
  const add = (value: unknown) => `$${values.push(value)}`
  const { hubIds, seesPlaces: seesUsers } = visibility
  const through = visibleCondition('s', { subjectIds: null, teamIds: [], hubIds }, add)
  const visible = `SELECT s.key, s.id, s.type, coalesce(d.name, u.name) AS name
    FROM subjects s LEFT JOIN devices d ON d.id = s.id AND d.deleted_at IS NULL LEFT JOIN users u ON u.id = s.id
    WHERE (d.id IS NOT NULL OR (u.id IS NOT NULL AND ${add(seesUsers)}::boolean)) AND ${through}`
  const counts = await tx.query<{ reason: string; count: number }>(
    `SELECT c.reason, sum(c.count)::int8 AS count FROM rejection_counts c JOIN (${visible}) v ON v.key = c.subject_key GROUP BY 1`,
    values,
  )
  const conditions = [`r.received_at > now() - ${KEPT_FOR}`]
  const reason = page.reason && add(page.reason)
  if (reason) conditions.push(`r.reason = ${reason}`)
  // Subjects without a rejection for this reason are skipped: searching a million rows of 10,000 devices took 4 s.
  const counted = `SELECT FROM rejection_counts c WHERE c.subject_key = v.key ${reason ? `AND c.reason = ${reason}` : ''}`
  if (page.before) {
    const [partition, offset, ordinal] = page.before.id.split('-')
    const place = [
      `${add(page.before.receivedAt)}::timestamptz`,
      `${add(partition)}::int4`,
      `${add(offset)}::int8`,
      `${add(ordinal)}::int4`,
    ]
    conditions.push(`(r.received_at, r.log_partition, r.log_offset, r.ordinal) < (${place})`)
  }
  const limit = `${add(page.limit)}::int4 + 1`
  const newest = (count: string) =>
    `SELECT * FROM rejections r WHERE r.subject_key = v.key AND ${conditions.join(' AND ')} ORDER BY ${NEWEST_FIRST} LIMIT ${count}`
  const found = await tx.query<NamedRejectionRow>(
    `WITH v AS MATERIALIZED (
       SELECT v.* FROM (${visible}) v CROSS JOIN LATERAL (${newest('1')}) r
       WHERE EXISTS (${counted}) ORDER BY ${NEWEST_FIRST} LIMIT ${limit}
     )
     SELECT ${ID} AS _id, v.id AS "subjectId", v.type AS "subjectType", v.name AS "subjectName", r.reason, r.message,
       r."index", r.topic, ${RECEIVED} AS "receivedAt", ${placesOf(visibility, add)}
     FROM v JOIN subjects s ON s.key = v.key CROSS JOIN LATERAL (${newest(limit)}) r ORDER BY ${NEWEST_FIRST} LIMIT ${limit}`,
    values,
  )
  return {
    ...pageOf(found, page.limit),
    counts: Object.fromEntries(counts.map(row => [row.reason, row.count])),
  }
}

function pageOf<Row extends RejectionRow>(found: Row[], limit: number) {
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return {
    rejections: shown.map(({ stored, ...row }) => (stored == null ? row : { ...row, stored })) as Row[],
    next: found.length > shown.length && last ? { receivedAt: last.receivedAt, id: last._id } : null,
  }
}

/**
 * Deletes some of the rejections that are older than 30 days. Resolves to whether there may be more. The counters stay.
 */
export const pruneRejections = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'rejections', `received_at <= now() - ${KEPT_FOR} ORDER BY received_at`)
