import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { isUuid, type Queryable } from '../../db/client.ts'
import { grantOf } from '../../db/grants.ts'
import { createLookup } from '../../db/lookup.ts'
import type { DeviceCredential } from '../../db/queries/devices.ts'
import { type Caller, findCallers, findCallersByKey } from '../../db/queries/sessions.ts'
import type { Tokens } from './tokens.ts'

/** A proof of identity: a device's key, or the session behind a bearer token, which is a user's or an API key. */
export type Credential =
  | {
      kind: 'device'
      id: string
      organizationId: string
      keyHash: Buffer
      profileId: string | null
      /** The certificate with which a device has signed in: its fingerprint, and when it expires (milliseconds since 1970). */
      certificate?: { fingerprint: string; expiresAt: number }
    }
  | {
      kind: 'user'
      id: string
      organizationId: string
      sessionId: string
      expiresAt: number
      /** Whether it is an API key, which sends for devices alone. */
      isApiKey: boolean
    }
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

/** The user of a valid session, or an API key, as a publisher. */
export function toPublisher({ userId: id, organizationId, subject, sessionId, expiresAt, apiKey }: Caller) {
  const isApiKey = apiKey !== null
  return {
    kind: 'user',
    id,
    organizationId,
    subject,
    sessionId,
    expiresAt,
    isApiKey,
  } as const satisfies Publisher
}

/** Whether an API key publishes, which has no positions of its own. */
export const isKey = (publisher: Publisher): boolean => publisher.kind === 'user' && publisher.isApiKey

/** Keys are 256 random bits, so SHA-256 is enough: they cannot be guessed, so a slow hash would protect nothing. */
export const createDeviceKey = () => createKey('fld_')

/** The same for connections. */
export const createConnectionKey = () => createKey('flc_')

/** The same for programs, with the beginning by which people recognize it. */
export function createApiKey(): { key: string; hash: Buffer; prefix: string } {
  const { key, hash } = createKey('flk_')
  return { key, hash, prefix: key.slice(0, SHOWN_CHARACTERS) }
}

/** 48 of the 256 random bits. */
const SHOWN_CHARACTERS = 12

function createKey(prefix: string): { key: string; hash: Buffer } {
  const key = `${prefix}${randomBytes(32).toString('base64url')}`
  return { key, hash: hashKey(key) }
}

export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** A key or the token of a link, whole or cut off. */
const KEYS = /\bfl[a-z]_[\w-]{8,}/g

/** A text of a device without the keys that stand in it: an app may have been given one in the wrong field. */
export const hideKeys = (text: string): string => text.replace(KEYS, key => `${key.slice(0, 4)}…`)

export const isDeviceKey = (token: string) => token.startsWith('fld_')
export const isApiKey = (token: string) => token.startsWith('flk_')
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

/** The device or connection with this identifier (in either case) and key, or null. */
export async function findByKey<Found extends { keyHash: Buffer }>(
  find: (id: string) => Promise<Found | null>,
  id: string,
  key: string,
): Promise<Found | null> {
  if (!isUuid(id)) return null
  const found = await find(id.toLowerCase())
  // The hash is compared in any case, so that an unknown identifier takes as long as a wrong key.
  const matches = timingSafeEqual(hashKey(key), found?.keyHash ?? Buffer.alloc(32))
  return matches ? found : null
}

/** The device that has this key, or null. `find` takes the key's hash in hexadecimal. */
export async function authenticateKey(
  find: (hash: string) => Promise<DeviceCredential | null>,
  key: string,
): Promise<Publisher | null> {
  const device = await find(hashKey(key).toString('hex'))
  return device ? { kind: 'device', ...device } : null
}

/**
 * Whether a user's role allows sending its own positions, or an API key's those of devices. A user without the second
 * factor that its organization demands sends nothing.
 */
export const maySend = ({ permissionDetails, apiKey, lacksSecondFactor }: Caller) => {
  if (lacksSecondFactor) return false
  const scope = grantOf(permissionDetails, 'create/location')?.scope
  return apiKey ? scope === 'all' : scope !== undefined
}

/** An API key has exactly this form, so nothing longer is hashed or looked up. */
const API_KEY = /^flk_[\w-]{43}$/

/** Reads the session of a bearer token every time, so that a revoked one stops working at once. */
export interface Bearers {
  ofSession(sessionId: string): Promise<Caller | null>
  /** By the SHA-256 of an API key, in hexadecimal. */
  ofKey(digest: string): Promise<Caller | null>
}

/** Batched with the lookups of others. */
export const createBearers = (db: Queryable): Bearers => ({
  ofSession: createLookup(ids => findCallers(db, ids)),
  ofKey: createLookup(digests => findCallersByKey(db, digests)),
})

/** The caller of a bearer token, a user's or an API key, whose session is valid; else null. */
export async function authenticateToken(
  find: Bearers,
  tokens: Tokens,
  token: string,
): Promise<Caller | null> {
  if (isApiKey(token)) return API_KEY.test(token) ? find.ofKey(hashKey(token).toString('hex')) : null
  const claims = tokens.verify(token)
  const caller = claims && (await find.ofSession(claims.sessionId))
  if (!claims || !caller || caller.apiKey || caller.renewals !== claims.renewals) return null
  return caller.userId === claims.userId && caller.organizationId === claims.organizationId ? caller : null
}
