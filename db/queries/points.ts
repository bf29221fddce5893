import type { Queryable } from '../client.ts'
import { toLiterals } from '../literals.ts'

/** A batch of points as columns, sorted by subject and time: sorted writers never deadlock. */
export interface PointColumns {
  subject: number[]
  /** Milliseconds since 1970, also in `receivedAt`. */
  recordedAt: number[]
  receivedAt: number[]
  lat: number[]
  lng: number[]
  speed: (number | null)[]
  heading: (number | null)[]
  accuracy: (number | null)[]
  altitude: (number | null)[]
  battery: (number | null)[]
  attributes: (string | null)[]
}

/** The position of the batch in the log. `nextOffset` is null for a part of a batch that is stored piece by piece. */
export interface LogPosition {
  partition: number
  nextOffset: number | null
}

/** The points that were stored; null if all were. */
export type Stored = { subject: number; recordedAt: number }[] | null

export const COLUMNS = `subject_key, recorded_at, received_at, position, speed, heading, accuracy, altitude, battery, attributes`

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
    SELECT subject_key, to_timestamp(recorded_ms / 1000), to_timestamp(received_ms / 1000),
      ST_SetSRID(ST_MakePoint(lng, lat), 4326), speed, heading, accuracy, altitude, battery, attributes, anomaly
    FROM unnest($1::int4[], $2::float8[], $3::float8[], $4::float8[], $5::float8[], $6::float4[], $7::float4[],
      $8::float4[], $9::float4[], $10::float4[], $11::jsonb[], $12::text[])
      AS g(subject_key, recorded_ms, received_ms, lat, lng, speed, heading, accuracy, altitude, battery, attributes,
        anomaly)
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
    toLiterals([
      points.subject,
      points.recordedAt,
      points.receivedAt,
      points.lat,
      points.lng,
      points.speed,
      points.heading,
      points.accuracy,
      points.altitude,
      points.battery,
      points.attributes,
      points.anomaly,
    ]),
  )
  return row?.stored ?? null
}

/**
 * The points that were already there and differ from the stored ones under their identity, by their index in the
 * columns, with the stored one as the history shows it. A value that a point lacks is no difference: gateways pass on the
 * same packet with more or with less.
 */
export async function findConflicts(
  db: Queryable,
  points: PointColumns,
): Promise<{ index: number; stored: unknown }[]> {
  return db.query(
    `SELECT (g.ordinality - 1)::int4 AS index, json_build_object(
       'lat', ST_Y(p.position), 'lng', ST_X(p.position), 'timestamp',
         to_char(p.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
       'speed', p.speed, 'heading', p.heading, 'accuracy', p.accuracy, 'altitude', p.altitude,
       'battery', p.battery, 'attributes', p.attributes) AS stored
     FROM unnest($1::int4[], $2::float8[], $3::float8[], $4::float8[], $5::float4[], $6::float4[], $7::float4[],
       $8::float4[], $9::float4[], $10::jsonb[]) WITH ORDINALITY
       AS g(subject_key, recorded_ms, lat, lng, speed, heading, accuracy, altitude, battery, attributes, ordinality)
     JOIN points p ON p.subject_key = g.subject_key AND p.recorded_at = to_timestamp(g.recorded_ms / 1000)
       AND p.recorded_at BETWEEN to_timestamp($11::float8 / 1000) AND to_timestamp($12::float8 / 1000)
     WHERE (ST_Y(p.position), ST_X(p.position)) IS DISTINCT FROM (g.lat, g.lng)
       OR (g.speed IS NOT NULL AND p.speed IS DISTINCT FROM g.speed)
       OR (g.heading IS NOT NULL AND p.heading IS DISTINCT FROM g.heading)
       OR (g.accuracy IS NOT NULL AND p.accuracy IS DISTINCT FROM g.accuracy)
       OR (g.altitude IS NOT NULL AND p.altitude IS DISTINCT FROM g.altitude)
       OR (g.battery IS NOT NULL AND p.battery IS DISTINCT FROM g.battery)
       OR (g.attributes IS NOT NULL AND NOT coalesce(p.attributes @> g.attributes, false))`,
    [
      ...toLiterals([
        points.subject,
        points.recordedAt,
        points.lat,
        points.lng,
        points.speed,
        points.heading,
        points.accuracy,
        points.altitude,
        points.battery,
        points.attributes,
      ]),
      Math.min(...points.recordedAt),
      Math.max(...points.recordedAt),
    ],
  )
}
