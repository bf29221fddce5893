import { isUuid, type Queryable } from '../../../db/client.ts'
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

/** Whom a permission lets the caller see or change. */
export function visibilityOf(caller: Caller, permission: Permission): UserVisibility {
  return { ...caller, scope: scopeOf(caller.permissionDetails, permission) ?? 'own' }
}

/** A user whom the permission reaches; 404 otherwise. */
export async function getVisibleUser(
  tx: Queryable,
  caller: Caller,
  permission: Permission,
  by: { id: string } | { email: string },
): Promise<User> {
  return found('user', await findVisibleUser(tx, visibilityOf(caller, permission), by))
}

/** The role of an identifier in the body; 400 where it is none of the organization. */
export async function getGivenRole(tx: Queryable, roleId: string): Promise<Role> {
  const role = isUuid(roleId) ? await findRole(tx, roleId) : null
  if (!role) throw invalid('roleId', 'There is no such role.', 'not-found')
  return role
}

/** Nobody gives a role that reaches further than the own: 403. */
export function checkGiving(caller: Caller, role: Role): void {
  const further = beyondReach(caller, role)
  if (further) throw forbidden(`Your role ${further}, so you cannot give the role ${role.name}.`)
}

/** Nobody changes, suspends, deletes or resets a user whose role reaches further than the own: 403. Returns the role. */
export async function checkTouching(tx: Queryable, caller: Caller, user: User): Promise<Role> {
  const role = await findRole(tx, user.role._id)
  if (!role) throw new Error('The user has no role')
  const further = beyondReach(caller, role)
  if (further) throw forbidden(`This user is ${role.name}, and your role ${further}.`)
  return role
}

/** The last owner stays: 409. */
export async function checkLastOwner(tx: Queryable, user: User, role: Role): Promise<void> {
  if (!role.isDefault || role.name !== 'Owner' || user.status !== 'active') return
  if ((await countOtherOwners(tx, user._id)) > 0) return
  throw conflict('This is the last owner of the organization. Make somebody else an owner first.')
}

/** Hubs in the body have to be there for the caller; those that the user has already may stay. 400 otherwise. */
export function checkHubs(
  tx: Queryable,
  caller: Caller,
  hubIds: readonly string[],
  present: readonly string[] = [],
): Promise<void> {
  const find = (ids: string[]) => listKnownHubs(tx, ids, caller.hubIds)
  return checkReferences({ what: 'hub', ids: placed('hubId', hubIds), find, present })
}
