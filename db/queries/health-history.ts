import { newId, type Queryable } from '../client.ts'

/** For how long samples of each kind are kept. */
export const KEPT = { minute: '1 day', hour: '31 days', day: '366 days' } as const

export type Resolution = keyof typeof KEPT

/** The figures of one process in a minute, or of all processes in the time of a sample. */
export interface StoredFigures<Figures> {
  at: Date
  figures: Figures
}

/**
 * Stores what a process has counted since its last report. Reports that no job has taken within an hour are deleted, so
 * that a server without the role `jobs` keeps 60 rows for each process.
 */
export async function insertReport(db: Queryable, figures: unknown): Promise<void> {
  await db.query(
    `WITH late AS (DELETE FROM health_reports WHERE at < now() - interval '1 hour')
     INSERT INTO health_reports (at, process_id, figures) VALUES (now(), $1, $2::jsonb)`,
    [newId(), JSON.stringify(figures)],
  )
}

/** The number of reports that one call takes; a cluster of 100 processes sends as many in ten minutes. */
const TAKEN_AT_ONCE = 1_000

/** Deletes the oldest reports and returns them. */
export function takeReports<Figures>(tx: Queryable): Promise<StoredFigures<Figures>[]> {
  return tx.query(
    `DELETE FROM health_reports WHERE (at, process_id) IN (
       SELECT at, process_id FROM health_reports ORDER BY at, process_id LIMIT ${TAKEN_AT_ONCE})
     RETURNING at, figures`,
  )
}

/** A sample and the beginning of its time. */
export interface Sample<Figures> extends StoredFigures<Figures> {
  resolution: Resolution
}

/** The samples of a resolution that begin at these times. */
export function findSamples<Figures>(
  tx: Queryable,
  resolution: Resolution,
  times: readonly Date[],
): Promise<StoredFigures<Figures>[]> {
  return tx.query(
    `SELECT at, figures FROM health_samples WHERE resolution = $1 AND at = ANY($2::timestamptz[])`,
    [resolution, times],
  )
}

export async function writeSamples<Figures>(
  tx: Queryable,
  samples: readonly Sample<Figures>[],
): Promise<void> {
  await tx.query(
    `INSERT INTO health_samples (resolution, at, figures)
     SELECT resolution, at, figures::jsonb
     FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS s(resolution, at, figures)
     ON CONFLICT (resolution, at) DO UPDATE SET figures = excluded.figures`,
    [
      samples.map(({ resolution }) => resolution),
      samples.map(({ at }) => at),
      samples.map(({ figures }) => JSON.stringify(figures)),
    ],
  )
}

/** The samples of a resolution from a time on, the oldest first. */
export function listSamples<Figures>(
  db: Queryable,
  resolution: Resolution,
  from: Date,
): Promise<StoredFigures<Figures>[]> {
  return db.query(
    `SELECT at, figures FROM health_samples WHERE resolution = $1 AND at >= $2::timestamptz ORDER BY at`,
    [resolution, from],
  )
}

/** Deletes samples that are too old, and those that a wrong clock has dated in the future. */
export async function pruneSamples(tx: Queryable): Promise<void> {
  const old = Object.entries(KEPT).map(
    ([resolution, kept]) => `(resolution = '${resolution}' AND at < now() - interval '${kept}')`,
  )
  await tx.query(`DELETE FROM health_samples WHERE at > now() + interval '1 day' OR ${old.join(' OR ')}`)
}

/** The bytes of the database on its own disk. PostgreSQL adds up the sizes of its files: some milliseconds. */
export async function measureDatabase(db: Queryable): Promise<number> {
  const [row] = await db.query<{ bytes: number }>(
    'SELECT pg_database_size(current_database())::float8 AS bytes',
  )
  return (row as { bytes: number }).bytes
}
