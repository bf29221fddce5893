import type { Queryable } from '../client.ts'
import { MEASURED_NAMES } from '../measured.ts'
import { scopeConditions, type Visibility, visibleCondition, visibleTimes } from '../visibility.ts'
import { type Add, firstPoints, type HistoryFilter, NAMED, NAMES, tracks } from './history-tracks.ts'
import {
  type HistoryKey,
  type HistorySubject,
  LINE_END,
  Lines,
  milliseconds,
  type PointParts,
  pointLine,
  skippedLine,
} from './point-lines.ts'

/**
 * The history of subjects. Row-level security does not protect points, so each query first takes what the caller may
 * see, with the organization, and finds the subjects through that; `test/api/walls` shows that this holds.
 *
 * A statement reads at most some thousand points, as one text (`point-lines.ts`): each blocks PGlite for milliseconds,
 * and its bytes take memory.
 */

export interface HistoryChunk {
  lines: Lines
  /** Whether it is the last chunk. */
  ended: boolean
}

/** Limits one statement, so that none takes long whatever is requested. */
export interface ChunkLimits {
  /** The maximum of points to return, and to examine for them. */
  limit: number
  rows: number
  /** The maximum of bytes from the database. If there are more, fewer points are read, but at least one. */
  maxBytes: number
}

/** With many subjects, each one's share of the points read; all together examine as many. */
const MAX_ROWS_READ = 40_000
const MIN_ROWS = 50
/** The minimum to examine if some points do not match, however few are requested. */
const LOOKED_AT_LEAST = 200

const POINT_COLUMNS = (p: string) =>
  ['recorded_at', 'received_at', ...MEASURED_NAMES, 'position', 'attributes']
    .map(column => `${p}.${column}`)
    .join(', ')

/** The visible subjects of the filter, in order of their keys. */
export async function listTracked(
  db: Queryable,
  visibility: Visibility,
  filter: HistoryFilter,
): Promise<HistorySubject[]> {
  const values: unknown[] = [visibility.organizationId, filter.subjectIds]
  const from = tracks(visibility, filter, value => `$${values.push(value)}`)
  return db.query(`SELECT DISTINCT key, id, type, name FROM (${from}) t ORDER BY key`, values)
}

const SUBJECTS_JSON = `(SELECT json_object_agg(key, json_build_object('id', id, 'type', type, 'name', name))
    FROM (SELECT DISTINCT key, id, type, name FROM tracks) s)`

/** The answer of a statement: the number of points it examined, their lines if these fit, and their subjects. */
interface Answer {
  looked: number
  bytes: number
  text: string | null
  subjects: { [key: string]: Omit<HistorySubject, 'key'> } | null
}

/** The lines of `from` in their order, if they have at most `maxBytes`, or there is only one. */
const fitting = (line: string, from: string, order: string, maxBytes: string) => `
  SELECT looked, octet_length(text) AS bytes,
    CASE WHEN octet_length(text) <= ${maxBytes}::int4 OR looked = 1 THEN text END AS text,
    ${SUBJECTS_JSON} AS subjects
  FROM (SELECT count(*)::int4 AS looked, string_agg(${line}, '${LINE_END}' ORDER BY ${order}) AS text
    FROM (${from}) p) read`

/**
 * Reads up to `rows` rows, and fewer if their lines do not fit. Counting bytes row by row costs as much as reading them
 * (86,400 points 220 ms instead of 140).
 */
async function readFitting(
  rows: number,
  maxBytes: number,
  read: (rows: number) => Promise<Answer[]>,
): Promise<HistoryChunk> {
  for (let most = rows; ; ) {
    const [{ looked, bytes, text, subjects }] = (await read(most)) as [Answer]
    if (text !== null || looked === 0) {
      return { lines: new Lines(text ?? '', looked, subjects ?? {}), ended: looked < most }
    }
    most = Math.max(1, Math.floor((looked * maxBytes) / bytes / 2))
  }
}

/** Points in order of time, after `after`. */
export async function readHistory(
  db: Queryable,
  visibility: Visibility,
  filter: HistoryFilter,
  page: ChunkLimits & {
    order: 'asc' | 'desc'
    after: HistoryKey | null
    parts?: PointParts
    /** Only this subject of the filter. */
    subject?: number
  },
): Promise<HistoryChunk> {
  const ascending = page.order === 'asc'
  const order = ascending ? 'ASC' : 'DESC'
  const subjects = page.subject === undefined ? filter.subjectIds.length + filter.vehicleIds.length : 1
  const share = Math.max(MIN_ROWS, Math.floor(MAX_ROWS_READ / Math.max(1, subjects)))
  const wanted = filter.includeAnomalies ? page.limit : Math.max(page.limit, LOOKED_AT_LEAST)
  const rows = Math.min(filter.bbox ? page.rows : Math.min(page.rows, wanted), share)
  const values: unknown[] = [visibility.organizationId, filter.subjectIds, rows]
  const add = (value: unknown) => `$${values.push(value)}`
  const conditions = timeConditions(filter, add)
  if (page.after) {
    const time = `to_timestamp(${add(page.after.recordedAt)}::float8 / 1000)`
    // Only the first comparison can be used by an index and for pruning partitions.
    conditions.push(`p.recorded_at ${ascending ? '>=' : '<='} ${time}
      AND (p.recorded_at, p.subject_key) ${ascending ? '>' : '<'} (${time}, ${add(page.after.subject)}::int4)`)
  }
  const inside = isWanted(filter, add)
  const line = `CASE WHEN ${inside} THEN ${pointLine('p.subject_key', page.parts)} ELSE ${skippedLine('p.subject_key')} END`
  const sorted = `p.recorded_at ${order}, p.subject_key ${order}`
  const only = page.subject === undefined ? null : add(page.subject)
  const from = firstPoints(visibility, filter, { ascending, conditions, only, rows: '$3' }, add)
  const text = `WITH tracks AS MATERIALIZED (${tracks(visibility, filter, add)})
    ${fitting(line, from, sorted, add(page.maxBytes))}`
  return readFitting(rows, page.maxBytes, most => db.query<Answer>(text, values.with(2, most)))
}

