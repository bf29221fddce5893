import type { Queryable } from '../../db/client.ts'
import { listSubjects, type SubjectInfo } from '../../db/queries/newest-fixes.ts'

/** Reads the names of subjects that the log has shown and nobody has named yet. */
export interface Naming {
  /** Adds a subject, which `read` names. */
  add(subject: number): void
  /** Whether names are missing. */
  readonly isPending: boolean
  /** Reads the missing names. It is tried until it succeeds. */
  read(): Promise<void>
}

const AFTER_FAILURE_MS = 1_000

export function createNaming(options: {
  db: Queryable
  name: (info: SubjectInfo) => void
  /** Called when no name is missing any more. */
  onNamed: () => void
  onError: (error: unknown, doing: string) => void
}): Naming {
  const { db, name, onNamed, onError } = options
  const nameless = new Set<number>()
  let reading = false

  async function read(): Promise<void> {
    if (reading) return
    reading = true
    try {
      while (nameless.size > 0) {
        const keys = [...nameless]
        for (const info of await listSubjects(db, keys)) name(info)
        // A subject that the database does not know belongs to a deleted organization.
        for (const key of keys) nameless.delete(key)
      }
      onNamed()
    } catch (error) {
      onError(error, 'reading new subjects, trying again')
      setTimeout(() => void read(), AFTER_FAILURE_MS).unref()
    } finally {
      reading = false
    }
  }

  return {
    add: subject => nameless.add(subject),
    get isPending() {
      return nameless.size > 0
    },
    read,
  }
}
