import type { Queryable } from '../../db/client.ts'
import { type NewestFix, readNewestOf } from '../../db/queries/newest-fixes.ts'
import type { Positions } from '../log.ts'

/**
 * Reconciles subjects whose newest fix the log alone does not show. Where an organization limits accuracy, any stored
 * fix may be the newest without an anomaly. For these subjects the table's row is read, once the writer has stored the
 * record that made it necessary.
 */
export interface Reconciliation {
  /** Adds a subject, with the record of the log that does not suffice. */
  add(subject: number, partition: number, offset: number): void
  /** Lowers the positions that were read to those before which every subject is reconciled. */
  limit(read: Positions): Map<number, number>
  close(): void
}

interface Pending {
  partition: number
  /** The first record that needs reconciling, and the last one since. */
  since: number
  offset: number
}

/**
 * In one process a record is stored before followers see it; in a cluster the writers are some hundred milliseconds
 * behind.
 */
const AGAIN_MS = 50
const AFTER_FAILURE_MS = 1_000
const READ_AT_ONCE = 1_000

export function createReconciliation(options: {
  db: Queryable
  /** Takes the newest fix of a subject, or null if it has none. */
  setNewest: (subject: number, fix: NewestFix | null) => void
  onReconciled: () => void
  onError: (error: unknown, doing: string) => void
}): Reconciliation {
  const { db, setNewest, onReconciled, onError } = options
  const pending = new Map<number, Pending>()
  let timer: NodeJS.Timeout | undefined
  let reading = false
  let closed = false

  async function readAll(): Promise<void> {
    if (reading || closed) return
    reading = true
    let pauseMs = AGAIN_MS
    try {
      const requested = [...pending].slice(0, READ_AT_ONCE)
      const rows = await readNewestOf(
        db,
        requested.map(([subject, { partition }]) => ({ subject, partition })),
      )
      for (const { subject, storedTo, fix } of rows) {
        const known = pending.get(subject)
        if (!known || storedTo <= known.since) continue
        // Records that came meanwhile are reconciled by the next read.
        known.since = Math.min(storedTo, known.offset)
        if (storedTo <= known.offset) continue
        pending.delete(subject)
        setNewest(subject, fix)
      }
      onReconciled()
    } catch (error) {
      onError(error, 'reading newest fixes, trying again')
      pauseMs = AFTER_FAILURE_MS
    } finally {
      reading = false
      if (pending.size > 0 && !closed) timer = setTimeout(() => void readAll(), pauseMs)
    }
  }

  return {
    add(subject, partition, offset) {
      const known = pending.get(subject)
      if (known) known.offset = Math.max(known.offset, offset)
      else pending.set(subject, { partition, since: offset, offset })
      if (known || pending.size > 1) return
      clearTimeout(timer)
      timer = setTimeout(() => void readAll(), 0)
    },
    limit(read) {
      const limited = new Map(read)
      for (const { partition, since } of pending.values())
        limited.set(partition, Math.min(since, limited.get(partition) ?? since))
      return limited
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
