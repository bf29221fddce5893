import type { Database } from '../../db/client.ts'
import { createLookup } from '../../db/lookup.ts'
import { listChoices } from '../../db/queries/tracker-profiles.ts'
import { retry } from '../../db/retry.ts'
import type { Choices } from '../../db/schema/tracker-profiles.ts'
import { matches } from '../mqtt/topics.ts'
import { compileProfile } from './own/compile.ts'
import type { ProfileReader } from './profile.ts'
import { findBuiltIn } from './readers.ts'

/** A profile that is in use. It follows changes as long as somebody holds it. */
export interface UsedProfile {
  /** Null once it is deleted. */
  readonly reader: ProfileReader | null
}

/** The profiles that open connections use, each read and compiled once. */
export interface Profiles {
  /** Resolves to a profile: a built-in one by its name, or one of an organization. */
  use(profileId: string): Promise<UsedProfile>
  /** Another profile instead of `former`, or none, at once. Until it is read, it reads as `former` does. */
  replace(former: UsedProfile | null, profileId: string | null): UsedProfile | null
  close(): void
}

const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 500

class Own implements UsedProfile {
  reader: ProfileReader | null = null
  /** Raised by each change; a profile that was read before the last one is read again. */
  changes = 0
  loaded: Promise<void> = Promise.resolve()
}

/** The reader of a profile whose filter matches the topic, or null. */
export function readerOf(profile: UsedProfile | null, topic: string): ProfileReader | null {
  const reader = profile?.reader ?? null
  return reader && matches(reader.topic, topic) ? reader : null
}

/** A profile that is used as soon as it is read. */
class Replacing implements UsedProfile {
  used: UsedProfile | null
  constructor(former: UsedProfile | null) {
    this.used = former
  }
  get reader() {
    return this.used?.reader ?? null
  }
}

export function createProfiles(options: {
  db: Database
  onError: (error: unknown, doing: string) => void
}): Profiles {
  const { db, onError } = options
  const find = createLookup(ids => listChoices(db.signIn, ids))
  /** Weak, so that a profile is kept exactly as long as connections use it. */
  const own = new Map<string, WeakRef<Own>>()
  const unused = new FinalizationRegistry<string>(id => {
    if (own.get(id)?.deref() === undefined) own.delete(id)
  })
  let closed = false

  async function load(id: string, profile: Own): Promise<void> {
    for (let read = -1; read !== profile.changes; ) {
      read = profile.changes
      const choices = await find(id)
      profile.reader = choices && compileStored(choices)
    }
  }

  /** A profile that a former release accepted, and this one does not, keeps nobody from signing in. */
  function compileStored(choices: Choices): ProfileReader | null {
    try {
      return compileProfile(choices)
    } catch (error) {
      onError(error, 'compiling a stored tracker profile')
      return null
    }
  }

  /** Reads profiles again that have changed; until then they are used as they were. */
  function follow(id: string): void {
    const profile = own.get(id)?.deref()
    if (!profile) return
    profile.changes++
    persist(() => load(id, profile))
  }

  function persist(work: () => Promise<void>): void {
    const again = (error: unknown) => {
      onError(error, 'reading a tracker profile')
      return !closed
    }
    retry(work, { firstMs: RETRY_FIRST_MS, maxMs: RETRY_MAX_MS, again }).catch(() => {})
  }

  const stopListening = db.onChange(event => {
    if (event.kind === 'tracker-profile') follow(event.profileId)
    else if (event.kind === 'resync') for (const id of own.keys()) follow(id)
  })

  async function use(profileId: string): Promise<UsedProfile> {
    const builtIn = findBuiltIn(profileId)
    if (builtIn) return { reader: builtIn }
    let profile = own.get(profileId)?.deref()
    if (!profile) {
      profile = new Own()
      own.set(profileId, new WeakRef(profile))
      unused.register(profile, profileId)
      profile.loaded = load(profileId, profile)
      // The next one tries anew.
      profile.loaded.catch(() => own.delete(profileId))
    }
    await profile.loaded
    return profile
  }

  return {
    use,

    replace(former, profileId) {
      if (profileId === null) return null
      const next = new Replacing(former)
      persist(async () => {
        next.used = await use(profileId)
      })
      return next
    },

    close() {
      closed = true
      stopListening()
    },
  }
}