/**
 * The range of longitudes of a subject's next points, at most `most`: the number `looked` at, those `wanted`, and the time `last`.
 * 10,000 points take a fifth of the time of reading them.
 */
export async function readLongitudes(
  db: Queryable,
  visibility: Visibility,
  filter: HistoryFilter,
  page: { subject: number; order: 'asc' | 'desc'; after: number | null; rows: number; most: number },
): Promise<{
  looked: number
  wanted: number
  west: number | null
  east: number | null
  last: number | null
}> {
  const ascending = page.order === 'asc'
  const values: unknown[] = [visibility.organizationId, filter.subjectIds, page.rows]
  const add = (value: unknown) => `$${values.push(value)}`
  const conditions = timeConditions(filter, add)
  if (page.after !== null)
    conditions.push(`p.recorded_at ${ascending ? '>' : '<'} to_timestamp(${add(page.after)}::float8 / 1000)`)
  const isAsked = isWanted(filter, add)
  const isFirst =
    page.most < page.rows
      ? `AND count(*) FILTER (WHERE ${isAsked}) OVER (ORDER BY p.recorded_at ${ascending ? 'ASC' : 'DESC'}) <= ${add(page.most)}::int4`
      : ''
  const only = add(page.subject)
  const [row] = await db.query(
    `WITH tracks AS MATERIALIZED (${tracks(visibility, filter, add)})
     SELECT count(*)::int4 AS looked, count(*) FILTER (WHERE asked)::int4 AS wanted,
       min(lng) FILTER (WHERE asked) AS west, max(lng) FILTER (WHERE asked) AS east,
       ${milliseconds(`${ascending ? 'max' : 'min'}(recorded_at)`)}::float8 AS last
     FROM (
       SELECT p.recorded_at, ST_X(p.position) AS lng, ${isAsked} ${isFirst} AS asked
       FROM (${firstPoints(visibility, filter, { ascending, conditions, only, rows: '$3' }, add)}) p
     ) p`,
    values,
  )
  return row as never
}

/** The points of the first ones of these keys, in their order; `count` is the number of those keys. */
export async function readPoints(
  db: Queryable,
  visibility: Visibility,
  keys: readonly HistoryKey[],
  maxBytes: number,
): Promise<{ lines: Lines; count: number }> {
  const values: unknown[] = [visibility.organizationId, [], [], maxBytes]
  const add = (value: unknown) => `$${values.push(value)}`
  const { hubIds } = visibility
  const isSeen = [
    's.organization_id = $1',
    's.key = ANY($2::int4[])',
    ...scopeConditions('s', visibility, add),
  ]
  const from = `SELECT p.*, k.nth
    FROM unnest($2::int4[], $3::float8[]) WITH ORDINALITY k (key, at, nth) JOIN tracks s ON s.key = k.key
      JOIN points p ON p.subject_key = k.key AND p.recorded_at = to_timestamp(k.at / 1000)
    ${hubIds ? 'WHERE p.recorded_at <@ s.times' : ''}`
  const text = `WITH tracks AS MATERIALIZED (
      SELECT ${NAMED} ${hubIds ? `, ${visibleTimes('s', hubIds, add)} AS times` : ''} FROM subjects s ${NAMES}
      WHERE ${isSeen.join(' AND ')}
    ) ${fitting(pointLine('p.subject_key'), from, 'nth', '$4')}`
  let count = keys.length
  const { lines } = await readFitting(keys.length, maxBytes, async most => {
    count = Math.min(most, keys.length)
    const asked = keys.slice(0, count)
    values[1] = asked.map(({ subject }) => subject)
    values[2] = asked.map(({ recordedAt }) => recordedAt)
    return db.query<Answer>(text, values)
  })
  return { lines, count }
}

function timeConditions({ from, to }: HistoryFilter, add: Add): string[] {
  const conditions: string[] = []
  if (from !== null) conditions.push(`p.recorded_at >= to_timestamp(${add(from)}::float8 / 1000)`)
  if (to !== null) conditions.push(`p.recorded_at < to_timestamp(${add(to)}::float8 / 1000)`)
  return conditions
}

