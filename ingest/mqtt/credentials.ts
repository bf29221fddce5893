import type { Database } from '../../db/client.ts'
import { type DeviceCredential, listDeviceCredentials, listDeviceKeys } from '../../db/queries/devices.ts'
import { listLivingSessions } from '../../db/queries/sessions.ts'
import { authenticateDevice, authenticateToken, type Publisher } from '../authenticate.ts'
import type { Tokens } from '../tokens.ts'
import type { Gate } from './gate.ts'

/** Notifications may be lost with their connection, so every open connection is looked at again. */
const CHECK_EVERY_MS = 30_000

/** Checks the credentials of MQTT connections, and closes those whose credential ends. */
export function createCredentials(options: {
  db: Database
  tokens: Tokens
  gates: () => Iterable<Gate>
  onError: (error: unknown, doing: string) => void
}) {
  const { db, tokens } = options
  const findDevice = createLookup(ids => listDeviceCredentials(db.autocommit, ids))
  /** Counts what may have ended a credential that is being checked. */
  let changes = 0

  async function read(username: string, password: string): Promise<Publisher | null> {
    if (username !== 'token') return authenticateDevice(findDevice, username, password)
    const caller = await authenticateToken(db, tokens, password)
    if (!caller) return null
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
        return ended(({ id }) => id === event.deviceId)
      case 'user':
        return ended(({ id }) => id === event.userId)
      case 'session':
        return ended(publisher => publisher.kind === 'user' && publisher.sessionId === event.sessionId)
      case 'resync':
        changes++
        return checkAll()
    }
  })
  const timer = setInterval(checkAll, CHECK_EVERY_MS)

  function checkAll(): void {
    checkOpen().catch(error => options.onError(error, 'checking the credentials of MQTT connections'))
  }

  async function checkOpen(): Promise<void> {
    const publishers = [...options.gates()].flatMap(({ publisher }) => publisher ?? [])
    const devices = publishers.filter(({ kind }) => kind === 'device').map(({ id }) => id)
    const users = publishers.flatMap(publisher => (publisher.kind === 'user' ? publisher.sessionId : []))
    const keys = devices.length > 0 ? await listDeviceKeys(db.autocommit, devices) : new Map<string, Buffer>()
    const living = users.length > 0 ? await listLivingSessions(db.autocommit, users) : new Set<string>()
    // Only those that were asked for: others may have come meanwhile.
    const asked = new Set(publishers)
    closeWhere(publisher => {
      if (!asked.has(publisher)) return false
      return publisher.kind === 'device'
        ? !keys.get(publisher.id)?.equals(publisher.keyHash)
        : !living.has(publisher.sessionId)
    })
  }

  return {
    /** Whose user name and password these are, or null. */
    async check(username: string | undefined, password: string | undefined): Promise<Publisher | null> {
      if (username === undefined || password === undefined) return null
      for (;;) {
        const before = changes
        const publisher = await read(username, password)
        // A key that was replaced meanwhile is read again: nobody could have closed this connection yet.
        if (changes === before) return publisher
      }
    },

    /** Closes the connections of users whose token has expired. */
    closeExpired(now: number): void {
      closeWhere(publisher => publisher.kind === 'user' && publisher.expiresAt <= now)
    },

    close(): void {
      stopListening()
      clearInterval(timer)
    },
  }
}

/** How many devices are looked up in one statement. */
const MOST_TOGETHER = 500

/**
 * Looks up together what is asked for together: whoever asks while a statement runs is in the next. 10,000 devices
 * that came back at once were in after 4.4 s instead of 12.8 (embedded database, no limit on connections).
 */
function createLookup(
  list: (ids: readonly string[]) => Promise<ReadonlyMap<string, DeviceCredential>>,
): (id: string) => Promise<DeviceCredential | null> {
  interface Asking {
    id: string
    resolve: (found: DeviceCredential | null) => void
    reject: (error: unknown) => void
  }
  const asking: Asking[] = []
  let running = false

  async function run(): Promise<void> {
    running = true
    while (asking.length > 0) {
      const now = asking.splice(0, MOST_TOGETHER)
      try {
        const found = await list([...new Set(now.map(({ id }) => id))])
        for (const { id, resolve } of now) resolve(found.get(id) ?? null)
      } catch (error) {
        for (const { reject } of now) reject(error)
      }
    }
    running = false
  }

  return id =>
    new Promise((resolve, reject) => {
      asking.push({ id, resolve, reject })
      if (!running) void run()
    })
}
