import type { Queryable } from '../client.ts'
import { type Visibility, visibleCondition } from '../visibility.ts'
import {
  type HistoryKey,
  type HistoryPoint,
  type HistorySubject,
  LINE_END,
  type Lines,
  type POINT_PARTS,
  pointLine,
  readLines,
  skippedLine,
} from './point-lines.ts'

/**
 * The history of subjects. Points are under no row-level security, so each query takes what the caller may see first, with
 * the organization, and finds the subjects through it; `test/api/walls` shows that it holds.
 *
 * A statement reads some thousand points at the most, as one text (`point-lines.ts`): PGlite is held up by each for
 * milliseconds, and memory by their bytes.
 */
export interface HistoryFilter {
  /** Identifiers of users and devices. */
  subjectIds: readonly string[]
  vehicleIds: readonly string[]
  /** Inclusive and exclusive, in milliseconds since 1970. */
  from: number | null
  to: number | null
  /** west, south, east, north in degrees. */
  bbox: readonly [number, number, number, number] | null
  /** Whether points that are marked as anomalies count. */
  includeAnomalies: boolean
}

export interface HistoryChunk {
  lines: Lines
  /** Whether there is nothing after it. */
  ended: boolean
}

/** How much of a history one statement reads, so that none takes long whatever is asked for. */
export interface ChunkLimits {
  /** Points that are wanted, and points that are looked at for them. */
  limit: number
  rows: number
  maxBytes: number
}

/** Of each of many subjects as many points are read as of all together are looked at. */
const MAX_ROWS_READ = 40_000
const MIN_ROWS = 50
/** Where some of what is looked at is not wanted, however few are. */
const LOOKED_AT_LEAST = 200

/** Bytes of a line beside its attributes. */
const POINT_BYTES = 90
/** Bytes up to a row, in one window: of several each has to be gone through. */
const BYTES_SO_FAR = (order: string) => `sum(${POINT_BYTES} + coalesce(octet_length(p.attributes::text), 0))
  OVER (ORDER BY ${order} ROWS UNBOUNDED PRECEDING) AS bytes`

const POINT_COLUMNS = (p: string) =>
  [
    'recorded_at',
    'received_at',
    'speed',
    'heading',
    'accuracy',
    'altitude',
    'battery',
    'position',
    'attributes',
  ]
    .map(column => `${p}.${column}`)
    .join(', ')

/** A subject with what it is called. */
const NAMED = `s.key, s.id, s.type, coalesce(d.name, u.name, '') AS name`
const NAMES = 'LEFT JOIN devices d ON d.id = s.id LEFT JOIN users u ON u.id = s.id'

/** Subjects of the filter with the intervals that count: all of a subject, and of a vehicle while it was mounted. */
function tracks(visibility: Visibility, add: (value: unknown) => string): string {
  const seen = visibleCondition('s', visibility, add)
  const seenVehicle = visibility.hubIds
    ? `(v.hub_id IS NULL OR v.hub_id = ANY(${add(visibility.hubIds)}::uuid[]))`
    : 'true'
  return `
    SELECT ${NAMED}, '-infinity'::timestamptz AS since, 'infinity'::timestamptz AS until
    FROM subjects s ${NAMES} WHERE s.organization_id = $1 AND s.id = ANY($2::uuid[]) AND ${seen}
    UNION ALL
    SELECT ${NAMED}, m.mounted_at, coalesce(m.unmounted_at, 'infinity')
    FROM mounts m JOIN vehicles v ON v.id = m.vehicle_id JOIN subjects s ON s.id = m.device_id ${NAMES}
    WHERE m.organization_id = $1 AND m.vehicle_id = ANY($3::uuid[]) AND s.id <> ALL($2::uuid[])
      AND ${seen} AND ${seenVehicle}`
}

