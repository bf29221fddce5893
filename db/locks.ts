/**
 * Every advisory lock of PostgreSQL that we use: its number, the same in every process, and its purpose. No two share a
 * number, so that no unrelated work waits.
 */
export const LOCKS = {
  /** Migrating the schema: processes that start together take turns. */
  migrations: 5_417_302_118,
  /** Creating the first account: only one of the processes that start together does it. */
  firstAccount: 5_417_302_119,
  /** Creating partitions of `points`. */
  partitions: 5_417_302_120,
  /** Claiming the log in which positions are counted. Held while Kafka is asked, which may be frozen. */
  logPositions: 5_417_302_121,
  /** Storing without Kafka: held by the session of the one process that stores (`single-writer.ts`). */
  writer: 5_417_302_122,
  /** Numbering changes of geofences (`queries/geofences.ts`). */
  geofenceChanges: 5_417_302_123,
  /** Adding an import to an owner's limit (`lockOwnersUntilCommit`). */
  importRoom: 5_417_302_124,
} as const

type Query<Answer> = (text: string, values: unknown[]) => Promise<Answer>

/** Takes the lock until the session ends. Returns false if another session holds it. */
export async function tryLockSession(
  session: { query: Query<{ rows: { locked: boolean }[] }> },
  lock: keyof typeof LOCKS,
): Promise<boolean> {
  const { rows } = await session.query('SELECT pg_try_advisory_lock($1) AS locked', [LOCKS[lock]])
  return rows[0]?.locked === true
}

/** Takes the lock until the transaction ends. Returns false if another session holds it. */
export async function tryLockUntilCommit(
  tx: { query: Query<{ locked: boolean }[]> },
  lock: keyof typeof LOCKS,
): Promise<boolean> {
  const [row] = await tx.query('SELECT pg_try_advisory_xact_lock($1) AS locked', [LOCKS[lock]])
  return row?.locked === true
}

/** Waits for a lock and holds it until the transaction ends. */
export async function lockUntilCommit(
  tx: { query: Query<unknown> },
  lock: keyof typeof LOCKS,
): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [LOCKS[lock]])
}

/**
 * Waits for a lock that each of these owners has, and holds them until the transaction ends. They are taken in the
 * given order, which must be the same in every transaction.
 */
export async function lockOwnersUntilCommit(
  tx: { query: Query<unknown> },
  lock: keyof typeof LOCKS,
  ownerIds: readonly string[],
): Promise<void> {
  for (const ownerId of ownerIds)
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, $2))', [ownerId, LOCKS[lock]])
}
