import type { Database } from '../db/client.ts'
import { updateLastSeen } from '../db/queries/last-seen.ts'
import type { Publisher } from './identity/authenticate.ts'

/** When users and devices last spoke, kept to about a minute: a look into a map for each word, a write a minute. */
export interface LastSeen {
  /** Somebody has just spoken, whatever it said. */
  see(who: Pick<Publisher, 'kind' | 'id'>): void
  /** Writes what is known of users now: before asking which organization was used last, and before using another. */
  flushUsers(): Promise<void>
  close(): Promise<void>
}

const EVERY_MS = 60_000
/** How soon the first word after a silence is written. */
const LOOK_EVERY_MS = 5_000
const BATCH = 1_000
/** A database that is away does not hold up the end of the process. */
const CLOSE_WITHIN_MS = 2_000

export function createLastSeen(options: {
  db: Database
  onError: (error: unknown, doing: string) => void
  everyMs?: number
  lookEveryMs?: number
}): LastSeen {
  const { db, onError, everyMs = EVERY_MS, lookEveryMs = LOOK_EVERY_MS } = options
  /** When each spoke since it was last written. */
  const spoken = { user: new Map<string, number>(), device: new Map<string, number>() }
  /** When each was last written, as long as that is within the minute. */
  const written = new Map<string, number>()

  async function write(kind: Publisher['kind'], isDue: (id: string) => boolean): Promise<void> {
    const due = [...spoken[kind].keys()].filter(isDue)
    for (let at = 0; at < due.length; at += BATCH) {
      const part = due.slice(at, at + BATCH).map(id => ({ id, at: spoken[kind].get(id) ?? 0 }))
      for (const { id } of part) spoken[kind].delete(id)
      const now = performance.now()
      try {
        await updateLastSeen(
          db.system,
          kind,
          part.map(({ id, at }) => ({ id, secondsAgo: (now - at) / 1000 })),
        )
        for (const { id } of part) written.set(id, now)
      } catch (error) {
        for (const { id, at } of part) if (!spoken[kind].has(id)) spoken[kind].set(id, at)
        throw error
      }
    }
  }

  let writing = Promise.resolve()
  /** One after the other, so that a database that is away is asked once at a time. */
  function writeNext(kinds: readonly Publisher['kind'][], isDue: (id: string) => boolean): Promise<void> {
    const next = writing.then(async () => {
      for (const kind of kinds) await write(kind, isDue)
    })
    writing = next.catch(error => onError(error, 'writing who was last seen'))
    return writing
  }

  let looking = false
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    const before = performance.now() - everyMs
    for (const [id, at] of written) if (at <= before) written.delete(id)
    void writeNext(['user', 'device'], id => !written.has(id)).finally(() => {
      looking = false
    })
  }, lookEveryMs)

  return {
    see: ({ kind, id }) => void spoken[kind].set(id, performance.now()),
    flushUsers: () => (spoken.user.size > 0 ? writeNext(['user'], () => true) : Promise.resolve()),
    async close() {
      clearInterval(timer)
      let late: NodeJS.Timeout | undefined
      const waited = new Promise<void>(resolve => {
        late = setTimeout(resolve, CLOSE_WITHIN_MS)
      })
      await Promise.race([writeNext(['user', 'device'], () => true), waited])
      clearTimeout(late)
    },
  }
}
