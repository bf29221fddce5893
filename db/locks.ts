/**
 * Every advisory lock of PostgreSQL that we use: its number, the same in every process, and what it guards. No two share
 * one, so that nobody waits for what does not concern it.
 */
export const LOCKS = {
  /** Bringing the schema up to date: processes that start together take turns. */
  migrations: 5_417_302_118,
  /** Creating the first account: of those that start together one does it. */
  firstAccount: 5_417_302_119,
  /** Creating partitions of `points`. */
  partitions: 5_417_302_120,
  /** Saying which log the positions count in. Kept while Kafka is asked, which may be frozen. */
  logPositions: 5_417_302_121,
  /** Storing without Kafka: kept by the session of the one process that does (`single-writer.ts`). */
  writer: 5_417_302_122,
  /** Numbering changes of geofences (`queries/geofences.ts`). */
  geofenceChanges: 5_417_302_123,
  /** Adding an import to those that count against a bound, of one owner each (`lockOwnersUntilCommit`). */
  importRoom: 5_417_302_124,
} as const

type Query<Answer> = (text: string, values: unknown[]) => Promise<Answer>

/** Locks for as long as the session lasts. False where another session has the lock. */
export async function tryLockSession(
  session: { query: Query<{ rows: { locked: boolean }[] }> },
  lock: keyof typeof LOCKS,
): Promise<boolean> {
  const { rows } = await session.query('SELECT pg_try_advisory_lock($1) AS locked', [LOCKS[lock]])
  return rows[0]?.locked === true
}

/** Waits for a lock and keeps it until the transaction ends. */
export async function lockUntilCommit(
  tx: { query: Query<unknown> },
  lock: keyof typeof LOCKS,
): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCKS[lock]])
}

/**
 * Waits for a lock that each of these owners has of its own, and keeps them until the transaction ends. They are taken in
 * the order in which they are given, which has to be the same for every transaction.
 */
export async function lockOwnersUntilCommit(
  tx: { query: Query<unknown> },
  lock: keyof typeof LOCKS,
  ownerIds: readonly string[],
): Promise<void> {
  for (const ownerId of ownerIds)
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, $2))', [ownerId, LOCKS[lock]])
}
