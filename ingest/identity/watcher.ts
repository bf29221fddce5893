import { setTimeout as sleep } from 'node:timers/promises'
import type { ChangeEvent, Database } from '../../db/client.ts'
import { timeOfDay } from '../../db/clock.ts'
import { withDemand } from '../../db/demand.ts'
import { listConnectionKeys } from '../../db/queries/connections.ts'
import { type DeviceKeys, listDeviceKeys } from '../../db/queries/devices.ts'
import { type Caller, findCallers } from '../../db/queries/sessions.ts'
import { retry } from '../../db/retry.ts'
import type { Credential } from './authenticate.ts'

/** Why something is ended: its credential is no longer valid, or its user may no longer have it open. */
export type Ending = 'credential' | 'permission'

/** Something that is open under a credential: an MQTT connection or a live socket. */
export interface Watched {
  /** Applies the present permissions of its user. Returns whether it may stay open. */
  follow(caller: Caller): boolean
  /** Applies another profile of its device. */
  followProfile?(profileId: string | null): void
  /** Ends it. It is no longer watched. */
  end(why: Ending): void
}

/**
 * Ends, within a second, everything whose credential is no longer valid: a session is revoked or expires, a user is
 * suspended or removed, a device is deleted or gets a new key, an organization is deleted, or a permission is lost.
 */
export interface Watcher {
  /** Watches something that is open under `credential`, which comes from `read`, or is checked soon by `recheck`. */
  watch(watched: Watched, credential: Credential): void
  /** Reads the credential again soon, because it was read a while ago and may have become invalid since. */
  recheck(watched: Watched): void
  forget(watched: Watched): void
  /**
   * Reads a credential, and again if it changes meanwhile, because nothing ends what is not yet watched. The caller must
   * watch the result at once.
   */
  read<Found extends Credential | null>(read: () => Promise<Found>): Promise<Found>
  close(): void
}

/** Notifications may be lost with their connection, so everything open is checked again. */
const CHECK_EVERY_MS = 30_000
const EXPIRE_EVERY_MS = 500
/**
 * Many sockets open at once, and visibility changes many times a second while devices are created; a pause bundles the
 * checks.
 */
const PAUSE_MS = 200
/** Retries go on until the database is back. Then everything overdue ends within a second. */
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 500

export function createWatcher(options: {
  db: Database
  onError: (error: unknown, doing: string) => void
}): Watcher {
  const { db } = options
  const open = new Map<Watched, Credential>()
  const readings = createReadings()

  /** A failure of one does not stop the others from being ended or updated. */
  function attempt<T>(work: () => T, otherwise: T): T {
    try {
      return work()
    } catch (error) {
      options.onError(error, 'updating an open connection after its credential changed')
      return otherwise
    }
  }

  function end(watched: Watched, why: Ending): void {
    if (open.delete(watched)) attempt(() => watched.end(why), undefined)
  }

  function endWhere(test: (credential: Credential) => boolean): void {
    for (const [watched, credential] of [...open]) if (test(credential)) end(watched, 'credential')
  }

  const listOpen = (test: (credential: Credential) => boolean) =>
    [...open].flatMap(([watched, credential]) => (test(credential) ? [watched] : []))

  /** Reads the selected credentials again, all in one query. */
  async function check(isSelected: (credential: Credential, watched: Watched) => boolean): Promise<void> {
    // Only the selected ones are checked, because others may be opened meanwhile.
    const checked = [...open].filter(([watched, credential]) => isSelected(credential, watched))
    const { devices, connections, callers } = await readCurrent(
      db,
      checked.map(([, credential]) => credential),
    )
    for (const [watched, credential] of checked) {
      if (!open.has(watched)) continue
      if (credential.kind === 'connection') {
        if (!isSameConnection(credential, connections.get(credential.id))) end(watched, 'credential')
        continue
      }
      if (credential.kind === 'device') {
        const device = devices.get(credential.id)
        if (!device || !isSameDevice(credential, device)) end(watched, 'credential')
        else if (device.profileId !== credential.profileId) {
          open.set(watched, { ...credential, profileId: device.profileId })
          attempt(() => watched.followProfile?.(device.profileId), undefined)
        }
        continue
      }
      const caller = callers.get(credential.sessionId)
      if (!caller) end(watched, 'credential')
      else if (!attempt(() => watched.follow(caller), false)) end(watched, 'permission')
      // Its session may have been renewed.
      else if (open.has(watched)) open.set(watched, { ...credential, expiresAt: caller.expiresAt })
    }
  }

  const checks = createChecks(check, options.onError)
  const checkAll = () => checks.soon(open.keys())

  const stopListening = db.onChange(event => {
    if (event.kind === 'record' || event.kind === 'jobs' || event.kind === 'command') return
    readings.tell(event)
    if (event.kind === 'visibility') checks.soon([event.organizationId])
    else if (event.kind === 'resync') checkAll()
    else if (event.kind === 'device-profile' || event.kind === 'connection')
      checks.soon(listOpen(credential => concerns(event, credential)))
    else endWhere(credential => concerns(event, credential))
  })
  const timers = [
    setInterval(checkAll, CHECK_EVERY_MS),
    setInterval(() => {
      const now = timeOfDay()
      const isOver = (one: Credential) => one.kind === 'user' && one.expiresAt <= now
      const over = listOpen(isOver)
      if (over.length > 0) checks.soon(over)
      endWhere(
        one => one.kind === 'device' && one.certificate !== undefined && one.certificate.expiresAt <= now,
      )
    }, EXPIRE_EVERY_MS),
  ]

  return {
    watch: (watched, credential) => void open.set(watched, credential),
    recheck: watched => checks.soon([watched]),
    forget: watched => void open.delete(watched),

    read: readings.read,

    close() {
      checks.close()
      stopListening()
      for (const timer of timers) clearInterval(timer)
    },
  }
}

