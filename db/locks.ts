import type { Queryable } from './client.ts'

/**
 * Every advisory lock of PostgreSQL that we take: its number, the same in every process, and what it guards. No two share
 * one, so that nobody waits for what does not concern it.
 */
export const LOCKS = {
  /** Bringing the schema up to date: processes that start together take turns. */
  migrations: 5_417_302_118,
  /** Creating the first account: of those that start together one does it. */
  firstAccount: 5_417_302_119,
  /** Creating partitions of `points`. */
  partitions: 5_417_302_120,
  /** Saying which log the positions count in. Held while Kafka is asked, which may be frozen. */
  logPositions: 5_417_302_121,
  /** Storing without Kafka: held by the session of the one process that does (`single-writer.ts`). */
  writer: 5_417_302_122,
} as const

/** Takes a lock for as long as the session lasts. False where another session has it. */
export async function tryLockForSession(
  query: (text: string, values: unknown[]) => Promise<{ rows: { taken: boolean }[] }>,
  lock: keyof typeof LOCKS,
): Promise<boolean> {
  const { rows } = await query('SELECT pg_try_advisory_lock($1) AS taken', [LOCKS[lock]])
  return rows[0]?.taken === true
}

/** Waits for a lock, and holds it until the transaction ends. */
export async function takeLock(tx: Pick<Queryable, 'query'>, lock: keyof typeof LOCKS): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCKS[lock]])
}
