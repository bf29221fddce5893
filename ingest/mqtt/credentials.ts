import type { Database } from '../../db/client.ts'
import { createLookup } from '../../db/lookup.ts'
import { listDeviceCredentials, listDeviceKeys } from '../../db/queries/devices.ts'
import { type Caller, findCallers } from '../../db/queries/sessions.ts'
import { authenticateDevice, authenticateToken, maySend, type Publisher } from '../identity/authenticate.ts'
import type { Tokens } from '../identity/tokens.ts'
import type { Gate } from './connection.ts'
import type { Sessions } from './sessions.ts'

/** Notifications may be lost with their connection, so every open connection is looked at again. */
const CHECK_EVERY_MS = 30_000
/** What a role allows changes with its organization's visibility, of which there are many a second while devices are made. */
const CHECK_ROLES_AFTER_MS = 200

/** Checks the credentials of MQTT connections, and closes those whose credential ends. */
export function createCredentials(options: {
  db: Database
  tokens: Tokens
  sessions: Sessions
  gates: () => Iterable<Gate>
  onError: (error: unknown, doing: string) => void
}) {
  const { db, tokens, sessions } = options
  const findDevice = createLookup(ids => listDeviceCredentials(db.signIn, ids))
  const findSession = createLookup(ids => findCallers(db.signIn, ids))
  /** Counts what may have ended a credential that is being checked. */
  let changes = 0
  /** The same for what roles allow. */
  let roleChanges = 0
  /** Organizations whose roles are to be looked at again. */
  const changedRoles = new Set<string>()
  let checkingRoles: NodeJS.Timeout | undefined

  async function read(username: string, password: string): Promise<Publisher | null> {
    if (username !== 'token') return authenticateDevice(findDevice, username, password)
    const caller = await authenticateToken(findSession, tokens, password)
    if (!caller || !maySend(caller)) return null
    const { userId: id, organizationId, subject, sessionId, expiresAt } = caller
    return { kind: 'user', id, organizationId, subject, sessionId, expiresAt }
  }

  const closeWhere = (test: (publisher: Publisher) => boolean) => {
    for (const gate of [...options.gates()]) {
      if (!gate.publisher || !test(gate.publisher)) continue
      // Its will is nobody's any more.
      gate.publisher = null
      gate.client.close()
    }
  }

  const ended = (test: (publisher: Publisher) => boolean) => {
    changes++
    closeWhere(test)
  }
  const stopListening = db.onChange(event => {
    switch (event.kind) {
      case 'device':
        ended(({ id }) => id === event.deviceId)
        return void endDeleted([event.deviceId]).catch(failed)
      case 'user':
        return ended(({ id }) => id === event.userId)
      case 'organization':
        return ended(({ organizationId }) => organizationId === event.organizationId)
      case 'session':
        return ended(publisher => publisher.kind === 'user' && publisher.sessionId === event.sessionId)
      case 'visibility':
        return checkRoles(event.organizationId)
      case 'resync':
        changes++
        roleChanges++
        checkAll()
        return void endDeleted(sessions.deviceIds()).catch(failed)
    }
  })
  const timer = setInterval(checkAll, CHECK_EVERY_MS)

  function failed(error: unknown): void {
    options.onError(error, 'checking the credentials of MQTT connections')
  }

  function checkAll(): void {
    check(() => true).catch(failed)
  }

  function checkRoles(organizationId: string): void {
    roleChanges++
    changedRoles.add(organizationId)
    checkingRoles ??= setTimeout(() => {
      checkingRoles = undefined
      const organizations = new Set(changedRoles)
      changedRoles.clear()
      check(publisher => publisher.kind === 'user' && organizations.has(publisher.organizationId)).catch(
        failed,
      )
    }, CHECK_ROLES_AFTER_MS)
  }

  /** Closes those of the open connections whose credential has ended. */
  async function check(which: (publisher: Publisher) => boolean): Promise<void> {
    const publishers = [...options.gates()].flatMap(({ publisher }) =>
      publisher && which(publisher) ? publisher : [],
    )
    const devices = publishers.filter(({ kind }) => kind === 'device').map(({ id }) => id)
    const users = publishers.flatMap(publisher => (publisher.kind === 'user' ? publisher.sessionId : []))
    const keys = devices.length > 0 ? await listDeviceKeys(db.signIn, devices) : new Map<string, Buffer>()
    const callers = users.length > 0 ? await findCallers(db.signIn, users) : new Map<string, Caller>()
    // Only those that were asked for: others may have come meanwhile.
    const asked = new Set(publishers)
    closeWhere(publisher => {
      if (!asked.has(publisher)) return false
      if (publisher.kind === 'device') return !keys.get(publisher.id)?.equals(publisher.keyHash)
      const caller = callers.get(publisher.sessionId)
      return !caller || !maySend(caller)
    })
  }

  /** The sessions of a device end with it, and not with its key. */
  async function endDeleted(deviceIds: readonly string[]): Promise<void> {
    if (deviceIds.length === 0) return
    const keys = await listDeviceKeys(db.signIn, deviceIds)
    for (const id of deviceIds) if (!keys.has(id)) sessions.endOf(id)
  }

  return {
    /** Whose user name and password these are, or null. */
    async check(username: string | undefined, password: string | undefined): Promise<Publisher | null> {
      if (username === undefined || password === undefined) return null
      for (;;) {
        const [before, rolesBefore] = [changes, roleChanges]
        const publisher = await read(username, password)
        // A key that was replaced meanwhile is read again: nobody could have closed this connection yet.
        if (changes === before && (publisher?.kind !== 'user' || roleChanges === rolesBefore))
          return publisher
      }
    },

    /** Closes the connections of users whose token has expired. */
    closeExpired(now: number): void {
      closeWhere(publisher => publisher.kind === 'user' && publisher.expiresAt <= now)
    },

    close(): void {
      stopListening()
      clearInterval(timer)
      clearTimeout(checkingRoles)
    },
  }
}
