import type { Queryable } from '../client.ts'
import { toLiterals } from '../literals.ts'
import type { FenceShape } from '../schema/geofences.ts'

/**
 * The time spans of subjects that a batch of points may change, in which crossings have to be judged again. The process
 * that stores the points knows geofences up to a change number, `knownVersion`; the spans of `elsewhere` cross none
 * that it knows.
 */
export interface FenceSpans {
  crossing: SpanColumns
  elsewhere: SpanColumns
  knownVersion: number
}

/** Times in milliseconds since 1970, both inclusive. */
export interface SpanColumns {
  subject: number[]
  from: number[]
  to: number[]
}

const SPAN_COLUMNS = '(subject_key, organization_id, changed_from, changed_to)'
const SPAN_VALUES = `c.subject_key, s.organization_id, to_timestamp(c.from_ms / 1000), to_timestamp(c.to_ms / 1000)`

/**
 * Stores spans, in the transaction that stores their points: those that cross something, and those of organizations
 * whose geofences have changed since `knownVersion`. `of` are seven placeholders or values.
 */
export const insertSpans = (of: readonly string[]) => {
  const [subject, from, to, elseSubject, elseFrom, elseTo, known] = of
  const given = (subjects?: string, froms?: string, tos?: string) =>
    `unnest(${subjects}::int4[], ${froms}::float8[], ${tos}::float8[]) AS c(subject_key, from_ms, to_ms)
      JOIN subjects s ON s.key = c.subject_key`
  return `
    INSERT INTO geofence_spans ${SPAN_COLUMNS}
    SELECT ${SPAN_VALUES} FROM ${given(subject, from, to)}
    UNION ALL
    SELECT ${SPAN_VALUES} FROM ${given(elseSubject, elseFrom, elseTo)}
      JOIN geofence_versions v ON v.organization_id = s.organization_id AND v.version > ${known}::int8
    WHERE (SELECT max(version) FROM geofence_versions) > ${known}::int8`
}

/** The values of `insertSpans`. */
export const spanValues = ({ crossing, elsewhere, knownVersion }: FenceSpans): (string | number)[] => [
  ...toLiterals([crossing.subject, crossing.from, crossing.to]),
  ...toLiterals([elsewhere.subject, elsewhere.from, elsewhere.to]),
  knownVersion,
]

const INSERT_SPANS = insertSpans(['$1', '$2', '$3', '$4', '$5', '$6', '$7'])

/** The same as a statement of its own. */
export async function noteSpans(tx: Queryable, spans: FenceSpans): Promise<void> {
  await tx.query(INSERT_SPANS, spanValues(spans))
}

/** Organizations whose geofences changed after a change number, each with its last one. */
export function listFenceVersions(
  db: Queryable,
  after: number,
): Promise<{ organizationId: string; version: number }[]> {
  return db.query(
    `SELECT organization_id AS "organizationId", version FROM geofence_versions WHERE version > $1 ORDER BY version`,
    [after],
  )
}

/** The organizations of these subjects. */
export async function listOwners(db: Queryable, subjects: readonly number[]): Promise<Map<number, string>> {
  const rows = await db.query<{ key: number; organizationId: string }>(
    'SELECT key, organization_id AS "organizationId" FROM subjects WHERE key = ANY($1::int4[])',
    [subjects],
  )
  return new Map(rows.map(row => [row.key, row.organizationId]))
}

/** A geofence with the data for judging crossings. */
export interface Fence {
  id: string
  shape: FenceShape
  /** Milliseconds since 1970. */
  shapedAt: number
}

export function listFences(db: Queryable, organizationId: string): Promise<Fence[]> {
  return db.query(
    `SELECT id, shape, (extract(epoch FROM shaped_at) * 1000)::float8 AS "shapedAt" FROM geofences
     WHERE organization_id = $1 AND deleted_at IS NULL ORDER BY id`,
    [organizationId],
  )
}

/** Organizations with spans to judge. This cheap query runs again and again; it walks along the key. */
export async function listUnjudged(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ organizationId: string }>(
    `WITH RECURSIVE waiting AS (
       (SELECT organization_id FROM geofence_spans ORDER BY organization_id LIMIT 1)
       UNION ALL
       SELECT (SELECT g.organization_id FROM geofence_spans g WHERE g.organization_id > w.organization_id
               ORDER BY g.organization_id LIMIT 1)
       FROM waiting w WHERE w.organization_id IS NOT NULL
     ) SELECT organization_id AS "organizationId" FROM waiting WHERE organization_id IS NOT NULL`,
  )
  return rows.map(({ organizationId }) => organizationId)
}

