import type { Queryable } from '../../../db/client.ts'
import { areVisibleHubs } from '../../../db/hub-rule.ts'
import {
  claimAccount,
  findAccountById,
  findRootOfUser,
  registerAccount,
  setRoot,
} from '../../../db/queries/accounts.ts'
import { isInvited, putInvitation } from '../../../db/queries/invitations.ts'
import { findOrganization } from '../../../db/queries/organizations.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import {
  findAccountId,
  findUser,
  insertUser,
  lockMemberships,
  setUserHubs,
} from '../../../db/queries/users.ts'
import { networkOf } from '../../../fair/network.ts'
import { recordChange } from '../../http/audit.ts'
import { unique } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, forbidden, found, invalid, RequestError } from '../../http/errors.ts'
import { reauthorize } from '../../http/reauthorize.ts'
import { createSealedTokens, hashLinkToken } from '../../mail/tokens.ts'
import type { App, Services } from '../../services.ts'
import { checkPassword } from '../auth/brute-force.ts'
import { hashPassword, MIN_PASSWORD_LENGTH } from '../auth/passwords.ts'
import { newPassword } from '../auth/schemas.ts'
import { answerSignedIn, type Opened, openSession, originOf, passwordsClosed } from '../auth/sign-in.ts'
import { createChallenge, totpRequired } from '../second-factor/challenges.ts'
import { checkGiving, checkHubs, getGivenRole, getVisibleUser } from '../users/checks.ts'
import { getInvitation, gone, join } from './accept.ts'
import { type Invited, mailInvitation } from './mail.ts'
import * as operations from './schemas.ts'
import { createInvitationToken, INVITATION_LIFETIME_S } from './token.ts'

/** Invites users, and accepts invitations. */
export function invitationRoutes(app: App, { db, tokens, config }: Services): void {
  const sealed = createSealedTokens(config.jwtSecret)
  /** Creates an invitation in place of an earlier one. Returns it as the inviter sees it: with the token only if no mail brings it. */
  const invite = async (tx: Queryable, caller: Caller, { userId, accountId }: Invited) => {
    const { token, hash: tokenHash } = createInvitationToken()
    const mail = config.mail
      ? await mailInvitation(tx, caller, { userId, accountId, token, tokens: sealed })
      : null
    const { organizationId, userId: invitedBy } = caller
    const lifetimeS = INVITATION_LIFETIME_S
    await putInvitation(tx, { organizationId, userId, invitedBy, tokenHash, lifetimeS, mail })
    const user = found('user', await findUser(tx, userId))
    return { ...user, invitation: { ...found('invitation', user.invitation), ...(mail ? {} : { token }) } }
  }

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
      return invite(tx, caller, { userId, accountId: account.id })
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
      if (!areVisibleHubs(user.hubId, caller.hubIds)) {
        throw forbidden('This user is to work in hubs that you have no access to.')
      }
      await recordChange(tx, request, { before: user, after: user }, 'renew-invitation')
      return invite(tx, caller, { userId: user._id, accountId: await findAccountId(tx, user._id) })
    })
    return ok(renewed, 'Invitation renewed')
  })

  app.post('/auth/invitation', operations.getInvitation, async ({ body }) => {
    const hash = hashLinkToken(body.token)
    const { userId, organizationId, accountId, mail } = await db.system.transaction(tx =>
      getInvitation(tx, hash),
    )
    const account = await findAccountById(db.system, accountId)
    const shown = await db.tenant(organizationId, async tx => {
      const user = found('invitation', await findUser(tx, userId))
      const organization = found('organization', await findOrganization(tx, organizationId))
      return {
        organizationName: organization.name,
        email: user.email,
        name: user.name,
        roleName: user.role.name,
        // Whoever passes a token on holds it too, and must not learn whether the address has an account.
        hasAccount:
          mail === null ? null : account !== null && (account.passwordHash !== null || account.isBound),
      }
    })
    return ok(shown)
  })

  app.post('/auth/accept-invitation', operations.acceptInvitation, async request => {
    const { token, name, password } = request.body
    const hash = hashLinkToken(token)
    const invited = await db.system.transaction(async tx => {
      const { accountId, organizationId } = await getInvitation(tx, hash)
      return { account: await findAccountById(tx, accountId), organizationId }
    })
    if (!invited.account) throw gone()
    const { id, passwordHash, email, isBound, hasSecondFactor } = invited.account
    // Whoever passes the token on must not choose the password of an account that single sign-on opens.
    if (config.oidc?.only || (isBound && passwordHash === null)) throw passwordsClosed()
    const guesser = { accountId: id, email, address: request.ip }
    const attempt = { ...guesser, passwordHash, password, hasSecondFactor }
    let first: string | null = null
    // For an account that exists as well, whose password is no shorter: the answer to a short one would tell that it exists.
    const problem = newPassword.safeParse(password).error?.issues[0]?.message
    if (problem) throw invalid('password', problem, 'too-short', { params: { limit: MIN_PASSWORD_LENGTH } })
    if (passwordHash === null) {
      first = await hashPassword(password, networkOf(request.ip))
    } else if (!(await checkPassword(db.system, attempt))) {
      throw new RequestError('unauthorized', 'This is not the present password of the account.')
    }

    const outcome = await db.system.transaction(async tx => {
      await lockMemberships(tx, invited.organizationId)
      const invitation = await getInvitation(tx, hash)
      const { organizationId, accountId, invitedBy } = invitation
      // Another request may have set the account's first password meanwhile; then this token proves nothing any more.
      const current = await claimAccount(tx, email)
      if (current.passwordHash !== passwordHash || (first !== null && current.isBound)) throw gone()
      if (current.hasSecondFactor && passwordHash !== null) {
        const signIn = { accountId, passwordHash, wanted: organizationId, invitation: hash, name }
        return { challenge: await createChallenge(tx, signIn) }
      }
      if (first !== null) {
        await setRoot(tx, accountId, (invitedBy && (await findRootOfUser(tx, invitedBy))) ?? accountId)
        await registerAccount(tx, accountId, { passwordHash: first, registeredIn: organizationId })
      }
      await join(tx, invitation, name)
      return { opened: await openSession(tx, { accountId, organizationId }, originOf(request)) }
    })
    if ('challenge' in outcome) throw totpRequired(outcome.challenge)
    return answerSignedIn(tokens, outcome.opened as Opened, 'Invitation accepted')
  })
}
