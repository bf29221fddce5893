import type { Caller } from '../../db/queries/sessions.ts'
import { forbidden } from './errors.ts'
import type { Access, Permission } from './permissions.ts'

/**
 * Nothing lets an API key that is to end read on: no other key, no user, no password, no role, no webhook. A key is to end by
 * its `expiresAt`, or because it was rotated with overlap, as one that has leaked. Devices and connections that it creates stay:
 * their keys send points and read nothing.
 */

/** Whoever holds one of them lets somebody in, decides what others may do, or has records sent somewhere for ever. */
const OUTLIVING: ReadonlySet<Access> = new Set<Permission>([
  'create/user',
  'update/user',
  'create/role',
  'update/role',
  'create/webhook',
  'update/webhook',
])

/** Whether an operation with this access is closed to keys that are to end; `x-api-key: endless` in the document. */
export const takesEndlessKeys = (access: Access): boolean => OUTLIVING.has(access)

const isToEnd = ({ apiKey, expiresAt }: Caller) => apiKey !== null && Number.isFinite(expiresAt)

/** Throws 403 for a key that is to end where what it does would outlive it. */
export function checkEndless(caller: Caller, access: Access): void {
  if (takesEndlessKeys(access) && isToEnd(caller))
    throw forbidden(
      'This key is to end, and what it would do here outlives it. Use a key without an end, or sign in.',
    )
}

/** Throws 403 if a key would give a key or a tracking link a longer life than it has itself. */
export function checkLife(caller: Caller, expiresAt: Date | null, what: 'key' | 'link' = 'key'): void {
  if (caller.apiKey && caller.expiresAt < (expiresAt?.getTime() ?? Number.POSITIVE_INFINITY))
    throw forbidden(`A key gives no ${what} a longer life than its own.`)
}