type ConnectionKeys = Awaited<ReturnType<typeof listConnectionKeys>>
type Of<Kind extends Credential['kind']> = Extract<Credential, { kind: Kind }>

/** The current keys of devices and connections, and the callers of sessions: each kind in one query. */
async function readCurrent(db: Database, credentials: readonly Credential[]) {
  const idsOf = (kind: Credential['kind']) => [
    ...new Set(credentials.flatMap(one => (one.kind === kind ? one.id : []))),
  ]
  const [deviceIds, connectionIds] = [idsOf('device'), idsOf('connection')]
  const sessionIds = [...new Set(credentials.flatMap(one => (one.kind === 'user' ? one.sessionId : [])))]
  const devices: Map<string, DeviceKeys> =
    deviceIds.length > 0 ? await listDeviceKeys(db.signIn, deviceIds) : new Map()
  const connections: ConnectionKeys =
    connectionIds.length > 0 ? await listConnectionKeys(db.signIn, connectionIds) : new Map()
  const callers: Map<string, Caller> =
    sessionIds.length > 0 ? await findCallers(db.signIn, sessionIds) : new Map()
  return { devices, connections, callers }
}

const isSameConnection = (
  credential: Of<'connection'>,
  current: (ConnectionKeys extends Map<string, infer Keys> ? Keys : never) | undefined,
): boolean =>
  (current?.keyHash.equals(credential.keyHash) && current.profileId === credential.profileId) ?? false

const isSameDevice = ({ keyHash, certificate }: Of<'device'>, current: DeviceKeys): boolean =>
  current.keyHash.equals(keyHash) && (!certificate || certificate.fingerprint === current.fingerprint)

/** Reads credentials, and again if one changes meanwhile. */
function createReadings(): { tell(event: ChangeEvent): void; read: Watcher['read'] } {
  /** For each running read, the changes since it began. */
  const readings = new Set<ChangeEvent[]>()
  return {
    tell(event) {
      for (const changes of readings) changes.push(event)
    },
    async read(read) {
      const changes: ChangeEvent[] = []
      readings.add(changes)
      try {
        for (;;) {
          changes.length = 0
          const found = await read()
          // Changes that concern other credentials do not cause another read.
          if (!found || !changes.some(event => concerns(event, found))) return found
        }
      } finally {
        readings.delete(changes)
      }
    },
  }
}

/** Checks what is due: single connections or sockets, or the id of an organization for everything of its users. */
function createChecks(
  check: (isSelected: (credential: Credential, watched: Watched) => boolean) => Promise<void>,
  onError: (error: unknown, doing: string) => void,
): { soon(some: Iterable<Watched | string>): void; close(): void } {
  let due = new Set<Watched | string>()
  let isChecking = false
  let closed = false

  async function checkDue(): Promise<void> {
    isChecking = true
    while (due.size > 0 && !closed) {
      const batch = due
      due = new Set()
      const isDue = (one: Credential, watched: Watched) =>
        batch.has(watched) || (one.kind === 'user' && batch.has(one.organizationId))
      await retry(() => check(isDue), {
        firstMs: RETRY_FIRST_MS,
        maxMs: RETRY_MAX_MS,
        again(error) {
          onError(error, 'checking the credentials of open connections')
          return !closed
        },
      }).catch(() => {})
      await sleep(PAUSE_MS, undefined, { ref: false })
    }
    isChecking = false
  }

  return {
    // Checks at once. Requests that come soon after are checked together.
    soon(some) {
      for (const one of some) due.add(one)
      // The check runs without a caller: otherwise it would end when the first caller hangs up.
      if (!isChecking) void withDemand({ lane: 'requests' }, checkDue)
    },
    close() {
      closed = true
    },
  }
}

/** Whether an event may have made a credential invalid, or changed its user's permissions. */
function concerns(event: ChangeEvent, credential: Credential): boolean {
  switch (event.kind) {
    case 'device':
    case 'device-profile':
      return credential.kind === 'device' && credential.id === event.deviceId
    case 'connection':
      return credential.kind === 'connection' && credential.id === event.connectionId
    case 'session':
      return credential.kind === 'user' && credential.sessionId === event.sessionId
    // The user was suspended or removed, or has a new password; all of the user's sessions end.
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