/** The subjects of the filter that may be seen, in order of their keys. */
export async function listTracked(
  db: Queryable,
  visibility: Visibility,
  filter: HistoryFilter,
): Promise<HistorySubject[]> {
  const values: unknown[] = [visibility.organizationId, filter.subjectIds, filter.vehicleIds]
  const from = tracks(visibility, value => `$${values.push(value)}`)
  return db.query(`SELECT DISTINCT key, id, type, name FROM (${from}) t ORDER BY key`, values)
}

/** What a statement answers with: lines of points, how many rows it looked at, how many of these fit, and whose they are. */
interface Answer {
  text: string | null
  looked: number
  fitting: number
  subjects: { [key: string]: Omit<HistorySubject, 'key'> }
}

const SUBJECTS_JSON = `json_object_agg(key, json_build_object('id', id, 'type', type, 'name', name))`

/** Points in order of time, after `after`, as many as fit in `maxBytes` and one more. */
export async function readHistory(
  db: Queryable,
  visibility: Visibility,
  filter: HistoryFilter,
  page: ChunkLimits & {
    order: 'asc' | 'desc'
    after: HistoryKey | null
    parts?: keyof typeof POINT_PARTS
    /** Of this subject of the filter alone. */
    subject?: number
  },
): Promise<HistoryChunk> {
  const ascending = page.order === 'asc'
  const order = ascending ? 'ASC' : 'DESC'
  const subjects = page.subject === undefined ? filter.subjectIds.length + filter.vehicleIds.length : 1
  const share = Math.max(MIN_ROWS, Math.floor(MAX_ROWS_READ / Math.max(1, subjects)))
  const wanted = filter.includeAnomalies ? page.limit : Math.max(page.limit, LOOKED_AT_LEAST)
  const rows = Math.min(filter.bbox ? page.rows : Math.min(page.rows, wanted), share)
  const values: unknown[] = [visibility.organizationId, filter.subjectIds, filter.vehicleIds, rows]
  const add = (value: unknown) => `$${values.push(value)}`
  const conditions = ['p.recorded_at >= s.since AND p.recorded_at < s.until', ...timeConditions(filter, add)]
  if (page.after) {
    const time = `to_timestamp(${add(page.after.recordedAt)}::float8 / 1000)`
    // The first comparison alone is what an index and the pruning of partitions can use.
    conditions.push(`p.recorded_at ${ascending ? '>=' : '<='} ${time}
      AND (p.recorded_at, p.subject_key) ${ascending ? '>' : '<'} (${time}, ${add(page.after.subject)}::int4)`)
  }
  const only = page.subject === undefined ? '' : `WHERE s.key = ${add(page.subject)}::int4`
  const inside = isWanted(filter, add)
  const line = pointLine('p.subject_key', page.parts)
  const sorted = `p.recorded_at ${order}, p.subject_key ${order}`
  const fits = `bytes <= ${add(page.maxBytes)}::int4`
  const [row] = await db.query<Answer>(
    `WITH tracks AS MATERIALIZED (${tracks(visibility, add)}), sized AS (
       SELECT p.*, ${BYTES_SO_FAR(sorted)}
       FROM (SELECT p.* FROM tracks s CROSS JOIN LATERAL (
           SELECT * FROM points p WHERE p.subject_key = s.key AND ${conditions.join(' AND ')}
           ORDER BY p.recorded_at ${order} LIMIT $4
         ) p ${only} ORDER BY ${sorted} LIMIT $4) p
     )
     SELECT string_agg(CASE WHEN ${inside} THEN ${line} ELSE ${skippedLine('p.subject_key')} END, '${LINE_END}'
         ORDER BY ${sorted}) FILTER (WHERE ${fits}) AS text,
       count(*)::int4 AS looked, count(*) FILTER (WHERE ${fits})::int4 AS fitting,
       (SELECT ${SUBJECTS_JSON} FROM tracks) AS subjects
     FROM sized p`,
    values,
  )
  return toChunk(row, rows)
}

