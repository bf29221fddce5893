import type { Queryable } from '../../../db/client.ts'
import { isInVisibleHub } from '../../../db/hub-rule.ts'
import {
  claimAccount,
  findAccountById,
  findRootOfUser,
  registerAccount,
  setRoot,
} from '../../../db/queries/accounts.ts'
import {
  acceptInvitation,
  findInvitation,
  type Invitation,
  isInvited,
  putInvitation,
} from '../../../db/queries/invitations.ts'
import { findRole } from '../../../db/queries/roles.ts'
import { type Caller, findStanding } from '../../../db/queries/sessions.ts'
import { findUser, insertUser, lockMemberships, setUserHubs } from '../../../db/queries/users.ts'
import { networkOf } from '../../../fair/network.ts'
import { record, recordChange } from '../../http/audit.ts'
import { unique } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, forbidden, found, invalid, notFound, RequestError } from '../../http/errors.ts'
import { beyondReach } from '../../http/permissions.ts'
import { reauthorize } from '../../http/reauthorize.ts'
import type { App, Services } from '../../services.ts'
import { checkPassword } from '../auth/brute-force.ts'
import { hashPassword } from '../auth/passwords.ts'
import { newPassword } from '../auth/schemas.ts'
import { answerSignedIn, type Opened, openSession, originOf } from '../auth/sign-in.ts'
import { checkGiving, checkHubs, getGivenRole, getVisibleUser } from '../users/checks.ts'
import * as operations from './schemas.ts'
import { createInvitationToken, hashInvitationToken, INVITATION_LIFETIME_S } from './token.ts'

/** Invites users, and accepts invitations. */
export function invitationRoutes(app: App, { db, tokens }: Services): void {
  app.post('/users/invite', operations.inviteUser, async (request, reply) => {
    const { organizationId } = request.caller
    const { email, name, roleId, hubId } = request.body
    const check = async (tx: Queryable) => {
      const caller = await reauthorize(tx, request.caller, 'create/user')
      checkGiving(caller, await getGivenRole(tx, roleId))
      await checkHubs(tx, caller, hubId)
      return caller
    }
    // Checked first, so that a denied invitation leaves no account behind.
    await db.tenant(organizationId, check)
    const account = await db.system.transaction(tx => claimAccount(tx, email))
    const invited = await db.tenant(organizationId, async tx => {
      const caller = await check(tx)
      const userId = await unique('user with the e-mail address', email, () =>
        insertUser(tx, { organizationId, accountId: account.id, roleId, name, status: 'invited' }),
      )
      await setUserHubs(tx, organizationId, userId, hubId)
      const after = found('user', await findUser(tx, userId))
      await recordChange(tx, request, { before: null, after }, 'invite')
      return { ...after, invitation: await invite(tx, caller, userId) }
    })
    return created(reply, invited, 'User invited')
  })

  app.post('/user/:id/invitation', operations.renewInvitation, async request => {
    const renewed = await db.tenant(request.caller.organizationId, async tx => {
      const caller = await reauthorize(tx, request.caller, 'create/user')
      const user = await getVisibleUser(tx, caller, 'create/user', request.params)
      if (!(await isInvited(tx, user._id))) throw conflict('This user has joined already.')
      checkGiving(caller, await getGivenRole(tx, user.role._id))
      if (user.status === 'suspended') {
        throw conflict('This user is suspended. Make it active again first.')
      }
      if (!user.hubId.every(hubId => isInVisibleHub(hubId, caller.hubIds))) {
        throw forbidden('This user is to work in hubs that you have no access to.')
      }
      await recordChange(tx, request, { before: user, after: user }, 'renew-invitation')
      const invitation = await invite(tx, caller, user._id)
      return { ...found('user', await findUser(tx, user._id)), invitation }
    })
    return ok(renewed, 'Invitation renewed')
  })

  app.post('/auth/accept-invitation', operations.acceptInvitation, async request => {
    const { token, name, password } = request.body
    const hash = hashInvitationToken(token)
    const invited = await db.system.transaction(async tx => {
      const { accountId, organizationId } = await getInvitation(tx, hash)
      return { account: await findAccountById(tx, accountId), organizationId }
    })
    if (!invited.account) throw gone()
    const { id, passwordHash, email } = invited.account
    const attempt = { accountId: id, email, address: request.ip, passwordHash, password }
    let first: string | null = null
    if (passwordHash === null) {
      const problem = newPassword.safeParse(password).error?.issues[0]?.message
      if (problem) throw invalid('password', problem)
      first = await hashPassword(password, networkOf(request.ip))
    } else if (!(await checkPassword(db.system, attempt))) {
      throw new RequestError('unauthorized', 'This is not the present password of the account.')
    }

    const opened = await db.system.transaction(async tx => {
      await lockMemberships(tx, invited.organizationId)
      const { userId, organizationId, accountId, invitedBy } = await getInvitation(tx, hash)
      // Another request may have set the account's first password meanwhile; then this token proves nothing any more.
      const current = await claimAccount(tx, email)
      if (current.passwordHash !== passwordHash) throw gone()
      if (first !== null) {
        await setRoot(tx, accountId, (invitedBy && (await findRootOfUser(tx, invitedBy))) ?? accountId)
        await registerAccount(tx, accountId, { passwordHash: first, registeredIn: organizationId })
      }
      await acceptInvitation(tx, userId, name)
      const changes = { status: { from: 'invited', to: 'active' } }
      const actor = { organizationId, userId }
      await record(tx, actor, { action: 'accept-invitation', resource: 'user', resourceId: userId, changes })
      return openSession(tx, { accountId, organizationId }, originOf(request))
    })
    return answerSignedIn(tokens, opened as Opened, 'Invitation accepted')
  })
}

/** Creates an invitation in place of an earlier one. Returns the link's token for the invited person. */
async function invite(tx: Queryable, { organizationId, userId: invitedBy }: Caller, userId: string) {
  const { token, hash: tokenHash } = createInvitationToken()
  const lifetimeS = INVITATION_LIFETIME_S
  const expiresAt = await putInvitation(tx, { organizationId, userId, invitedBy, tokenHash, lifetimeS })
  return { token, expiresAt }
}

/**
 * An invitation holds only as long as its inviter could give the role: 404 once its user would get more rights than the
 * inviter has now.
 */
async function getInvitation(tx: Queryable, tokenHash: Buffer): Promise<Invitation> {
  const invitation = await findInvitation(tx, tokenHash)
  const inviter = invitation?.invitedBy && (await findStanding(tx, invitation.invitedBy))
  const role = invitation && (await findRole(tx, invitation.roleId))
  if (!inviter || !role || beyondReach(inviter, role)) throw gone()
  if (!invitation.hubIds.every(hubId => isInVisibleHub(hubId, inviter.hubIds))) throw gone()
  return invitation
}

const gone = () => notFound('invitation, or it has expired or been used')
