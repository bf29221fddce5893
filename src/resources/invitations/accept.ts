import type { Queryable } from '../../../db/client.ts'
import { areVisibleHubs } from '../../../db/hub-rule.ts'
import {
  acceptInvitation,
  findInvitation,
  findInvitingOrganization,
  type Invitation,
  listOpenInvitations,
} from '../../../db/queries/invitations.ts'
import { findRole } from '../../../db/queries/roles.ts'
import { findStanding } from '../../../db/queries/sessions.ts'
import { lockMemberships } from '../../../db/queries/users.ts'
import { record } from '../../http/audit.ts'
import { notFound } from '../../http/errors.ts'
import { beyondReach } from '../../http/permissions.ts'

export const gone = () => notFound('invitation, or it has expired or been used')

/**
 * An invitation holds only as long as its inviter could give the role: null once its user would get more rights than the
 * inviter has now.
 */
async function findValidInvitation(tx: Queryable, tokenHash: Buffer): Promise<Invitation | null> {
  const invitation = await findInvitation(tx, tokenHash)
  const inviter = invitation?.invitedBy && (await findStanding(tx, invitation.invitedBy))
  const role = invitation && (await findRole(tx, invitation.roleId))
  if (!inviter || !role || beyondReach(inviter, role)) return null
  return areVisibleHubs(invitation.hubIds, inviter.hubIds) ? invitation : null
}

/** The invitation of a token; throws 404 if it does not hold any more. */
export async function getInvitation(tx: Queryable, tokenHash: Buffer): Promise<Invitation> {
  const invitation = await findValidInvitation(tx, tokenHash)
  if (!invitation) throw gone()
  return invitation
}

/** The invitations of an account that hold, locked until the transaction ends, so that each is accepted once. */
export async function holdInvitations(tx: Queryable, accountId: string): Promise<Invitation[]> {
  const open = await listOpenInvitations(tx, accountId)
  const valid: Invitation[] = []
  // Organizations are locked in one order, so that two sign-ins do not wait for each other.
  for (const { organizationId, tokenHash } of open) {
    await lockMemberships(tx, organizationId)
    const invitation = await findValidInvitation(tx, tokenHash)
    if (invitation) valid.push(invitation)
  }
  return valid
}

/** Starts the membership of an invitation that holds. */
export async function join(
  tx: Queryable,
  { organizationId, userId }: Pick<Invitation, 'organizationId' | 'userId'>,
  name: string,
): Promise<void> {
  await acceptInvitation(tx, userId, name)
  const changes = { status: { from: 'invited', to: 'active' } }
  const entry = { action: 'accept-invitation', resource: 'user', resourceId: userId, changes }
  await record(tx, { organizationId, userId }, entry)
}

/** Accepts the invitation of an existing account, which has proved that it is that account. Returns the organization. */
export async function acceptByToken(
  tx: Queryable,
  { hash, accountId, name }: { hash: Buffer; accountId: string; name: string },
): Promise<string> {
  const organizationId = await findInvitingOrganization(tx, hash)
  if (organizationId === null) throw gone()
  await lockMemberships(tx, organizationId)
  const invitation = await getInvitation(tx, hash)
  if (invitation.accountId !== accountId) throw gone()
  await join(tx, invitation, name)
  return organizationId
}
