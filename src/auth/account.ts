import { z } from 'zod'
import { isUuid } from '../../db/client.ts'
import { findAccountById, updatePassword } from '../../db/queries/accounts.ts'
import { deleteSession, deleteSessionsOf, listSessions } from '../../db/queries/sessions.ts'
import { record } from '../audit/record.ts'
import { failures, id, ok, success } from '../envelope.ts'
import { invalid, notFound } from '../errors.ts'
import type { App, Services } from '../services.ts'
import { checkPassword } from './brute-force.ts'
import { hashPassword } from './passwords.ts'
import { passwordChange, session } from './schemas.ts'

const tags = ['Accounts']

/** An account's own password and sessions, which are the same in all its organizations. */
export function accountRoutes(app: App, { db }: Services): void {
  app.post(
    '/auth/change-password',
    {
      config: { access: 'session' },
      schema: {
        tags,
        summary: 'Change the password',
        description: 'In every organization of the account. Ends all its other sessions.',
        body: passwordChange,
        response: { 200: success(z.object({})) },
      },
    },
    async request => {
      const { accountId, sessionId } = request.caller
      const { currentPassword, newPassword } = request.body
      const account = await findAccountById(db.autocommit, accountId)
      if (!account) throw notFound('account')
      const { email, passwordHash } = account
      if (
        !(await checkPassword(db, { email, address: request.ip, passwordHash, password: currentPassword }))
      ) {
        throw invalid('currentPassword', 'This is not the present password.')
      }
      const newHash = await hashPassword(newPassword)
      await db.system(async tx => {
        await updatePassword(tx, accountId, newHash)
        await deleteSessionsOf(tx, accountId, sessionId)
        await record(tx, request.caller, {
          action: 'change-password',
          resource: 'user',
          resourceId: request.caller.userId,
        })
      })
      return ok({}, 'Password changed')
    },
  )

  app.get(
    '/auth/sessions',
    {
      config: { access: 'session' },
      schema: {
        tags,
        summary: 'Where the account is signed in',
        description: 'Its living sessions in every organization, newest first.',
        response: { 200: success(z.array(session)) },
      },
    },
    async ({ caller }) => {
      const sessions = await listSessions(db.autocommit, caller.accountId)
      return ok(sessions.map(found => ({ ...found, isCurrent: found._id === caller.sessionId })))
    },
  )

  app.delete(
    '/auth/session/:id',
    {
      config: { access: 'session' },
      schema: {
        tags,
        summary: "End one of the account's sessions",
        description: 'Its token is refused from then on, and its live sockets are closed.',
        params: z.object({ id }),
        response: { 200: success(z.object({ _id: id })), ...failures(404) },
      },
    },
    async request => {
      const sessionId = request.params.id
      await db.system(async tx => {
        const sessions = isUuid(sessionId) ? await listSessions(tx, request.caller.accountId) : []
        const own = sessions.some(({ _id }) => _id === sessionId.toLowerCase())
        if (!own || !(await deleteSession(tx, sessionId))) throw notFound('session')
      })
      return ok({ _id: sessionId }, 'Session ended')
    },
  )
}
