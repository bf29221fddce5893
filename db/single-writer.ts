import type { Database } from './client.ts'
import type { Driver } from './drivers/driver.ts'
import { claimLog, readLogPositions } from './queries/log-positions.ts'
import { retry } from './retry.ts'

/**
 * Without Kafka one process stores, since it numbers what it stores by itself: a second one would use the same numbers, and
 * rejections, which are known by them, would take each other's place. So it holds a lock of the database, by a session over
 * the direct connection, which ends with the process.
 *
 * Where that session is lost (a restart of the database, a network that is cut) nothing is stored until the lock is held
 * again, and not if another process has stored meanwhile: then this one has to end. What was under way when the session
 * was lost may still be committed; whoever comes next begins `LOG_GAP` above what it finds stored.
 */
const LOG_GAP = 1_000_000
/** The name of the log of one process, which has no other. */
const PROCESS_LOG = 'process'

/** Where the log of one process goes on: above what is stored, and what a process that was killed may still commit. */
export async function claimProcessLog(db: Database, partitions: number): Promise<Map<number, number>> {
  await claimLog(db, PROCESS_LOG, partitions)
  const stored = await readLogPositions(db.system)
  return new Map([...stored].map(([partition, offset]) => [partition, offset + LOG_GAP]))
}

const PATIENCE_MS = 5_000
/** The database may take so long to notice that our own session of before is gone. */
const PATIENCE_AGAIN_MS = 30_000
const RETRY_MS = 500

export interface SingleWriter {
  /** Runs `work`, which stores up to this offset of the partition, as soon as the lock is held. */
  store<T>(batch: { partition: number; nextOffset: number }, work: () => Promise<T>): Promise<T>
  release(): Promise<void>
}

/** Waits a moment for a predecessor that is just ending, and rejects then. */
export async function becomeSingleWriter(options: {
  driver: Driver
  onError: (error: unknown, doing: string) => void
  onLost: (error: Error) => void
}): Promise<SingleWriter> {
  const { driver, onError, onLost } = options
  /** The highest offset that this process may have stored, by partition. */
  const reached = new Map<number, number>()
  let released = false
  let release: (() => Promise<void>) | undefined
  let held: Promise<void> = acquire(PATIENCE_MS, false)
  await held

  async function acquire(patienceMs: number, isReacquiring: boolean): Promise<void> {
    let deadline = performance.now() + patienceMs
    const tryAcquire = async () => {
      if (released) return
      const session = { isHeld: false, hasEnded: false }
      const letGo = await driver.holdWriterLock(() => {
        session.hasEnded = true
        if (session.isHeld) lost()
      })
      if (!letGo) throw new LockedError()
      try {
        if (isReacquiring) await checkNobodyStored()
        if (session.hasEnded) throw new SessionEndedError()
      } catch (error) {
        // Or the next try would find it locked, by ourselves. Nobody may answer, so it is not waited for.
        void letGo()
        throw error
      }
      session.isHeld = true
      release = letGo
    }
    await retry(tryAcquire, {
      firstMs: RETRY_MS,
      again(error) {
        if (error instanceof LockedError) return performance.now() < deadline
        if (error instanceof OtherWriterError || !isReacquiring) return false
        // The database is away, which is no sign of another process.
        deadline = performance.now() + patienceMs
        onError(error, 'locking as the writer again')
        return true
      },
    })
  }

  async function checkNobodyStored(): Promise<void> {
    const stored = await readLogPositions({
      query: (text, values = []) => driver.runWriting({ text, values }) as Promise<never[]>,
    })
    for (const [partition, nextOffset] of stored) {
      const mine = reached.get(partition)
      if (mine !== undefined && nextOffset > mine) {
        throw new OtherWriterError('Another process has stored into this database meanwhile')
      }
    }
  }

  function lost(): void {
    if (released) return
    onError(new SessionEndedError(), 'holding the lock of the writer')
    held = acquire(PATIENCE_AGAIN_MS, true)
    held.catch(onLost)
  }

  return {
    async store({ partition, nextOffset }, work) {
      await held
      reached.set(partition, nextOffset)
      return work()
    },
    async release() {
      released = true
      await release?.()
    },
  }
}

class OtherWriterError extends Error {}

/** As `isAway` knows it. */
class SessionEndedError extends Error {
  readonly code = 'ECONNRESET'

  constructor() {
    super('The session that holds it has ended')
  }
}

class LockedError extends Error {
  constructor() {
    super(
      'Another process stores into this database already. Without KAFKA_BROKERS one process has the roles ' +
        'ingest, writer and live: stop the other first, or give this one ROLES=api,jobs.',
    )
  }
}
