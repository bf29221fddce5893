import { setTimeout as sleep } from 'node:timers/promises'
import type { ChangeEvent, Database } from '../../db/client.ts'
import { timeOfDay } from '../../db/clock.ts'
import { withDemand } from '../../db/demand.ts'
import { listDeviceKeys } from '../../db/queries/devices.ts'
import { type Caller, findCallers } from '../../db/queries/sessions.ts'
import { retry } from '../../db/retry.ts'
import type { Credential } from './authenticate.ts'

/** Why something ends: its credential has, or its user may not have it open any more. */
export type Ending = 'credential' | 'permission'

/** What a credential keeps open: an MQTT connection, a live socket. */
export interface Watched {
  /** What its user may do now may be something else than before. Returns whether it may stay open. */
  follow(caller: Caller): boolean
  /** It is not watched any more. */
  end(why: Ending): void
}

/**
 * Ends what has ended, within a second: with a session that is revoked or expires, a user who is suspended or removed, a
 * device that is deleted or has a new key, an organization that is deleted, a permission that is lost.
 */
export interface Watcher {
  /** What `credential` keeps open from now on. It comes from `read`, or is checked soon by `recheck`. */
  watch(watched: Watched, credential: Credential): void
  /** What is watched whose credential was read a while before: it may have ended in between, and is read again soon. */
  recheck(watched: Watched): void
  forget(watched: Watched): void
  /**
   * Reads a credential, again where one has ended meanwhile: nobody could have ended what is not yet watched. What is
   * read is to be watched at once.
   */
  read<Found extends Credential | null>(read: () => Promise<Found>): Promise<Found>
  close(): void
}

/** Notifications may be lost with their connection, so everything that is open is checked again. */
const CHECK_EVERY_MS = 30_000
const EXPIRE_EVERY_MS = 500
/** Many sockets are opened at once, and who sees what changes many times a second while devices are created. */
const PAUSE_MS = 200
/** Until the database is back: what should have ended meanwhile ends within a second of that. */
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 500

export function createWatcher(options: {
  db: Database
  onError: (error: unknown, doing: string) => void
}): Watcher {
  const { db } = options
  const open = new Map<Watched, Credential>()
  /** Of each reading that goes on, what has changed since it began. */
  const readings = new Set<ChangeEvent[]>()

  /** One that fails keeps no other from being ended, or from following what its user may see. */
  function attempt<T>(work: () => T, otherwise: T): T {
    try {
      return work()
    } catch (error) {
      options.onError(error, 'telling what is open of its credential')
      return otherwise
    }
  }

  function end(watched: Watched, why: Ending): void {
    if (open.delete(watched)) attempt(() => watched.end(why), undefined)
  }

  function endWhere(test: (credential: Credential) => boolean): void {
    for (const [watched, credential] of [...open]) if (test(credential)) end(watched, 'credential')
  }

  /** Reads the credentials of what is open again, all at once. */
  async function check(which: (credential: Credential, watched: Watched) => boolean): Promise<void> {
    // Only what was asked for: other things may be opened meanwhile.
    const checked = [...open].filter(([watched, credential]) => which(credential, watched))
    const deviceIds = new Set(checked.flatMap(([, one]) => (one.kind === 'device' ? one.id : [])))
    const sessionIds = new Set(checked.flatMap(([, one]) => (one.kind === 'user' ? one.sessionId : [])))
    const keys =
      deviceIds.size > 0 ? await listDeviceKeys(db.signIn, [...deviceIds]) : new Map<string, Buffer>()
    const callers =
      sessionIds.size > 0 ? await findCallers(db.signIn, [...sessionIds]) : new Map<string, Caller>()
    for (const [watched, credential] of checked) {
      if (!open.has(watched)) continue
      if (credential.kind === 'device') {
        if (!keys.get(credential.id)?.equals(credential.keyHash)) end(watched, 'credential')
        continue
      }
      const caller = callers.get(credential.sessionId)
      if (!caller) end(watched, 'credential')
      else if (!attempt(() => watched.follow(caller), false)) end(watched, 'permission')
      // Its session may have been renewed.
      else if (open.has(watched)) open.set(watched, { ...credential, expiresAt: caller.expiresAt })
    }
  }

  /** What is to be checked: one thing that is open, or what is open of an organization's users. */
  let due = new Set<Watched | string>()
  let isChecking = false
  let closed = false

  const checkAll = () => checkSoon(open.keys())

  /** At once, and what comes soon after together. */
  function checkSoon(some: Iterable<Watched | string>): void {
    for (const one of some) due.add(one)
    // On nobody's behalf: it would end when the one that asked first hangs up.
    if (!isChecking) void withDemand({ lane: 'requests' }, checkDue)
  }

  async function checkDue(): Promise<void> {
    isChecking = true
    while (due.size > 0 && !closed) {
      const these = due
      due = new Set()
      const isDue = (one: Credential, watched: Watched) =>
        these.has(watched) || (one.kind === 'user' && these.has(one.organizationId))
      await retry(() => check(isDue), {
        firstMs: RETRY_FIRST_MS,
        maxMs: RETRY_MAX_MS,
        again(error) {
          options.onError(error, 'checking the credentials of what is open')
          return !closed
        },
      }).catch(() => {})
      await sleep(PAUSE_MS, undefined, { ref: false })
    }
    isChecking = false
  }

  const stopListening = db.onChange(event => {
    if (event.kind === 'record' || event.kind === 'jobs') return
    for (const changes of readings) changes.push(event)
    if (event.kind === 'visibility') checkSoon([event.organizationId])
    else if (event.kind === 'resync') checkAll()
    else endWhere(credential => concerns(event, credential))
  })
  const timers = [
    setInterval(checkAll, CHECK_EVERY_MS),
    setInterval(() => {
      const now = timeOfDay()
      const isOver = (one: Credential) => one.kind === 'user' && one.expiresAt <= now
      const over = [...open].flatMap(([watched, credential]) => (isOver(credential) ? [watched] : []))
      if (over.length > 0) checkSoon(over)
    }, EXPIRE_EVERY_MS),
  ]

  return {
    watch: (watched, credential) => void open.set(watched, credential),
    recheck: watched => checkSoon([watched]),
    forget: watched => void open.delete(watched),

    async read(read) {
      const changes: ChangeEvent[] = []
      readings.add(changes)
      try {
        for (;;) {
          changes.length = 0
          const found = await read()
          // What changes of others all the time keeps nobody out.
          if (!found || !changes.some(event => concerns(event, found))) return found
        }
      } finally {
        readings.delete(changes)
      }
    },

    close() {
      closed = true
      stopListening()
      for (const timer of timers) clearInterval(timer)
    },
  }
}

/** Whether what has changed may have ended a credential, or what its user may do. */
function concerns(event: ChangeEvent, credential: Credential): boolean {
  switch (event.kind) {
    case 'device':
      return credential.kind === 'device' && credential.id === event.deviceId
    case 'session':
      return credential.kind === 'user' && credential.sessionId === event.sessionId
    // Suspended, removed, or with a new password: no session of theirs goes on.
    case 'user':
      return credential.kind === 'user' && credential.id === event.userId
    case 'organization':
      return credential.organizationId === event.organizationId
    case 'visibility':
      return credential.kind === 'user' && credential.organizationId === event.organizationId
    case 'resync':
      return true
    default:
      return false
  }
}
