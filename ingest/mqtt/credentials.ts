import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Database } from '../../db/client.ts'
import { timeOfDay } from '../../db/clock.ts'
import { createLookup } from '../../db/lookup.ts'
import { listDeviceCredentials, listDeviceKeys, listDevicesByCertificate } from '../../db/queries/devices.ts'
import { retry } from '../../db/retry.ts'
import { listTrackerConnections, type TrackerConnection } from '../connections/connection.ts'
import {
  authenticateDevice,
  authenticateToken,
  createBearers,
  findByKey,
  hashKey,
  isConnectionKey,
  maySend,
  type Publisher,
  toPublisher,
} from '../identity/authenticate.ts'
import type { Tokens } from '../identity/tokens.ts'
import type { Profiles } from '../profiles/profiles.ts'
import type { Traces } from '../traces.ts'
import { shownCertificate } from './secure-websockets.ts'
import type { Sessions } from './sessions.ts'

/** The user name for signing in with a bearer token. */
export const TOKEN = 'token'
const RETRY_FIRST_MS = 100
const RETRY_MAX_MS = 500

/**
 * Authenticates the user name and password of a CONNECT: of a device, of a connection that takes MQTT, or of a user or
 * an API key that may send positions.
 */
export function createCredentials({
  db,
  tokens,
  profiles,
  traces,
}: {
  db: Database
  tokens: Tokens
  profiles: Profiles
  traces: Pick<Traces, 'note' | 'refuse'>
}) {
  const findDevice = createLookup(ids => listDeviceCredentials(db.signIn, ids))
  const bearers = createBearers(db.signIn)
  const findConnection = createLookup(ids => listTrackerConnections(db.signIn, profiles, ids))
  const findCertified = createLookup(fingerprints => listDevicesByCertificate(db.signIn, fingerprints))

  /** The device whose certificate the client has shown, and whose key it has: the handshake of TLS proves that. */
  async function authenticateCertificate(stream: Duplex, address?: string): Promise<Publisher | null> {
    const shown = shownCertificate(stream)
    if (!shown) return null
    const found = await findCertified(createHash('sha256').update(shown.raw).digest('hex'))
    if (!found) return null
    const { fingerprint, beginsAt, expiresAt, ...device } = found
    const now = timeOfDay()
    if (now < beginsAt || now >= expiresAt) {
      const kind = now < beginsAt ? 'certificate-early' : 'certificate-expired'
      traces.note(device, kind, address === undefined ? {} : { address })
      return null
    }
    return { kind: 'device', ...device, certificate: { fingerprint, expiresAt } }
  }

  return async (
    username: string | undefined,
    password: string | undefined,
    stream: Duplex,
    address?: string,
  ): Promise<Publisher | TrackerConnection | null> => {
    if (password === undefined) return await authenticateCertificate(stream, address)
    if (username === undefined) return null
    if (isConnectionKey(password)) {
      const connection = await findByKey(findConnection, username, password)
      return connection?.way === 'mqtt' ? connection : null
    }
    if (username !== TOKEN) {
      const device = await authenticateDevice(findDevice, username, password)
      if (!device) traces.refuse(username, hashKey(password), address)
      return device
    }
    const caller = await authenticateToken(bearers, tokens, password)
    return caller && maySend(caller) ? toPublisher(caller) : null
  }
}

/** Whether a device has this identifier. */
export const isDevice = async (db: Database, id: string): Promise<boolean> =>
  (await listDeviceKeys(db.signIn, [id])).has(id)

/**
 * Ends the sessions of deleted devices; a session survives a new key, but not its device. Returns a function that stops
 * it.
 */
export function endSessionsOfDeleted(options: {
  db: Database
  sessions: Sessions
  onError: (error: unknown, doing: string) => void
}): () => void {
  const { db, sessions } = options

  async function endDeleted(deviceIds: readonly string[]): Promise<void> {
    if (deviceIds.length === 0) return
    const keys = await listDeviceKeys(db.signIn, deviceIds)
    for (const id of deviceIds) if (!keys.has(id)) sessions.endOf(id)
  }

  let stopped = false
  const stopListening = db.onChange(event => {
    const deviceIds =
      event.kind === 'device' ? [event.deviceId] : event.kind === 'resync' ? sessions.deviceIds() : []
    // Retried, because nothing else ends these sessions.
    retry(() => endDeleted(deviceIds), {
      firstMs: RETRY_FIRST_MS,
      maxMs: RETRY_MAX_MS,
      again(error) {
        options.onError(error, 'ending the sessions of deleted devices, trying again')
        return !stopped
      },
    }).catch(() => {})
  })
  return () => {
    stopped = true
    stopListening()
  }
}
