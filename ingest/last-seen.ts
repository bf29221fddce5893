import type { Database } from '../db/client.ts'
import { updateKeyUse, updateLastSeen } from '../db/queries/last-seen.ts'
import type { Publisher } from './identity/authenticate.ts'

/**
 * When users, devices and API keys were last active, to about a minute: each activity costs a map access, and one write a
 * minute.
 */
export interface LastSeen {
  /** Notes an activity of a user, device or API key, of whatever kind; `address` is shown of keys. */
  see(who: Pick<Publisher, 'kind' | 'id'> & { isApiKey?: boolean }, address?: string): void
  /** How long ago it was active, if that is not written yet; else null. */
  pendingAgoMs(who: Pick<Publisher, 'kind' | 'id'>): number | null
  /** Writes the pending times of users. Called before reading which organization was used last, and before changing it. */
  flushUsers(): Promise<void>
  /** The same of API keys, before they are shown. */
  flushKeys(): Promise<void>
  close(): Promise<void>
}

const EVERY_MS = 60_000
type Kind = Publisher['kind'] | 'api-key'
const KINDS: readonly Kind[] = ['user', 'device', 'api-key']

/** How soon the first activity after a silence is written. */
const LOOK_EVERY_MS = 5_000
const BATCH = 1_000
/** A database that is away does not delay the end of the process. */
const CLOSE_WITHIN_MS = 2_000

export function createLastSeen(options: {
  db: Database
  onError: (error: unknown, doing: string) => void
  everyMs?: number
  lookEveryMs?: number
}): LastSeen {
  const { db, onError, everyMs = EVERY_MS, lookEveryMs = LOOK_EVERY_MS } = options
  /** The time of the last activity that is not stored yet. */
  const spoken: Record<Kind, Map<string, number>> = {
    user: new Map(),
    device: new Map(),
    'api-key': new Map(),
  }
  /** The addresses of API keys. */
  const addresses = new Map<string, string>()
  /** The time of the last write, as long as it is within the last minute. */
  const written = new Map<string, number>()

  async function store(kind: Kind, part: readonly { id: string; at: number }[], now: number): Promise<void> {
    const heard = part.map(({ id, at }) => ({ id, secondsAgo: (now - at) / 1000 }))
    if (kind !== 'api-key') return updateLastSeen(db.system, kind, heard)
    const used = heard.map(one => ({ ...one, address: addresses.get(one.id) ?? null }))
    for (const { id } of heard) addresses.delete(id)
    return updateKeyUse(db.system, used)
  }

  async function write(kind: Kind, isDue: (id: string) => boolean): Promise<void> {
    const due = [...spoken[kind].keys()].filter(isDue)
    for (let at = 0; at < due.length; at += BATCH) {
      const part = due.slice(at, at + BATCH).map(id => ({ id, at: spoken[kind].get(id) ?? 0 }))
      const now = performance.now()
      await store(kind, part, now)
      // It is pending until it is stored, for those who wait for it.
      for (const { id, at } of part) {
        written.set(id, now)
        if (spoken[kind].get(id) === at) spoken[kind].delete(id)
      }
    }
  }

  let writing = Promise.resolve()
  /** Writes one after the other, so that a database that is away gets one query at a time. */
  function writeNext(kinds: readonly Kind[], isDue: (id: string) => boolean): Promise<void> {
    const next = writing.then(async () => {
      for (const kind of kinds) await write(kind, isDue)
    })
    writing = next.catch(error => onError(error, 'writing when users and devices were last active'))
    return writing
  }

  let looking = false
  const timer = setInterval(() => {
    if (looking) return
    looking = true
    const before = performance.now() - everyMs
    for (const [id, at] of written) if (at <= before) written.delete(id)
    void writeNext(KINDS, id => !written.has(id)).finally(() => {
      looking = false
    })
  }, lookEveryMs)

  return {
    see({ kind, id, isApiKey }, address) {
      spoken[isApiKey ? 'api-key' : kind].set(id, performance.now())
      if (isApiKey && address !== undefined) addresses.set(id, address)
    },
    pendingAgoMs({ kind, id }) {
      const at = spoken[kind].get(id)
      return at === undefined ? null : performance.now() - at
    },
    flushUsers: () => (spoken.user.size > 0 ? writeNext(['user'], () => true) : Promise.resolve()),
    flushKeys: () => (spoken['api-key'].size > 0 ? writeNext(['api-key'], () => true) : Promise.resolve()),
    async close() {
      clearInterval(timer)
      let late: NodeJS.Timeout | undefined
      const waited = new Promise<void>(resolve => {
        late = setTimeout(resolve, CLOSE_WITHIN_MS)
      })
      await Promise.race([writeNext(KINDS, () => true), waited])
      clearTimeout(late)
    },
  }
}
