import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { isUuid } from '../../db/client.ts'
import type { DeviceCredential } from '../../db/queries/devices.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import type { Tokens } from './tokens.ts'

/** A proof of identity: a device's key, or the session behind a user's bearer token. */
export type Credential =
  | {
      kind: 'device'
      id: string
      organizationId: string
      keyHash: Buffer
      profileId: string | null
      /** Of a device that has signed in with it: its fingerprint, and when it expires (milliseconds since 1970). */
      certificate?: { fingerprint: string; expiresAt: number }
    }
  | { kind: 'user'; id: string; organizationId: string; sessionId: string; expiresAt: number }
  | ConnectionCredential

/** The key of a connection, through which many devices send. */
export interface ConnectionCredential {
  kind: 'connection'
  id: string
  organizationId: string
  keyHash: Buffer
  /** A built-in profile by its name, or one of the organization. */
  profileId: string
}

/** The sender of positions and its credential. */
export type Publisher = Exclude<Credential, ConnectionCredential> & { subject: number }

/** The user of a valid session, as a publisher. */
export function toPublisher({ userId: id, organizationId, subject, sessionId, expiresAt }: Caller) {
  return { kind: 'user', id, organizationId, subject, sessionId, expiresAt } as const satisfies Publisher
}

/** Device keys are 256 random bits, so SHA-256 is enough: they cannot be guessed, so a slow hash would protect nothing. */
export const createDeviceKey = () => createKey('fld_')

/** The same for connections. */
export const createConnectionKey = () => createKey('flc_')

function createKey(prefix: string): { key: string; hash: Buffer } {
  const key = `${prefix}${randomBytes(32).toString('base64url')}`
  return { key, hash: hashDeviceKey(key) }
}

export function hashDeviceKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

export const isDeviceKey = (token: string) => token.startsWith('fld_')
export const isConnectionKey = (token: string) => token.startsWith('flc_')

/** The device with this user name (its identifier, in either case) and password (its key), or null. */
export async function authenticateDevice(
  find: (id: string) => Promise<DeviceCredential | null>,
  id: string,
  key: string,
): Promise<Publisher | null> {
  const device = await findByKey(find, id, key)
  return device && { kind: 'device', ...device }
}

/** What has this identifier (in either case) and key, or null. */
export async function findByKey<Found extends { keyHash: Buffer }>(
  find: (id: string) => Promise<Found | null>,
  id: string,
  key: string,
): Promise<Found | null> {
  if (!isUuid(id)) return null
  const found = await find(id.toLowerCase())
  // The hash is compared in any case, so that an unknown identifier takes as long as a wrong key.
  const matches = timingSafeEqual(hashDeviceKey(key), found?.keyHash ?? Buffer.alloc(32))
  return matches ? found : null
}

/** The device that has this key, or null. `find` takes the key's hash in hexadecimal. */
export async function authenticateKey(
  find: (hash: string) => Promise<DeviceCredential | null>,
  key: string,
): Promise<Publisher | null> {
  const device = await find(hashDeviceKey(key).toString('hex'))
  return device ? { kind: 'device', ...device } : null
}

/** Whether a user's role allows sending its own positions. */
export const maySend = ({ permissionDetails }: Caller) =>
  permissionDetails.some(({ permissionName }) => permissionName === 'create/location')

/**
 * The caller of a bearer token whose session is valid, or null. `find` reads the session every time, so a revoked token
 * stops working at once.
 */
export async function authenticateToken(
  find: (sessionId: string) => Promise<Caller | null>,
  tokens: Tokens,
  token: string,
): Promise<Caller | null> {
  const claims = tokens.verify(token)
  const caller = claims && (await find(claims.sessionId))
  if (!claims || !caller || caller.renewals !== claims.renewals) return null
  return caller.userId === claims.userId && caller.organizationId === claims.organizationId ? caller : null
}