/** The points of the first of these keys, in their order; `count` says how many keys that were. */
export async function readPoints(
  db: Queryable,
  visibility: Visibility,
  keys: readonly HistoryKey[],
  maxBytes: number,
): Promise<{ lines: Lines; count: number }> {
  const values: unknown[] = [
    visibility.organizationId,
    keys.map(({ subject }) => subject),
    keys.map(({ recordedAt }) => recordedAt),
    maxBytes,
  ]
  const seen = visibleCondition('s', visibility, value => `$${values.push(value)}`)
  const [row] = await db.query<Pick<Answer, 'text' | 'subjects'> & { count: number | null }>(
    `WITH tracks AS MATERIALIZED (
       SELECT ${NAMED} FROM subjects s ${NAMES} WHERE s.organization_id = $1 AND s.key = ANY($2::int4[]) AND ${seen}
     ), sized AS (
       SELECT p.*, k.nth, ${BYTES_SO_FAR('k.nth')}
       FROM unnest($2::int4[], $3::float8[]) WITH ORDINALITY k (key, at, nth) JOIN tracks s ON s.key = k.key
         JOIN points p ON p.subject_key = k.key AND p.recorded_at = to_timestamp(k.at / 1000)
     )
     SELECT string_agg(${pointLine('p.subject_key')}, '${LINE_END}' ORDER BY nth) FILTER (WHERE bytes <= $4::int4) AS text,
       (min(nth) FILTER (WHERE bytes > $4::int4) - 1)::int4 AS count, (SELECT ${SUBJECTS_JSON} FROM tracks) AS subjects
     FROM sized p`,
    values,
  )
  const count = row?.count ?? keys.length
  return { lines: readLines(row?.text ?? '', count, row?.subjects ?? {}), count }
}

/** What was read; `rows` is how many could have been looked at. */
function toChunk(row: Answer | undefined, rows: number): HistoryChunk {
  const { text, subjects, looked, fitting } = row ?? { text: null, subjects: null, looked: 0, fitting: 0 }
  return { lines: readLines(text ?? '', fitting, subjects ?? {}), ended: looked < rows && fitting === looked }
}

function timeConditions({ from, to }: HistoryFilter, add: (value: unknown) => string): string[] {
  const conditions: string[] = []
  if (from !== null) conditions.push(`p.recorded_at >= to_timestamp(${add(from)}::float8 / 1000)`)
  if (to !== null) conditions.push(`p.recorded_at < to_timestamp(${add(to)}::float8 / 1000)`)
  return conditions
}

/**
 * The newest point of each subject of the organization, in order of subject, after a subject's key; with `to` the
 * newest before it. Of whoever has been heard of since, that is one descent of the index of each partition from `to`
 * back to where there is a point: 0.13 s for 1,000 subjects with
 * a point every six days for 240 days (PGlite 0.3 s).
 */
