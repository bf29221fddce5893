import { isUuid, type Queryable } from '../../db/client.ts'
import { listKnownHubs } from '../../db/queries/hubs.ts'
import { findRole, type Role } from '../../db/queries/roles.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import { countOtherOwners, findVisibleUser, type User, type Vision } from '../../db/queries/users.ts'
import { conflict, FieldErrors, forbidden, invalid, notFound } from '../errors.ts'
import { covers, type Permission, scopeOf } from '../permissions.ts'

/** Whom a permission lets the caller see or change. */
export function visionOf(caller: Caller, permission: Permission): Vision {
  return { ...caller, scope: scopeOf(caller.permissionDetails, permission) ?? 'own' }
}

/** A user whom the permission reaches; 404 otherwise. */
export async function getVisibleUser(
  tx: Queryable,
  caller: Caller,
  permission: Permission,
  userId: string,
): Promise<User> {
  const found = isUuid(userId)
    ? await findVisibleUser(tx, visionOf(caller, permission), { id: userId })
    : null
  if (!found) throw notFound('user')
  return found
}

/** The role of an identifier in the body; 400 where it is none of the organization. */
export async function getGivenRole(tx: Queryable, roleId: string): Promise<Role> {
  const role = isUuid(roleId) ? await findRole(tx, roleId) : null
  if (!role) throw invalid('roleId', 'There is no such role.')
  return role
}

const isOwnerRole = (role: Pick<Role, 'isDefault' | 'name'>) => role.isDefault && role.name === 'Owner'

/** Nobody gives Owner without holding it, or a permission that they lack: 403. */
export function checkGiving(caller: Caller, role: Role): void {
  if (isOwnerRole(role) && !caller.isOwner) throw forbidden('Only an owner can make somebody an owner.')
  const lacking = role.permissionDetails.find(detail => !covers(caller.permissionDetails, detail))
  if (lacking)
    throw forbidden(`Your role lacks ${lacking.permissionName}, so you cannot give the role ${role.name}.`)
}

/** Nobody but an owner changes what an owner may do, and the last one stays: 403, 409. */
export async function checkTaking(tx: Queryable, caller: Caller, user: User): Promise<void> {
  const role = await findRole(tx, user.role._id)
  if (!role || !isOwnerRole(role)) return
  if (!caller.isOwner) throw forbidden('Only an owner can do this to an owner.')
  if (user.status === 'active' && (await countOtherOwners(tx, user._id)) === 0) {
    throw conflict('This is the last owner of the organization. Make somebody else an owner first.')
  }
}

/** Hubs in the body have to be there for the caller; those that the user has already may stay. */
export async function checkHubs(
  tx: Queryable,
  caller: Caller,
  hubIds: readonly string[],
  present: readonly string[] = [],
): Promise<void> {
  const known = await listKnownHubs(tx, hubIds.filter(isUuid), caller.hubIds)
  const errors = hubIds.flatMap((hubId, index) =>
    known.has(hubId) || present.includes(hubId)
      ? []
      : [{ path: `hubId.${index}`, message: 'There is no such hub.' }],
  )
  if (errors.length > 0) throw new FieldErrors(errors, 'There is no such hub.')
}
