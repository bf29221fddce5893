import type { Queryable } from '../client.ts'
import { toLiterals } from '../literals.ts'
import { MEASURED_NAMES, type MeasuredName } from '../measured.ts'

/** A batch of points as columns, sorted by subject and time: sorted writers never deadlock. */
export interface PointColumns extends Record<MeasuredName, (number | null)[]> {
  subject: number[]
  /** Milliseconds since 1970, also in `receivedAt`. */
  recordedAt: number[]
  receivedAt: number[]
  lat: number[]
  lng: number[]
  attributes: (string | null)[]
}

/** The position of the batch in the log. `nextOffset` is null for a part of a batch that is stored piece by piece. */
export interface LogPosition {
  partition: number
  nextOffset: number | null
}

/** The points that were stored; null if all were. */
export type Stored = { subject: number; recordedAt: number }[] | null

const VALUES = [...MEASURED_NAMES, 'attributes'] as const

/** The columns that points and newest fixes have in common. */
export const POINT_COLUMNS = ['subject_key', 'recorded_at', 'received_at', 'position', ...VALUES] as const
export const COLUMNS = POINT_COLUMNS.join(', ')

/** The arrays that a statement gets for points: the column of `GIVEN` rows, its type, and its place in `PointColumns`. */
const GIVEN: readonly (readonly [column: string, type: string, key: keyof PointColumns])[] = [
  ['subject_key', 'int4', 'subject'],
  ['recorded_ms', 'float8', 'recordedAt'],
  ['received_ms', 'float8', 'receivedAt'],
  ['lat', 'float8', 'lat'],
  ['lng', 'float8', 'lng'],
  ...MEASURED_NAMES.map(name => [name, 'float4', name] as const),
  ['attributes', 'jsonb', 'attributes'],
]

/** The given points as arrays, in the order in which `givenRows` takes them. */
export const givenColumns = (points: PointColumns) => GIVEN.map(([, , key]) => points[key])

/** The given points as rows `g`, from arrays (parameters or literals) of their columns and of `more` columns. */
export function givenRows(
  array: (index: number) => string,
  more: readonly (readonly [column: string, type: string])[] = [],
  numbered = false,
): string {
  const columns = [...GIVEN, ...more]
  const arrays = columns.map(([, type], index) => `${array(index)}::${type}[]`)
  const names = [...columns.map(([column]) => column), ...(numbered ? ['ordinality'] : [])]
  return `unnest(${arrays.join(', ')})${numbered ? ' WITH ORDINALITY' : ''} AS g(${names.join(', ')})`
}

/** `POINT_COLUMNS` of a given row. */
export const STORED_COLUMNS = `subject_key, to_timestamp(recorded_ms / 1000) AS recorded_at,
    to_timestamp(received_ms / 1000) AS received_at, ST_SetSRID(ST_MakePoint(lng, lat), 4326) AS position, ${VALUES.join(', ')}`

const parameter = (index: number) => `$${index + 1}`

/** Stores that the log is stored up to `nextOffset`, unless that is null. */
export const upsertProgress = (partition: string, nextOffset: string) => `
    INSERT INTO log_positions AS old (log_partition, next_offset)
    SELECT ${partition}::int4, ${nextOffset}::int8 WHERE ${nextOffset} IS NOT NULL
    ON CONFLICT (log_partition) DO UPDATE SET next_offset = greatest(old.next_offset, excluded.next_offset)`

/** Stores only the position of the log. */
export async function storeProgress(db: Queryable, { partition, nextOffset }: LogPosition): Promise<void> {
  await db.query(upsertProgress('$1', '$2'), [partition, nextOffset])
}

const INSERT_POINTS = `
  WITH inserted AS (
    INSERT INTO points (${COLUMNS}, anomaly)
    SELECT ${STORED_COLUMNS}, anomaly FROM ${givenRows(parameter, [['anomaly', 'text']])}
    ON CONFLICT DO NOTHING
    RETURNING subject_key, recorded_at
  )
  SELECT CASE WHEN count(*) < cardinality($1::int4[]) THEN coalesce(
      json_agg(json_build_object('subject', subject_key, 'recordedAt', round(extract(epoch FROM recorded_at) * 1000))),
      '[]') END AS stored
  FROM inserted`

/** Stores the new points in one statement. Repeating it with the same points changes nothing. */
export async function insertPoints(
  db: Queryable,
  points: PointColumns & { anomaly: (string | null)[] },
): Promise<Stored> {
  const [row] = await db.query<{ stored: Stored }>(
    INSERT_POINTS,
    toLiterals([...givenColumns(points), points.anomaly]),
  )
  return row?.stored ?? null
}

const FIND_CONFLICTS = `
  SELECT (g.ordinality - 1)::int4 AS index, json_build_object(
    'lat', ST_Y(p.position), 'lng', ST_X(p.position), 'timestamp',
      to_char(p.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    ${VALUES.map(name => `'${name}', p.${name}`).join(', ')}) AS stored
  FROM ${givenRows(parameter, [], true)}
  JOIN points p ON p.subject_key = g.subject_key AND p.recorded_at = to_timestamp(g.recorded_ms / 1000)
    AND p.recorded_at BETWEEN to_timestamp($${GIVEN.length + 1}::float8 / 1000)
      AND to_timestamp($${GIVEN.length + 2}::float8 / 1000)
  WHERE (ST_Y(p.position), ST_X(p.position)) IS DISTINCT FROM (g.lat, g.lng)
    OR ${MEASURED_NAMES.map(name => `(g.${name} IS NOT NULL AND p.${name} IS DISTINCT FROM g.${name})`).join(' OR ')}
    OR (g.attributes IS NOT NULL AND NOT coalesce(p.attributes @> g.attributes, false))`

/**
 * The points that were already there and differ from the stored ones under their identity, by their index in the
 * columns, with the stored one as the history shows it. A value that a point lacks is no difference: gateways pass on the
 * same packet with more or with less.
 */
export async function findConflicts(
  db: Queryable,
  points: PointColumns,
): Promise<{ index: number; stored: unknown }[]> {
  return db.query(FIND_CONFLICTS, [
    ...toLiterals(givenColumns(points)),
    Math.min(...points.recordedAt),
    Math.max(...points.recordedAt),
  ])
}
