import { z } from 'zod'
import { findAccount, findUser, listMemberships } from '../../db/queries/accounts.ts'
import { deleteSession, insertSession } from '../../db/queries/sessions.ts'
import { TOKEN_LIFETIME_S } from '../../ingest/tokens.ts'
import { failures, ok, success } from '../envelope.ts'
import { notFound, RequestError } from '../errors.ts'
import type { App, Services } from '../services.ts'
import { verifyPassword } from './passwords.ts'
import { login, signedIn } from './schemas.ts'

export function authRoutes(app: App, { db, tokens }: Services): void {
  app.post(
    '/auth/login',
    {
      config: { access: 'public' },
      schema: {
        tags: ['Accounts'],
        summary: 'Sign in',
        body: login,
        response: { 200: signedIn, ...failures(400, 401, 403, 404, 503) },
      },
    },
    async request => {
      const { email, password, organizationId } = request.body
      const account = await findAccount(db.autocommit, email)
      if (!(await verifyPassword(account?.passwordHash, password)) || !account) {
        throw new RequestError('unauthorized', 'The e-mail address or the password is wrong.')
      }
      const memberships = await listMemberships(db.autocommit, account.id)
      if (memberships.length === 0) {
        throw new RequestError('forbidden', 'This account is not active in any organization.')
      }
      const current = organizationId
        ? memberships.find(membership => membership.organizationId === organizationId)
        : memberships[0]
      if (!current) throw notFound('organization')
      const { sessionId, user } = await db.system(async tx => ({
        sessionId: await insertSession(tx, current.userId, TOKEN_LIFETIME_S),
        user: await findUser(tx, current.userId),
      }))
      const token = await tokens.sign({ ...current, sessionId })
      return {
        status: true as const,
        message: 'Signed in',
        token,
        expires_in: TOKEN_LIFETIME_S,
        data: {
          _id: current.userId,
          name: user?.name ?? '',
          email: account.email,
          organizationId: current.organizationId,
          hubId: [],
        },
        isHubSet: false,
        organizations: memberships.map(membership => ({ ...membership, isCurrent: membership === current })),
      }
    },
  )

  app.post(
    '/auth/logout',
    {
      config: { access: 'session' },
      schema: {
        tags: ['Accounts'],
        summary: 'Sign out: ends the session of the token',
        response: { 200: success(z.object({})), ...failures(401, 503) },
      },
    },
    async request => {
      await db.system(tx => deleteSession(tx, request.caller.sessionId))
      return ok({}, 'Signed out')
    },
  )
}
