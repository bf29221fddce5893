import type { Queryable } from '../client.ts'
import { toLiterals } from '../literals.ts'
import { type LogPosition, POINT_COLUMNS, upsertProgress } from './points.ts'
import { type StoredTail, TAIL } from './tails.ts'

// The stored values that late or anomalous points change beside themselves. They are read and written in the writer's
// transaction, after the rows of `newest_fixes` are locked, so that only one transaction judges a subject at a time.

export interface LockedTail extends StoredTail {
  subject: number
  /** The time of the newest fix, in milliseconds since 1970. */
  newestAt: number | null
}

/** Locks the row of each subject, creating missing ones. */
export async function lockTails(
  tx: Queryable,
  subjects: readonly number[],
  partition: number,
): Promise<LockedTail[]> {
  await tx.query(
    `INSERT INTO newest_fixes (subject_key, log_partition, log_offset)
     SELECT key, $2::int4, -1 FROM unnest($1::int4[]) key ORDER BY key ON CONFLICT DO NOTHING`,
    [subjects, partition],
  )
  return tx.query(
    `SELECT n.subject_key AS subject, (extract(epoch FROM n.recorded_at) * 1000)::float8 AS "newestAt", ${TAIL}
     FROM newest_fixes n WHERE n.subject_key = ANY($1::int4[]) ORDER BY n.subject_key FOR UPDATE`,
    [subjects],
  )
}

export interface StoredFix {
  subject: number
  recordedAt: number
  lat: number
  lng: number
  anomaly: string | null
}

