import { isUuid, type Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import {
  findAccount,
  findAccountById,
  findFirstAccountId,
  holdPassword,
  listMemberships,
  type Membership,
  replacePassword,
} from '../../../db/queries/accounts.ts'
import { findSecondFactor } from '../../../db/queries/second-factors.ts'
import {
  type Caller,
  deleteSessionsOf,
  endSignIn,
  findCallers,
  listSessions,
  renewSession,
} from '../../../db/queries/sessions.ts'
import { TOKEN_LIFETIME_S } from '../../../ingest/identity/tokens.ts'
import { record } from '../../http/audit.ts'
import { ok } from '../../http/envelope.ts'
import {
  conflict,
  forbidden,
  found,
  invalid,
  notFound,
  RequestError,
  sessionEnded,
} from '../../http/errors.ts'
import { listedWhole } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { createChallenge, totpRequired } from '../second-factor/challenges.ts'
import { checkPassword } from './brute-force.ts'
import { hashPassword } from './passwords.ts'
import * as operations from './schemas.ts'
import {
  answerSignedIn,
  LONGEST_SESSION_S,
  moveTo,
  openBeside,
  openSession,
  originOf,
  passwordsClosed,
} from './sign-in.ts'

/** A session is renewed in the last four hours of its lifetime (contract section 3). */
const RENEWED_IN_LAST_S = 4 * 3600

/** Signing in and out, and an account's own password and sessions, which are the same in all its organizations. */
export function authRoutes(app: App, { db, tokens, config, lastSeen }: Services): void {
  const inNone = config.allowSignup
    ? 'This account is not active in any organization. Register with its address and password to begin a new one.'
    : 'This account is not active in any organization. Ask an administrator to invite you.'

  app.post('/auth/login', operations.login, async request => {
    const { email, password, organizationId } = request.body
    const account = await findAccount(db.system, email)
    // The first owner gets in while the provider is away. Nobody learns from an answer whose address that is.
    const isClosed = config.oidc?.only === true && account?.id !== (await findFirstAccountId(db.system))
    const passwordHash = isClosed ? undefined : account?.passwordHash
    const attempt = {
      ...{ accountId: account?.id ?? null, email, address: request.ip, passwordHash, password },
      hasSecondFactor: account?.hasSecondFactor,
    }
    const wrong = () =>
      config.oidc?.only
        ? passwordsClosed()
        : new RequestError('wrong-credentials', 'The e-mail address or the password is wrong.')
    if (!(await checkPassword(db.system, attempt)) || !account || !passwordHash) throw wrong()
    if (organizationId !== undefined && !isUuid(organizationId)) throw notFound('organization')
    await lastSeen.flushUsers()
    const outcome = await db.system.transaction(async tx => {
      // The password may have been changed during the comparison.
      if ((await holdPassword(tx, account.id)) !== passwordHash) throw wrong()
      if ((await findSecondFactor(tx, account.id))?.isConfirmed) {
        const signIn = { accountId: account.id, passwordHash, wanted: organizationId ?? null }
        return { challenge: await createChallenge(tx, signIn) }
      }
      const memberships = await listMemberships(tx, account.id)
      if (memberships.length === 0) throw forbidden(inNone, 'no-organization')
      const current = organizationId ?? (memberships[0] as Membership).organizationId
      const member = { accountId: account.id, organizationId: current }
      return { opened: await openSession(tx, member, originOf(request)) }
    })
    if ('challenge' in outcome) throw totpRequired(outcome.challenge)
    return answerSignedIn(tokens, found('organization', outcome.opened), 'Signed in')
  })

  app.get('/auth/my-organizations', operations.listMyOrganizations, async ({ caller }) => {
    const memberships = await listMemberships(db.system, caller.accountId)
    return listedWhole(
      memberships.map(membership => ({
        ...membership,
        isCurrent: membership.organizationId === caller.organizationId,
      })),
    )
  })

  app.post('/auth/switch-organization', operations.switchOrganization, async request => {
    const { caller } = request
    const { organizationId } = request.body
    if (!isUuid(organizationId)) throw notFound('organization')
    await lastSeen.flushUsers()
    const opened = await db.system.transaction(tx => moveTo(tx, caller, organizationId, originOf(request)))
    return answerSignedIn(tokens, found('organization', opened), 'Organization switched')
  })

  app.post('/auth/open-organization', operations.openOrganization, async request => {
    const { caller } = request
    const { organizationId } = request.body
    if (!isUuid(organizationId)) throw notFound('organization')
    const opened = await db.system.transaction(tx =>
      openBeside(tx, caller, organizationId, originOf(request)),
    )
    return answerSignedIn(tokens, found('organization', opened), 'Organization opened')
  })

  app.post('/auth/renew', operations.renew, async ({ caller }) => {
    const { sessionId, userId, organizationId } = caller
    const renewed = await renewSession(db.system, sessionId, caller.renewals, {
      lifetimeS: TOKEN_LIFETIME_S,
      lastS: RENEWED_IN_LAST_S,
      longestS: LONGEST_SESSION_S,
    })
    if (!renewed) throw await whyNotRenewed(db.system, caller)
    const { renewals, remainingS } = renewed
    const token = await tokens.sign({ sessionId, userId, organizationId, renewals }, remainingS)
    return { status: true as const, message: 'Session renewed', token, expires_in: remainingS }
  })

  app.post('/auth/logout', operations.logout, async ({ caller }) => {
    await db.system.transaction(tx => endSignIn(tx, caller.sessionId))
    return ok({}, 'Signed out')
  })

  app.post('/auth/change-password', operations.changePassword, async request => {
    const { accountId, sessionId, userId } = request.caller
    const { currentPassword, newPassword } = request.body
    const account = found('account', await findAccountById(db.system, accountId))
    const { passwordHash } = account
    const wrong = () => invalid('currentPassword', 'This is not the present password.')
    const attempt = { ...account, accountId, address: request.ip, password: currentPassword }
    if (!(await checkPassword(db.system, attempt)) || passwordHash === null) throw wrong()
    const newHash = await hashPassword(newPassword, request.caller.organizationId)
    await db.system.transaction(async tx => {
      // If two changes come at once, the second one no longer finds the password that it proved.
      if (!(await replacePassword(tx, accountId, { from: passwordHash, to: newHash }))) throw wrong()
      await deleteSessionsOf(tx, accountId, sessionId)
      await record(tx, request.caller, { action: 'change-password', resource: 'user', resourceId: userId })
    })
    return ok({}, 'Password changed')
  })

  app.get('/auth/sessions', operations.listSessions, async ({ caller }) => {
    const sessions = await listSessions(db.system, caller.accountId)
    return listedWhole(sessions.map(session => ({ ...session, isCurrent: session._id === caller.sessionId })))
  })

  app.delete('/auth/session/:id', operations.deleteSession, async ({ caller, params: { id } }) => {
    await db.system.transaction(async tx => {
      const own = (await listSessions(tx, caller.accountId)).some(({ _id }) => _id === id)
      if (!own || !(await endSignIn(tx, id))) throw notFound('session')
    })
    return ok({ _id: id }, 'Session ended')
  })
}

/**
 * The reason why a caller's session could not be renewed: another request has renewed or ended it, or it is too early
 * or too late.
 */
async function whyNotRenewed(db: Queryable, { sessionId, renewals, expiresAt }: Caller) {
  if (expiresAt - timeOfDay() > RENEWED_IN_LAST_S * 1000)
    return conflict('The session lasts for more than four hours from now: renew it in its last four.')
  const now = (await findCallers(db, [sessionId])).get(sessionId)
  return now?.renewals === renewals
    ? conflict('A session lasts at most 30 days: sign in again.')
    : sessionEnded()
}