/**
 * The newest point of each subject of the organization, in order of subject, after a subject's key; with `to` the
 * newest before it. For subjects with later points, this is one descent of the index of each partition, from `to` back
 * to one with a point: 0.13 s for 1,000 subjects with a point every six days for 240 days (PGlite 0.3 s).
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
    ...scopeConditions('s', visibility, add),
  ]
  const { hubIds } = visibility
  const from = filter.from === null ? null : `to_timestamp(${add(filter.from)}::float8 / 1000)`
  const to = filter.to === null ? null : `to_timestamp(${add(filter.to)}::float8 / 1000)`
  if (from) conditions.push(`p.recorded_at >= ${from}`)
  const { includeAnomalies } = filter
  // If the row is not the requested point, one descent of the index finds it.
  const isRow = [
    'true',
    ...(to ? [`n.recorded_at < ${to}`] : []),
    ...(includeAnomalies ? ['n.last_at IS NULL'] : []),
    ...(hubIds ? ['n.recorded_at <@ seen.times'] : []),
  ].join(' AND ')
  const others = [
    `NOT (${isRow})`,
    'o.subject_key = n.subject_key',
    ...(to ? [`o.recorded_at < ${to}`] : []),
    ...(from ? [`o.recorded_at >= ${from}`] : []),
    ...(includeAnomalies ? [] : ['o.anomaly IS NULL']),
    ...(hubIds ? ['o.recorded_at >= lower(span)', 'o.recorded_at < upper(span)'] : []),
  ].join(' AND ')
  const times = hubIds ? `CROSS JOIN LATERAL (SELECT ${visibleTimes('s', hubIds, add)} AS times) seen` : ''
  const other = `SELECT ${POINT_COLUMNS('o')}, o.anomaly FROM points o WHERE ${others} ORDER BY o.recorded_at DESC LIMIT 1`
  const newest = `newest_fixes n ON n.subject_key = s.key ${times} CROSS JOIN LATERAL (
       SELECT ${POINT_COLUMNS('n')}, NULL::text AS anomaly WHERE n.position IS NOT NULL AND ${isRow}
       UNION ALL (${hubIds ? `SELECT o.* FROM unnest(seen.times) span CROSS JOIN LATERAL (${other}) o ORDER BY lower(span) DESC LIMIT 1` : other})
     ) p`
  const inside = filter.bbox ? withinBox(filter.bbox, add) : 'true'
  const line = `CASE WHEN ${inside} THEN ${pointLine('p.key')} ELSE ${skippedLine('p.key')} END`
  const tracks = `SELECT ${NAMED}, p.* FROM subjects s JOIN ${newest} ${NAMES}
    WHERE ${conditions.join(' AND ')} ORDER BY s.key LIMIT $3`
  const text = `WITH tracks AS MATERIALIZED (${tracks})
    ${fitting(line, 'SELECT * FROM tracks', 'p.key', add(page.maxBytes))}`
  return readFitting(rows, page.maxBytes, most => db.query<Answer>(text, values.with(2, most)))
}

/** The line of one point, or null. */
export async function readPoint(
  db: Queryable,
  visibility: Visibility,
  subjectId: string,
  recordedAt: number,
): Promise<Lines | null> {
  const values: unknown[] = [visibility.organizationId, subjectId, recordedAt]
  const [row] = await db.query<Pick<Answer, 'text' | 'subjects'>>(
    `SELECT ${pointLine('s.key')} AS text,
       json_build_object(s.key, json_build_object('id', s.id, 'type', s.type, 'name', '')) AS subjects
     FROM subjects s JOIN points p ON p.subject_key = s.key
     WHERE s.organization_id = $1 AND s.id = $2 AND p.recorded_at = to_timestamp($3::float8 / 1000)
       AND ${visibleCondition('s', visibility, value => `$${values.push(value)}`, 'p.recorded_at')}`,
    values,
  )
  return row ? new Lines(row.text ?? '', 1, row.subjects ?? {}) : null
}

/** The condition for an examined point to match. */
function isWanted(
  { bbox, includeAnomalies }: Pick<HistoryFilter, 'bbox' | 'includeAnomalies'>,
  add: Add,
): string {
  const conditions = [
    ...(bbox ? [withinBox(bbox, add)] : []),
    ...(includeAnomalies ? [] : ['p.anomaly IS NULL']),
  ]
  return conditions.join(' AND ') || 'true'
}

/** A box that crosses the antimeridian has its west east of its east, and consists of two boxes. */
function withinBox(bbox: readonly [number, number, number, number], add: Add): string {
  const [west, south, east, north] = bbox.map(degrees => `${add(degrees)}::float8`)
  const latitude = `ST_Y(p.position) BETWEEN ${south} AND ${north}`
  const longitude =
    bbox[0] <= bbox[2]
      ? `ST_X(p.position) BETWEEN ${west} AND ${east}`
      : `(ST_X(p.position) >= ${west} OR ST_X(p.position) <= ${east})`
  return `${latitude} AND ${longitude}`
}
