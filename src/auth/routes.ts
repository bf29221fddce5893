import { z } from 'zod'
import { isUuid } from '../../db/client.ts'
import { findAccount, listMemberships } from '../../db/queries/accounts.ts'
import { deleteSession } from '../../db/queries/sessions.ts'
import { failures, ok, success } from '../envelope.ts'
import { forbidden, notFound, RequestError } from '../errors.ts'
import type { App, Services } from '../services.ts'
import { checkPassword } from './brute-force.ts'
import { login, organizationEntries, signedIn, switching } from './schemas.ts'
import { answerSignedIn, openSession, originOf, sessionEnded } from './sign-in.ts'

const tags = ['Accounts']

export function authRoutes(app: App, { db, tokens }: Services): void {
  app.post(
    '/auth/login',
    {
      config: { access: 'public', idempotencyKey: false },
      schema: {
        tags,
        summary: 'Sign in',
        description: `Leads to the organization that the account used last, unless one is named. After 5 failures in a
row the account is closed for a while, longer with each further one; so is an address after 100.`,
        body: login,
        response: { 200: signedIn, ...failures(401, 403, 404) },
      },
    },
    async request => {
      const { email, password, organizationId } = request.body
      const account = await findAccount(db.autocommit, email.trim())
      const attempt = {
        email: email.trim(),
        address: request.ip,
        passwordHash: account?.passwordHash,
        password,
      }
      if (!(await checkPassword(db, attempt)) || !account) {
        throw new RequestError('unauthorized', 'The e-mail address or the password is wrong.')
      }
      const opened = await db.system(async tx => {
        const memberships = await listMemberships(tx, account.id)
        if (memberships.length === 0) throw forbidden('This account is not active in any organization.')
        const current = organizationId ?? memberships[0]?.organizationId
        if (!isUuid(current)) throw notFound('organization')
        return openSession(tx, { accountId: account.id, organizationId: current }, originOf(request))
      })
      if (!opened) throw notFound('organization')
      return answerSignedIn(tokens, opened, 'Signed in')
    },
  )

  app.get(
    '/auth/my-organizations',
    {
      config: { access: 'session' },
      schema: {
        tags,
        summary: 'The organizations of the account',
        description: 'Those in which it is active, the one used last first.',
        response: { 200: success(organizationEntries) },
      },
    },
    async ({ caller }) => {
      const memberships = await listMemberships(db.autocommit, caller.accountId)
      return ok(
        memberships.map(membership => ({
          ...membership,
          isCurrent: membership.organizationId === caller.organizationId,
        })),
      )
    },
  )

  app.post(
    '/auth/switch-organization',
    {
      config: { access: 'session' },
      schema: {
        tags,
        summary: 'Go on in another organization',
        description: `Answers a new token and revokes the one of this request: every process refuses it from then on, and
live sockets that were opened with it are closed. Where the account is no active member, nothing changes.`,
        body: switching,
        response: { 200: signedIn, ...failures(404) },
      },
    },
    async request => {
      const { caller } = request
      const { organizationId } = request.body
      if (!isUuid(organizationId)) throw notFound('organization')
      const opened = await db.system(async tx => {
        const member = { accountId: caller.accountId, organizationId }
        const session = await openSession(tx, member, originOf(request))
        if (!session) throw notFound('organization')
        if (!(await deleteSession(tx, caller.sessionId))) throw sessionEnded()
        return session
      })
      return answerSignedIn(tokens, opened, 'Organization switched')
    },
  )

  app.post(
    '/auth/logout',
    {
      config: { access: 'session' },
      schema: {
        tags,
        summary: 'Sign out',
        description: 'Ends the session of the token.',
        response: { 200: success(z.object({})) },
      },
    },
    async request => {
      await db.system(tx => deleteSession(tx, request.caller.sessionId))
      return ok({}, 'Signed out')
    },
  )
}
