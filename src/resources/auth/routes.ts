import { isUuid, type Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import {
  findAccount,
  findAccountById,
  holdPassword,
  listMemberships,
  replacePassword,
} from '../../../db/queries/accounts.ts'
import {
  type Caller,
  deleteSession,
  deleteSessionsOf,
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
import { checkPassword } from './brute-force.ts'
import { hashPassword } from './passwords.ts'
import * as operations from './schemas.ts'
import { answerSignedIn, openSession, originOf } from './sign-in.ts'

/** A session is renewed in the last four hours of its lifetime, and lasts at most 30 days in all (contract section 3). */
const RENEWED_IN_LAST_S = 4 * 3600
const LONGEST_SESSION_S = 30 * 86_400

/** Signing in and out, and an account's own password and sessions, which are the same in all its organizations. */
export function authRoutes(app: App, { db, tokens, config, lastSeen }: Services): void {
  const inNone = config.allowSignup
    ? 'This account is not active in any organization. Register with its address and password to begin a new one.'
    : 'This account is not active in any organization. Ask an administrator to invite you.'

  app.post('/auth/login', operations.login, async request => {
    const { email, password, organizationId } = request.body
    const account = await findAccount(db.system, email)
    const passwordHash = account?.passwordHash
    const attempt = { accountId: account?.id ?? null, email, address: request.ip, passwordHash, password }
    const wrong = () => new RequestError('wrong-credentials', 'The e-mail address or the password is wrong.')
    if (!(await checkPassword(db.system, attempt)) || !account) throw wrong()
    await lastSeen.flushUsers()
    const opened = await db.system.transaction(async tx => {
      // The password may have been changed during the comparison.
      if ((await holdPassword(tx, account.id)) !== passwordHash) throw wrong()
      const memberships = await listMemberships(tx, account.id)
      if (memberships.length === 0) throw forbidden(inNone, 'no-organization')
      const current = organizationId ?? memberships[0]?.organizationId
      if (!isUuid(current)) throw notFound('organization')
      return openSession(tx, { accountId: account.id, organizationId: current }, originOf(request))
    })
    return answerSignedIn(tokens, found('organization', opened), 'Signed in')
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
    const opened = await db.system.transaction(async tx => {
      const member = { accountId: caller.accountId, organizationId }
      const session = found('organization', await openSession(tx, member, originOf(request)))
      if (!(await deleteSession(tx, caller.sessionId))) throw sessionEnded()
      return session
    })
    return answerSignedIn(tokens, opened, 'Organization switched')
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
    await db.system.transaction(tx => deleteSession(tx, caller.sessionId))
    return ok({}, 'Signed out')
  })

  app.post('/auth/change-password', operations.changePassword, async request => {
    const { accountId, sessionId, userId } = request.caller
    const { currentPassword, newPassword } = request.body
    const { email, passwordHash } = found('account', await findAccountById(db.system, accountId))
    const wrong = () => invalid('currentPassword', 'This is not the present password.')
    const attempt = { accountId, email, address: request.ip, passwordHash, password: currentPassword }
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
      if (!own || !(await deleteSession(tx, id))) throw notFound('session')
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