/**
 * Locks an organization's geofences until the transaction ends, and returns the number of their last change; null if
 * there are none, or another process has locked them for judging.
 */
export async function holdFences(tx: Queryable, organizationId: string): Promise<number | null> {
  const [row] = await tx.query<{ version: number }>(
    'SELECT version FROM geofence_versions WHERE organization_id = $1 FOR NO KEY UPDATE SKIP LOCKED',
    [organizationId],
  )
  return row?.version ?? null
}

/** A time span of a subject, in milliseconds since 1970, ends included. */
export interface Span {
  subject: number
  subjectId: string
  from: number
  to: number
}

/** Takes the longest waiting spans of an organization, ordered by subject and time. */
export async function takeSpans(tx: Queryable, organizationId: string, limit: number): Promise<Span[]> {
  return tx.query(
    `WITH taken AS (
       DELETE FROM geofence_spans WHERE organization_id = $1 AND id IN (
         SELECT id FROM geofence_spans WHERE organization_id = $1 ORDER BY id LIMIT $2)
       RETURNING subject_key, changed_from, changed_to
     )
     SELECT t.subject_key AS subject, s.id AS "subjectId", (extract(epoch FROM t.changed_from) * 1000)::float8 AS "from",
       (extract(epoch FROM t.changed_to) * 1000)::float8 AS "to"
     FROM taken t JOIN subjects s ON s.key = t.subject_key ORDER BY t.subject_key, t.changed_from`,
    [organizationId, limit],
  )
}

/** Puts the rest of spans back for later. */
export async function returnSpans(
  tx: Queryable,
  organizationId: string,
  spans: readonly Span[],
): Promise<void> {
  if (spans.length === 0) return
  await tx.query(
    `INSERT INTO geofence_spans ${SPAN_COLUMNS}
     SELECT subject_key, $1, to_timestamp(from_ms / 1000), to_timestamp(to_ms / 1000)
     FROM unnest($2::int4[], $3::float8[], $4::float8[]) AS c(subject_key, from_ms, to_ms)`,
    [
      organizationId,
      spans.map(({ subject }) => subject),
      spans.map(({ from }) => from),
      spans.map(({ to }) => to),
    ],
  )
}

/** A fix with the data for judging crossings; times in milliseconds since 1970. */
export interface JudgedFix {
  /** The index of its span in the request. */
  span: number
  at: number
  receivedAt: number
  lat: number
  lng: number
}

/**
 * The fixes of spans, without anomalies, in order of time, with the last one before and the first one after each span;
 * at most `limit` within a span.
 */
export function readFixes(tx: Queryable, spans: readonly Span[], limit: number): Promise<JudgedFix[]> {
  const fixes = (condition: string, order: 'ASC' | 'DESC', many: string) => `(
    SELECT p.recorded_at, p.received_at, p.position FROM points p
    WHERE p.subject_key = g.subject_key AND p.anomaly IS NULL AND p.recorded_at ${condition}
    ORDER BY p.recorded_at ${order} LIMIT ${many})`
  return tx.query(
    `SELECT (g.nth - 1)::int4 AS span, (extract(epoch FROM p.recorded_at) * 1000)::float8 AS at,
       (extract(epoch FROM p.received_at) * 1000)::float8 AS "receivedAt", ST_Y(p.position) AS lat, ST_X(p.position) AS lng
     FROM unnest($1::int4[], $2::float8[], $3::float8[]) WITH ORDINALITY AS u(subject_key, from_ms, to_ms, nth)
     CROSS JOIN LATERAL (SELECT u.subject_key, u.nth, to_timestamp(u.from_ms / 1000) AS since,
       to_timestamp(u.to_ms / 1000) AS until) g
     CROSS JOIN LATERAL (
       ${fixes('< g.since', 'DESC', '1')}
       UNION ALL ${fixes('BETWEEN g.since AND g.until', 'ASC', '$4::int4')}
       UNION ALL ${fixes('> g.until', 'ASC', '1')}
     ) p ORDER BY g.nth, p.recorded_at`,
    [spans.map(({ subject }) => subject), spans.map(({ from }) => from), spans.map(({ to }) => to), limit],
  )
}
