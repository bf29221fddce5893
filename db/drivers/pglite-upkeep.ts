import type { PGlite } from '@electric-sql/pglite'
import type { Room } from './pglite-room.ts'

/**
 * PGlite has no background processes: checkpoints by size, VACUUM and ANALYZE run only on request. Without checkpoints
 * a million points leave 0.42 GB of write-ahead log, and opening after kill -9 took 16 s; with one every 64 MB it took
 * 3.7 s (a checkpoint takes 70 ms).
 */
const WAL_BYTES_PER_CHECKPOINT = 64 * 1024 * 1024
const CHECKPOINT_EVERY_MS = 5 * 60_000
const LOOK_EVERY_MS = 2_000
const VACUUM_EVERY_MS = 60 * 60_000
/**
 * Updated rows leave dead ones behind. They are checked more often than hourly, since the newest fixes change all the
 * time.
 */
const CHURN_LOOK_EVERY_MS = 30_000
const CHURN_ROWS = 20_000

export function createUpkeep(
  pglite: PGlite,
  options: {
    room: Room
    whenIdle: (doing: string, work: () => Promise<void>) => Promise<void>
    onError: (error: unknown) => void
  },
): { stop(): void } {
  let lastLsn = ''
  let lastCheckpoint = performance.now()
  let lastVacuum = performance.now()

  async function checkpointWhenDue(): Promise<void> {
    const { rows } = await pglite.query<{ lsn: string; bytes: number }>(
      `SELECT lsn::text, coalesce(pg_wal_lsn_diff(lsn, nullif($1, '')::pg_lsn), 0)::float8 AS bytes
       FROM pg_current_wal_insert_lsn() lsn`,
      [lastLsn],
    )
    const now = rows[0]
    if (!now) return
    if (lastLsn === '') lastLsn = now.lsn
    const due =
      now.bytes > WAL_BYTES_PER_CHECKPOINT || performance.now() - lastCheckpoint > CHECKPOINT_EVERY_MS
    if (!due) return
    await pglite.exec('CHECKPOINT')
    lastLsn = now.lsn
    lastCheckpoint = performance.now()
  }

  async function vacuumWhenDue(): Promise<void> {
    // VACUUM writes more than it frees.
    if (options.room.isFull) return
    const hourly = performance.now() - lastVacuum > VACUUM_EVERY_MS
    const { rows } = await pglite.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, relname) AS name FROM pg_stat_user_tables
       WHERE n_dead_tup > $1 OR n_mod_since_analyze > $1 OR ($2 AND n_mod_since_analyze > 0)`,
      [CHURN_ROWS, hourly],
    )
    if (hourly) lastVacuum = performance.now()
    // Table by table, each in its own turn, so that points wait for one table at most.
    for (const { name } of rows) {
      void guarded(`VACUUM ${name}`, () => pglite.exec(`VACUUM (ANALYZE) ${name}`).then(() => {}))
    }
  }

  const guarded = (doing: string, work: () => Promise<void>) =>
    options.whenIdle(doing, () => work().catch(options.onError))
  const checkpoints = setInterval(() => void guarded('CHECKPOINT', checkpointWhenDue), LOOK_EVERY_MS)
  const vacuums = setInterval(
    () => void guarded('looking for tables to vacuum', vacuumWhenDue),
    CHURN_LOOK_EVERY_MS,
  )
  return {
    stop() {
      clearInterval(checkpoints)
      clearInterval(vacuums)
    },
  }
}
