import { isUuid, type Queryable } from '../../../db/client.ts'
import { areVisibleHubs } from '../../../db/hub-rule.ts'
import { listKnownHubs } from '../../../db/queries/hubs.ts'
import { findRole, type Role } from '../../../db/queries/roles.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import {
  countOtherOwners,
  findVisibleUser,
  type User,
  type UserVisibility,
} from '../../../db/queries/users.ts'
import { conflict, forbidden, found, invalid } from '../../http/errors.ts'
import { beyondReach, type Permission, scopeOf } from '../../http/permissions.ts'
import { checkReferences, placed } from '../../http/references.ts'

/** The users that a permission lets the caller see or change. */
export function visibilityOf(caller: Caller, permission: Permission): UserVisibility {
  return { ...caller, scope: scopeOf(caller.permissionDetails, permission) ?? 'own' }
}

/** A user within the permission's scope; 404 otherwise. */
export async function getVisibleUser(
  tx: Queryable,
  caller: Caller,
  permission: Permission,
  by: { id: string } | { email: string },
): Promise<User> {
  return found('user', await findVisibleUser(tx, visibilityOf(caller, permission), by))
}

/** The role with an identifier from a body; 400 if the organization has none. */
export async function getGivenRole(tx: Queryable, roleId: string): Promise<Role> {
  const role = isUuid(roleId) ? await findRole(tx, roleId) : null
  if (!role) throw invalid('roleId', 'There is no such role.', 'not-found')
  return role
}

/** Throws 403 if the role reaches further than the caller's own. */
export function checkGiving(caller: Caller, role: Role): void {
  const further = beyondReach(caller, role)
  if (further) throw forbidden(`Your role ${further}, so you cannot give the role ${role.name}.`)
}

/**
 * Throws 403 if the user's role reaches further than the caller's own: then the caller may not change, suspend, delete
 * or reset the user. Returns the role.
 */
export async function checkTouching(tx: Queryable, caller: Caller, user: User): Promise<Role> {
  const role = await findRole(tx, user.role._id)
  if (!role) throw new Error('The user has no role')
  const further = beyondReach(caller, role)
  if (further) throw forbidden(`This user is ${role.name}, and your role ${further}.`)
  return role
}

/** Throws 403 if the user works in hubs that the caller has no access to: nobody acts there by another one's account or role. */
export function checkSharedHubs(caller: Caller, user: User): void {
  if (!areVisibleHubs(user.hubId, caller.hubIds))
    throw forbidden('This user works in hubs that you have no access to.')
}

/** Throws 409 for the last owner, who must stay. */
export async function checkLastOwner(tx: Queryable, user: User, role: Role): Promise<void> {
  if (!role.isDefault || role.name !== 'Owner' || user.status !== 'active') return
  if ((await countOtherOwners(tx, user._id)) > 0) return
  throw conflict('This is the last owner of the organization. Make somebody else an owner first.')
}

/** The hubs in a body must exist for the caller, except those that the user has already. Throws 400 otherwise. */
export function checkHubs(
  tx: Queryable,
  caller: Caller,
  hubIds: readonly string[],
  present: readonly string[] = [],
): Promise<void> {
  const find = (ids: string[]) => listKnownHubs(tx, ids, caller.hubIds)
  return checkReferences({ what: 'hub', ids: placed('hubId', hubIds), find, present })
}
