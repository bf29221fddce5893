import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { isUuid } from '../../db/client.ts'
import type { DeviceCredential } from '../../db/queries/devices.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import type { Tokens } from './tokens.ts'

/** What lets somebody in: a device's key, or the session behind a user's bearer token. */
export type Credential =
  | { kind: 'device'; id: string; organizationId: string; keyHash: Buffer }
  | { kind: 'user'; id: string; organizationId: string; sessionId: string; expiresAt: number }

/** Who publishes, and with what credential. */
export type Publisher = Credential & { subject: number }

/** The user behind a living session, as a publisher. */
export function toPublisher({ userId: id, organizationId, subject, sessionId, expiresAt }: Caller) {
  return { kind: 'user', id, organizationId, subject, sessionId, expiresAt } as const satisfies Publisher
}

/** Device keys are 256 random bits, so SHA-256 is enough: there is nothing to guess that slowness could protect. */
export function createDeviceKey(): { key: string; hash: Buffer } {
  const key = `fld_${randomBytes(32).toString('base64url')}`
  return { key, hash: hashDeviceKey(key) }
}

export function hashDeviceKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

export const isDeviceKey = (token: string) => token.startsWith('fld_')

/** The device that a user name (its identifier, in capitals or not) and a password (its key) belong to, or null. */
export async function authenticateDevice(
  find: (id: string) => Promise<DeviceCredential | null>,
  id: string,
  key: string,
): Promise<Publisher | null> {
  if (!isUuid(id)) return null
  const device = await find(id.toLowerCase())
  // Compared in any case, so that an unknown device takes as long as a wrong key.
  const matches = timingSafeEqual(hashDeviceKey(key), device?.keyHash ?? Buffer.alloc(32))
  return device && matches ? { kind: 'device', ...device } : null
}

/** The device that a key alone belongs to, or null. `find` takes its hash in hexadecimal. */
export async function authenticateKey(
  find: (hash: string) => Promise<DeviceCredential | null>,
  key: string,
): Promise<Publisher | null> {
  const device = await find(hashDeviceKey(key).toString('hex'))
  return device ? { kind: 'device', ...device } : null
}

/** Whether a user's role lets it send positions of its own. */
export const maySend = ({ permissionDetails }: Caller) =>
  permissionDetails.some(({ permissionName }) => permissionName === 'create/location')

/**
 * The caller behind a bearer token whose session is alive, or null. `find` takes the session and reads it every time: a
 * revoked token is dead at once.
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
