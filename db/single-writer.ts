import type { Database } from './client.ts'
import type { Driver } from './drivers/driver.ts'
import { claimLog, readLogPositions } from './queries/log-positions.ts'
import { retry } from './retry.ts'

/**
 * Without Kafka only one process stores, since it numbers the stored points itself: a second one would use the same
 * numbers, and rejections, which are identified by them, would replace each other. So it holds a lock of the database,
 * through a session over the direct connection that ends with the process.
 *
 * If that session is lost (a restart of the database, a disconnected network), nothing is stored until the lock is held
 * again. If another process has stored meanwhile, this one has to end. Work that was in progress when the session was
 * lost may still be committed; the next holder begins `LOG_GAP` above the stored position that it finds.
 */
const LOG_GAP = 1_000_000
/** The name of the log of a process without Kafka. */
const PROCESS_LOG = 'process'

/**
 * The position at which the log of one process continues: above everything stored, and above what a killed process may
 * still commit.
 */
export async function claimProcessLog(db: Database, partitions: number): Promise<Map<number, number>> {
  await claimLog(db, PROCESS_LOG, partitions)
  const stored = await readLogPositions(db.system)
  return new Map([...stored].map(([partition, offset]) => [partition, offset + LOG_GAP]))
}

const MAX_WAIT_MS = 5_000
/** The database may take this long to notice that our own previous session is gone. */
const MAX_WAIT_AGAIN_MS = 30_000
const RETRY_MS = 500

export interface SingleWriter {
  /** Runs `work`, which stores up to this offset of the partition, as soon as the lock is held. */
  store<T>(batch: { partition: number; nextOffset: number }, work: () => Promise<T>): Promise<T>
  release(): Promise<void>
}

/** Waits a moment for a predecessor that is just ending, and rejects after that. */
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
  let held: Promise<void> = acquire(MAX_WAIT_MS, false)
  await held

  async function acquire(maxWaitMs: number, isReacquiring: boolean): Promise<void> {
    let deadline = performance.now() + maxWaitMs
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
        // Otherwise the next attempt would find our own lock. It is not awaited, since there may be no answer.
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
        deadline = performance.now() + maxWaitMs
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
    held = acquire(MAX_WAIT_AGAIN_MS, true)
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

/** With a code that `isAway` recognizes. */
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