export async function readNewest(
  db: Queryable,
  visibility: Visibility,
  filter: Pick<HistoryFilter, 'from' | 'to' | 'bbox' | 'includeAnomalies'>,
  page: ChunkLimits & { after: number },
): Promise<HistoryChunk> {
  const rows = Math.min(page.rows, filter.bbox ? page.rows : page.limit)
  const values: unknown[] = [visibility.organizationId, page.after, rows]
  const add = (value: unknown) => `$${values.push(value)}`
  const conditions = [
    's.organization_id = $1',
    's.key > $2::int4',
    'd.deleted_at IS NULL',
    visibleCondition('s', visibility, add),
  ]
  const from = filter.from === null ? null : `to_timestamp(${add(filter.from)}::float8 / 1000)`
  const to = filter.to === null ? null : `to_timestamp(${add(filter.to)}::float8 / 1000)`
  if (from) conditions.push(`p.recorded_at >= ${from}`)
  const { includeAnomalies } = filter
  // Where the row is not the point that is meant, one descent of the index finds it.
  const isRow = [to ? `n.recorded_at < ${to}` : 'true', includeAnomalies ? 'n.last_at IS NULL' : 'true'].join(
    ' AND ',
  )
  const isOther = [
    to ? `n.recorded_at >= ${to}` : 'false',
    includeAnomalies ? 'n.last_at IS NOT NULL' : 'false',
  ].join(' OR ')
  const newest = `newest_fixes n ON n.subject_key = s.key CROSS JOIN LATERAL (
       SELECT ${POINT_COLUMNS('n')}, NULL::text AS anomaly WHERE n.position IS NOT NULL AND ${isRow}
       UNION ALL (
         SELECT ${POINT_COLUMNS('o')}, o.anomaly FROM points o
         WHERE (${isOther}) AND o.subject_key = n.subject_key ${to ? `AND o.recorded_at < ${to}` : ''}
           ${from ? `AND o.recorded_at >= ${from}` : ''} ${includeAnomalies ? '' : 'AND o.anomaly IS NULL'}
         ORDER BY o.recorded_at DESC LIMIT 1)
     ) p`
  const inside = filter.bbox ? withinBox(filter.bbox, add) : 'true'
  const fits = `bytes <= ${add(page.maxBytes)}::int4`
  const [row] = await db.query<Answer>(
    `WITH sized AS (
       SELECT p.*, ${BYTES_SO_FAR('p.key')}
       FROM (SELECT ${NAMED}, p.* FROM subjects s JOIN ${newest} ${NAMES}
         WHERE ${conditions.join(' AND ')} ORDER BY s.key LIMIT $3) p
     )
     SELECT string_agg(CASE WHEN ${inside} THEN ${pointLine('p.key')} ELSE ${skippedLine('p.key')} END, '${LINE_END}'
         ORDER BY p.key) FILTER (WHERE ${fits}) AS text,
       count(*)::int4 AS looked, count(*) FILTER (WHERE ${fits})::int4 AS fitting, ${SUBJECTS_JSON} AS subjects
     FROM sized p`,
    values,
  )
  return toChunk(row, rows)
}

/** One point, or null. */
export async function readPoint(
  db: Queryable,
  visibility: Visibility,
  subjectId: string,
  recordedAt: number,
): Promise<HistoryPoint | null> {
  const values: unknown[] = [visibility.organizationId, subjectId, recordedAt]
  const [row] = await db.query<Pick<Answer, 'text' | 'subjects'>>(
    `SELECT ${pointLine('s.key')} AS text,
       json_build_object(s.key, json_build_object('id', s.id, 'type', s.type, 'name', '')) AS subjects
     FROM subjects s JOIN points p ON p.subject_key = s.key
     WHERE s.organization_id = $1 AND s.id = $2 AND p.recorded_at = to_timestamp($3::float8 / 1000)
       AND ${visibleCondition('s', visibility, value => `$${values.push(value)}`)}`,
    values,
  )
  return readLines(row?.text ?? '', 1, row?.subjects ?? {}).take(1)[0] ?? null
}

/** Whether a point that is looked at is asked for. */
function isWanted(
  { bbox, includeAnomalies }: Pick<HistoryFilter, 'bbox' | 'includeAnomalies'>,
  add: (value: unknown) => string,
): string {
  const conditions = [
    ...(bbox ? [withinBox(bbox, add)] : []),
    ...(includeAnomalies ? [] : ['p.anomaly IS NULL']),
  ]
  return conditions.join(' AND ') || 'true'
}

/** A box that crosses the antimeridian has its west east of its east, and is two boxes. */
function withinBox(bbox: readonly [number, number, number, number], add: (value: unknown) => string): string {
  const [west, south, east, north] = bbox.map(degrees => `${add(degrees)}::float8`)
  const latitude = `ST_Y(p.position) BETWEEN ${south} AND ${north}`
  const longitude =
    bbox[0] <= bbox[2]
      ? `ST_X(p.position) BETWEEN ${west} AND ${east}`
      : `(ST_X(p.position) >= ${west} OR ST_X(p.position) <= ${east})`
  return `${latitude} AND ${longitude}`
}
