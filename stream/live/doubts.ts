import type { Queryable } from '../../db/client.ts'
import { type NewestFix, readNewestOf } from '../../db/queries/newest-fixes.ts'
import type { Positions } from '../log.ts'

/**
 * Subjects whose newest fix the log alone does not tell: where an organization limits accuracy, the newest that is no
 * anomaly may be any that is stored. Of these the table's row is read, as soon as the writer has stored what raised the doubt.
 */
export interface Doubts {
  /** What a record of the log says of the subject is not enough. */
  raise(subject: number, partition: number, offset: number): void
  /** Up to where everything is settled, of what was read up to these. */
  limit(read: Positions): Map<number, number>
  close(): void
}

interface Doubt {
  partition: number
  /** The record that raised it, and the last one since then. */
  since: number
  offset: number
}

/** In one process it is stored before it is heard of; in a cluster the writers are some hundred milliseconds behind. */
const AGAIN_MS = 50
const AFTER_FAILURE_MS = 1_000
const READ_AT_ONCE = 1_000

export function createDoubts(options: {
  db: Queryable
  /** Takes the newest fix of a subject, or null where it has none. */
  settle: (subject: number, fix: NewestFix | null) => void
  onSettled: () => void
  onError: (error: unknown, doing: string) => void
}): Doubts {
  const { db, settle, onSettled, onError } = options
  const doubts = new Map<number, Doubt>()
  let timer: NodeJS.Timeout | undefined
  let reading = false
  let closed = false

  async function readAll(): Promise<void> {
    if (reading || closed) return
    reading = true
    let pauseMs = AGAIN_MS
    try {
      const asked = [...doubts].slice(0, READ_AT_ONCE)
      const rows = await readNewestOf(
        db,
        asked.map(([subject, { partition }]) => ({ subject, partition })),
      )
      for (const { subject, storedTo, fix } of rows) {
        const doubt = doubts.get(subject)
        if (!doubt || storedTo <= doubt.since) continue
        // What came meanwhile is settled by the next row.
        doubt.since = Math.min(storedTo, doubt.offset)
        if (storedTo <= doubt.offset) continue
        doubts.delete(subject)
        settle(subject, fix)
      }
      onSettled()
    } catch (error) {
      onError(error, 'reading newest fixes, trying again')
      pauseMs = AFTER_FAILURE_MS
    } finally {
      reading = false
      if (doubts.size > 0 && !closed) timer = setTimeout(() => void readAll(), pauseMs)
    }
  }

  return {
    raise(subject, partition, offset) {
      const doubt = doubts.get(subject)
      if (doubt) doubt.offset = Math.max(doubt.offset, offset)
      else doubts.set(subject, { partition, since: offset, offset })
      if (doubt || doubts.size > 1) return
      clearTimeout(timer)
      timer = setTimeout(() => void readAll(), 0)
    },
    limit(read) {
      const limited = new Map(read)
      for (const { partition, since } of doubts.values())
        limited.set(partition, Math.min(since, limited.get(partition) ?? since))
      return limited
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