const MS = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`

/** Points of one subject in order of time, close to each other. */
interface Run {
  subject: number
  times: number[]
}
/** Points further apart form no run: the points between them are not read. */
const GAP_MS = 10 * 60_000
/**
 * The maximum of rows read in a run for each of its points. Late points usually come in runs: finding 4,000 points one
 * by one takes 200 ms, reading them one after another 15. If more is stored between them, each is found by itself.
 */
const ROWS_PER_POINT = 4

/**
 * These points as they are stored, with the two before and the two after each, and no farther away in time than
 * `withinMs` from all of them; sorted by subject and time, each once.
 */
export async function listNeighbours(
  tx: Queryable,
  points: readonly { subject: number; recordedAt: number }[],
  withinMs: number,
): Promise<StoredFix[]> {
  if (points.length === 0) return []
  const runs = toRuns(points)
  const times = points.map(({ recordedAt }) => recordedAt)
  const [from, to] = [Math.min(...times) - withinMs, Math.max(...times) + withinMs]
  const found = await readRuns(tx, runs, from, to)
  const [cut, singles]: [number[], Run[]] = [[], []]
  for (const [nth, { subject, times }] of runs.entries()) {
    if (found[nth]) continue
    cut.push(nth)
    singles.push(...times.map(time => ({ subject, times: [time] })))
  }
  if (cut.length > 0) {
    let at = 0
    const alone = await readRuns(tx, singles, from, to)
    for (const nth of cut) {
      const end = at + (runs[nth] as Run).times.length
      found[nth] = alone.slice(at, end).flatMap(fixes => fixes ?? [])
      at = end
    }
  }
  const fixes: StoredFix[] = []
  for (const fix of found.flatMap(run => run ?? [])) {
    const last = fixes.at(-1)
    // Two runs, or two points, may have common neighbours.
    if (last?.subject !== fix.subject || last.recordedAt < fix.recordedAt) fixes.push(fix)
  }
  return fixes
}

function toRuns(points: readonly { subject: number; recordedAt: number }[]): Run[] {
  const runs: Run[] = []
  for (const { subject, recordedAt } of points.toSorted(
    (a, b) => a.subject - b.subject || a.recordedAt - b.recordedAt,
  )) {
    const run = runs.at(-1)
    if (run?.subject === subject && recordedAt - (run.times.at(-1) as number) <= GAP_MS)
      run.times.push(recordedAt)
    else runs.push({ subject, times: [recordedAt] })
  }
  return runs
}

/**
 * The fixes of each run in order of time, with the two before and the two after it; null if the run has more stored
 * points than are read. Three descents of the index for a run, and two for a single point.
 */
async function readRuns(
  tx: Queryable,
  runs: readonly Run[],
  from: number,
  to: number,
): Promise<(StoredFix[] | null)[]> {
  const single = ({ times }: Run) => times.length === 1
  const last = ({ times }: Run) => times.at(-1) as number
  const [row] = await tx.query<{ lines: string | null }>(
    `SELECT string_agg(concat_ws(',', g.nth, ${MS('n.recorded_at')}, ST_Y(n.position), ST_X(n.position), n.anomaly), ' '
       ORDER BY g.nth, n.recorded_at) AS lines
     FROM unnest($1::int4[], $2::float8[], $3::float8[], $4::int4[], $5::float8[]) WITH ORDINALITY
         AS g(key, first, last, most, next, nth) CROSS JOIN LATERAL (
       (SELECT recorded_at, position, anomaly FROM points p
        WHERE p.subject_key = g.key AND p.recorded_at >= to_timestamp($6::float8 / 1000)
          AND p.recorded_at < to_timestamp(g.first / 1000)
        ORDER BY p.recorded_at DESC LIMIT 2)
       UNION ALL
       (SELECT recorded_at, position, anomaly FROM points p
        WHERE p.subject_key = g.key AND p.recorded_at >= to_timestamp(g.first / 1000)
          AND p.recorded_at <= to_timestamp(g.last / 1000)
        ORDER BY p.recorded_at LIMIT g.most)
       UNION ALL
       (SELECT recorded_at, position, anomaly FROM points p
        WHERE p.subject_key = g.key AND p.recorded_at <= to_timestamp($7::float8 / 1000)
          AND p.recorded_at >= to_timestamp(g.next / 1000)
        ORDER BY p.recorded_at LIMIT CASE g.most WHEN 0 THEN 3 ELSE 2 END)
     ) n`,
    [
      ...toLiterals([
        runs.map(({ subject }) => subject),
        runs.map(({ times }) => times[0] as number),
        runs.map(last),
        runs.map(run => (single(run) ? 0 : run.times.length * ROWS_PER_POINT)),
        // Times are whole milliseconds.
        runs.map(run => (single(run) ? last(run) : last(run) + 1)),
      ]),
      from,
      to,
    ],
  )
  const found: StoredFix[][] = runs.map(() => [])
  for (const line of row?.lines?.split(' ') ?? []) {
    const [nth, recordedAt, lat, lng, anomaly] = line.split(',')
    const index = Number(nth) - 1
    const { subject } = runs[index] as Run
    const fix = { subject, recordedAt: Number(recordedAt), lat: Number(lat), lng: Number(lng) }
    found[index]?.push({ ...fix, anomaly: anomaly ?? null })
  }
  return found.map((fixes, index) => {
    const run = runs[index] as Run
    const [begin, end] = [run.times[0] as number, last(run)]
    const within = fixes.filter(({ recordedAt }) => recordedAt >= begin && recordedAt <= end).length
    return single(run) || within < run.times.length * ROWS_PER_POINT ? fixes : null
  })
}

/** How far back the newest fix is searched: 10 ms of reading an index backwards. */
const MAX_ANOMALIES_IN_A_ROW = 10_000

/**
 * The last fix of a subject before this time that is no anomaly, or null; it is not searched behind too many anomalies
 * in a row.
 */
export async function findFixBefore(tx: Queryable, subject: number, before: number): Promise<number | null> {
  const [row] = await tx.query<{ at: number }>(
    `SELECT ${MS('recorded_at')} AS at FROM (
       SELECT recorded_at, anomaly FROM points
       WHERE subject_key = $1 AND recorded_at < to_timestamp($2::float8 / 1000)
       ORDER BY recorded_at DESC LIMIT ${MAX_ANOMALIES_IN_A_ROW}) p
     WHERE anomaly IS NULL ORDER BY recorded_at DESC LIMIT 1`,
    [subject, before],
  )
  return row?.at ?? null
}

/** Marks points as anomalies, or removes their mark. */
export async function markPoints(
  tx: Queryable,
  points: readonly { subject: number; recordedAt: number; anomaly: string | null }[],
): Promise<void> {
  if (points.length === 0) return
  const times = points.map(({ recordedAt }) => recordedAt)
  await tx.query(
    `UPDATE points p SET anomaly = g.anomaly
     FROM unnest($1::int4[], $2::float8[], $3::text[]) AS g(key, ms, anomaly)
     WHERE p.subject_key = g.key AND p.recorded_at = to_timestamp(g.ms / 1000)
       AND p.recorded_at BETWEEN to_timestamp($4::float8 / 1000) AND to_timestamp($5::float8 / 1000)`,
    [
      ...toLiterals([points.map(({ subject }) => subject), times, points.map(({ anomaly }) => anomaly)]),
      Math.min(...times),
      Math.max(...times),
    ],
  )
}

/** The new values of a subject's row. */
export interface MovedTail {
  subject: number
  newestAt: number | null
  last: { recordedAt: number; lat: number; lng: number }
  fast: boolean
  logOffset: number
}

/** Writes the rows of these subjects, their newest fixes as they are stored, and the stored position of the log. */
export async function moveTails(
  tx: Queryable,
  tails: readonly MovedTail[],
  position: LogPosition,
): Promise<void> {
  const newest = tails.flatMap(({ newestAt }) => (newestAt === null ? [] : [newestAt]))
  await tx.query(
    `WITH moved AS (
       UPDATE newest_fixes n SET ${POINT_COLUMNS.slice(1)
         .map(column => `${column} = p.${column}`)
         .join(', ')},
         last_at = CASE WHEN g.last_ms IS DISTINCT FROM g.newest_ms THEN to_timestamp(g.last_ms / 1000) END,
         last_position = CASE WHEN g.last_ms IS DISTINCT FROM g.newest_ms
           THEN ST_SetSRID(ST_MakePoint(g.last_lng, g.last_lat), 4326) END,
         fast = g.fast, log_partition = $8::int4, log_offset = g.log_offset
       FROM unnest($1::int4[], $2::float8[], $3::float8[], $4::float8[], $5::float8[], $6::bool[], $7::int8[])
           AS g(key, newest_ms, last_ms, last_lat, last_lng, fast, log_offset)
         LEFT JOIN points p ON p.subject_key = g.key AND p.recorded_at = to_timestamp(g.newest_ms / 1000)
           AND p.recorded_at BETWEEN to_timestamp($10::float8 / 1000) AND to_timestamp($11::float8 / 1000)
       WHERE n.subject_key = g.key
     ) ${upsertProgress('$8', '$9')}`,
    [
      ...toLiterals([
        tails.map(({ subject }) => subject),
        tails.map(({ newestAt }) => newestAt),
        tails.map(({ last }) => last.recordedAt),
        tails.map(({ last }) => last.lat),
        tails.map(({ last }) => last.lng),
        tails.map(({ fast }) => fast),
        tails.map(({ logOffset }) => logOffset),
      ]),
      position.partition,
      position.nextOffset,
      newest.length > 0 ? Math.min(...newest) : 0,
      newest.length > 0 ? Math.max(...newest) : 0,
    ],
  )
}
