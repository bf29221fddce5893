/**
 * The fastest statements that insert points so that repeating them does no harm. They do nothing else: no newest fix, no
 * position of the log, no answer about new points.
 */
const COLUMNS = 'subject_key, recorded_at, received_at, speed, heading, accuracy, battery, position'

export const FORMS = ['unnest', 'copy', 'json'] as const
export type Form = (typeof FORMS)[number]

/** Nine arrays: `encodeArrays`. */
export const UNNEST = `
  INSERT INTO points (${COLUMNS})
  SELECT subject_key, to_timestamp(recorded_ms / 1000), to_timestamp(received_ms / 1000),
    speed, heading, accuracy, battery, ST_SetSRID(ST_MakePoint(lng, lat), 4326)
  FROM unnest($1::int4[], $2::float8[], $3::float8[], $4::float8[], $5::float8[], $6::float4[], $7::float4[],
    $8::float4[], $9::float4[])
    AS g(subject_key, recorded_ms, received_ms, lat, lng, speed, heading, accuracy, battery)
  ON CONFLICT DO NOTHING`

/** One text: an array of arrays, which is shorter than one of objects. */
export const JSON_ROWS = `
  INSERT INTO points (${COLUMNS})
  SELECT s, to_timestamp(t / 1000), to_timestamp(r / 1000), v, h, a, b, ST_SetSRID(ST_MakePoint(x, y), 4326)
  FROM json_to_recordset($1::json)
    AS g(s int4, t float8, r float8, y float8, x float8, v float4, h float4, a float4, b float4)
  ON CONFLICT DO NOTHING`

/** Inserts binary rows into a staging table of the session, and from there into the table. */
export const STAGING = `CREATE TEMP TABLE staging AS SELECT ${COLUMNS} FROM points WITH NO DATA`
export const COPY = (from: string) => `COPY staging FROM ${from} WITH (FORMAT binary)`
export const FROM_STAGING = `INSERT INTO points (${COLUMNS}) SELECT ${COLUMNS} FROM staging ON CONFLICT DO NOTHING`

export interface LimitOrder {
  /** PostgreSQL, or the directory of PGlite. */
  url?: string
  directory: string
  form: Form
  connections: number
  /** Rows of a statement. */
  rows: number
  warmUpSeconds: number
  seconds: number
}

export interface LimitResult {
  /** Rows committed in the window, and its length in seconds. */
  rows: number
  seconds: number
  /** Rows committed in total, with the warm-up, and the processor seconds of this process for all of them. */
  total: number
  cpuSeconds: number
}
