import { setImmediate } from 'node:timers/promises'
import type { Queryable } from '../../db/client.ts'
import {
  listAllSubjects,
  listSubjectsOf,
  listViews,
  type SubjectInfo,
  type View,
} from '../../db/queries/newest-fixes.ts'
import { retry } from '../../db/retry.ts'

/** Reads the visibility and names of known subjects again after a change. */
export interface Refreshing {
  /** Resolves when an organization's subjects have been read after the call. Many changes in a row share one read. */
  one(organizationId: string): Promise<void>
  all(): Promise<void>
  close(): void
}

const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 500
/** Each takes a few microseconds. */
const NAMED_IN_A_TURN = 1_000

export function createRefreshing(options: {
  db: Queryable
  /** The named subjects of an organization, or of all. */
  listKnown: (organizationId: string | null) => SubjectInfo[]
  name: (info: SubjectInfo) => void
  setView: (organizationId: string, view: View) => void
  onError: (error: unknown, doing: string) => void
}): Refreshing {
  const { db, listKnown, name, setView, onError } = options
  /** The running read of each organization, and the next one. */
  const running = new Map<string, { current: Promise<void>; next: Promise<void> | undefined }>()
  /** The organizations that have changed since, for each reading of all. */
  const reading = new Set<Set<string>>()
  let closed = false

  /**
   * The versions are read first and take effect last, so that everything they stand for is known. It is tried until it
   * succeeds: a short failure of the database must not let anybody go on seeing a subject that they may no longer see.
   */
  function refresh(organizationId: string | null): Promise<void> {
    const refreshOnce = async () => {
      const changed = new Set<string>()
      if (organizationId === null) reading.add(changed)
      try {
        await read(organizationId, changed)
        await Promise.all([...changed].map(id => running.get(id)?.next ?? running.get(id)?.current))
      } finally {
        reading.delete(changed)
      }
    }
    return retry(refreshOnce, {
      firstMs: RETRY_FIRST_MS,
      maxMs: RETRY_MAX_MS,
      again(error) {
        if (closed) return false
        onError(error, 'reading the visibility of subjects, trying again')
        return true
      },
    })
  }

  /** Passes over what has `changed` meanwhile: that is read by itself, and later than here. */
  async function read(organizationId: string | null, changed: ReadonlySet<string>): Promise<void> {
    const views = await listViews(db, organizationId)
    const known = listKnown(organizationId)
    const infos = await (organizationId ? listSubjectsOf(db, organizationId) : listAllSubjects(db))
    for (const [index, info] of infos.entries()) {
      if (index % NAMED_IN_A_TURN === NAMED_IN_A_TURN - 1) await setImmediate()
      if (!changed.has(info.organizationId)) name(info)
    }
    // Deleted sample subjects leave no row behind.
    const there = new Set(infos.map(({ subject }) => subject))
    for (const info of known)
      if (!there.has(info.subject) && !changed.has(info.organizationId)) name({ ...info, gone: true })
    for (const [id, view] of views) if (!changed.has(id)) setView(id, view)
  }

  function start(organizationId: string): Promise<void> {
    const current = refresh(organizationId)
    const state: { current: Promise<void>; next: Promise<void> | undefined } = { current, next: undefined }
    running.set(organizationId, state)
    const forget = () => {
      if (!state.next) running.delete(organizationId)
    }
    current.then(forget, forget)
    return current
  }

  return {
    one(organizationId) {
      for (const changed of reading) changed.add(organizationId)
      const before = running.get(organizationId)
      if (!before) return start(organizationId)
      before.next ??= before.current.catch(() => {}).then(() => start(organizationId))
      return before.next
    },
    all: () => refresh(null),
    close() {
      closed = true
    },
  }
}
