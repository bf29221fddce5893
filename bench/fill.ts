import { openDatabase } from '../db/client.ts'
import type { Store } from './tiers.ts'

const DEVICES = 100
/** PGlite keeps the rows of a statement in memory. */
const ROWS_PER_STATEMENT = 200_000

/**
 * Fills the table by SQL in order of time: one point of every device, then the next. The first device has a day with a
 * point per second, and the other points are spread over half a year before `dayFrom` plus two days.
 */
export async function fillPoints(
  store: Store,
  amount: { rows: number; dayFrom: number; dayPoints: number },
): Promise<void> {
  const db = await openDatabase({ url: store.url, directory: store.directory, onError: () => {} })
  try {
    const keys = await db.system.query<{ key: number }>(
      `SELECT s.key FROM subjects s JOIN devices d ON d.id = s.id ORDER BY d.name LIMIT ${DEVICES}`,
    )
    const [first] = await db.system.query<{ key: number }>(
      `SELECT s.key FROM subjects s JOIN devices d ON d.id = s.id WHERE d.name = 'Tracker 1'`,
    )
    const own = first?.key
    const others = keys.map(row => row.key).filter(key => key !== own)
    const insert = (text: string, values: unknown[]) =>
      db.system.query(
        `INSERT INTO points (subject_key, recorded_at, received_at, position, speed, heading, accuracy, battery)
         SELECT key, at, at + interval '1 s', ST_SetSRID(ST_MakePoint(13.4 + n * 1e-7, 52.5 + n * 1e-7), 4326),
           12.25, 270.5, 5.5, 87 FROM (${text}) made`,
        values,
      )
    await insert(
      `SELECT $1::int4 AS key, n, to_timestamp($2::float8 / 1000 + n) AS at FROM generate_series(0, $3::int4 - 1) n`,
      [own, amount.dayFrom, amount.dayPoints],
    )
    const rounds = Math.ceil((amount.rows - amount.dayPoints) / others.length)
    const span = 182 * 24 * 3600
    const begin = amount.dayFrom / 1000 + 2 * 24 * 3600 - span
    const perStatement = Math.floor(ROWS_PER_STATEMENT / others.length)
    for (let from = 0; from < rounds; from += perStatement) {
      await insert(
        `SELECT key, n, to_timestamp($1::float8 + n * $2::float8) AS at
         FROM generate_series($3::int4, $4::int4) n, unnest($5::int4[]) key`,
        [begin, span / rounds, from, Math.min(from + perStatement, rounds) - 1, others],
      )
    }
    await db.system.query('VACUUM ANALYZE points')
    await db.system.query('CHECKPOINT')
  } finally {
    await db.close()
  }
}
