import { z } from 'zod'
import { notify, type Queryable } from '../../db/client.ts'
import { isDuplicate } from '../../db/errors.ts'
import { claimAccount, updatePassword } from '../../db/queries/accounts.ts'
import { isInvited, putInvitation } from '../../db/queries/invitations.ts'
import { raiseSight } from '../../db/queries/organizations.ts'
import { findRole } from '../../db/queries/roles.ts'
import { deleteSessionsOf } from '../../db/queries/sessions.ts'
import {
  findAccountId,
  findUser,
  insertUser,
  isRegisteredHere,
  setUserHubs,
  type User,
  updateUser,
} from '../../db/queries/users.ts'
import { differences, record } from '../audit/record.ts'
import { createInvitationToken, INVITATION_LIFETIME_S } from '../auth/invitation-token.ts'
import { hashPassword } from '../auth/passwords.ts'
import { failures, id, ok, success } from '../envelope.ts'
import { conflict, forbidden } from '../errors.ts'
import type { App, Services } from '../services.ts'
import { checkGiving, checkHubs, getGivenRole, getVisibleUser } from './checks.ts'
import { invitation, invitedUser, passwordReset } from './schemas.ts'

const tags = ['Users']
const params = z.object({ id })

/** How people come in, and get in again: invitations and reset passwords. */
export function inviteRoutes(app: App, { db }: Services): void {
  async function invite(tx: Queryable, organizationId: string, userId: string) {
    const { token, hash } = createInvitationToken()
    const expiresAt = await putInvitation(tx, {
      organizationId,
      userId,
      tokenHash: hash,
      lifetimeS: INVITATION_LIFETIME_S,
    })
    return { ...((await findUser(tx, userId)) as User), invitation: { token, expiresAt } }
  }

  app.post(
    '/users/invite',
    {
      config: { access: 'create/user' },
      schema: {
        tags,
        summary: 'Invite somebody into the organization',
        description: `Answers the token of the invitation once, for the administrator to pass on. It opens
\`POST /auth/accept-invitation\` for a week. Whoever has an account joins with it.`,
        body: invitation,
        response: { 201: success(invitedUser), ...failures(409) },
      },
    },
    async (request, reply) => {
      const { caller } = request
      const { organizationId } = caller
      const { email, name, roleId, hubId } = request.body
      const check = async (tx: Queryable) => {
        checkGiving(caller, await getGivenRole(tx, roleId))
        await checkHubs(tx, caller, hubId)
      }
      // First, so that a refused invitation leaves no account behind.
      await db.tenant(organizationId, check)
      const account = await db.system(tx => claimAccount(tx, email))
      const invited = await db.tenant(organizationId, async tx => {
        await check(tx)
        const userId = await inviteOnce(() =>
          insertUser(tx, { organizationId, accountId: account.id, roleId, name, status: 'invited' }),
        )
        await setUserHubs(tx, organizationId, userId, hubId)
        const made = await invite(tx, organizationId, userId)
        const { invitation: _secret, ...shown } = made
        await record(tx, caller, {
          action: 'invite',
          resource: 'user',
          resourceId: userId,
          changes: differences(null, shown),
        })
        await raiseSight(tx, organizationId)
        return made
      })
      reply.code(201)
      return ok(invited, 'User invited')
    },
  )

  app.post(
    '/user/:id/invitation',
    {
      config: { access: 'create/user' },
      schema: {
        tags,
        summary: 'Renew an invitation',
        description:
          'For a user who has not accepted yet: a new token, and the former one is of no use any more.',
        params,
        response: { 200: success(invitedUser), ...failures(409) },
      },
    },
    async request => {
      const { caller } = request
      const renewed = await db.tenant(caller.organizationId, async tx => {
        const user = await getVisibleUser(tx, caller, 'create/user', request.params.id)
        if (!(await isInvited(tx, user._id))) throw conflict('This user has joined already.')
        checkGiving(caller, await getGivenRole(tx, user.role._id))
        await updateUser(tx, user._id, { status: 'invited' })
        await record(tx, caller, { action: 'renew-invitation', resource: 'user', resourceId: user._id })
        return invite(tx, caller.organizationId, user._id)
      })
      return ok(renewed, 'Invitation renewed')
    },
  )

  app.post(
    '/user/:id/reset-password',
    {
      config: { access: 'update/user' },
      schema: {
        tags,
        summary: "Reset a user's password",
        description: `Of users whose account first registered in this organization. The password is the account's in all
its organizations, and its sessions end in all of them.`,
        params,
        body: passwordReset,
        response: { 200: success(z.object({ _id: id })), ...failures(403) },
      },
    },
    async request => {
      const { caller } = request
      const { organizationId } = caller
      const passwordHash = await hashPassword(request.body.newPassword)
      const user = await db.tenant(organizationId, async tx => {
        const found = await getVisibleUser(tx, caller, 'update/user', request.params.id)
        if (found._id === caller.userId) {
          throw forbidden('Change your own password with its present one: POST /auth/change-password.')
        }
        const role = await findRole(tx, found.role._id)
        // Whoever sets a password can sign in with it, so it is as good as being given the role.
        if (role) checkGiving(caller, role)
        if (!(await isRegisteredHere(tx, found._id))) {
          throw forbidden(
            'This user registered in another organization, so the password cannot be reset here. Only an administrator of that organization can do it.',
          )
        }
        return { ...found, accountId: await findAccountId(tx, found._id) }
      })
      await db.system(async tx => {
        await updatePassword(tx, user.accountId, passwordHash)
        await deleteSessionsOf(tx, user.accountId)
        await notify(tx, { kind: 'user', userId: user._id, organizationId })
        await record(tx, caller, { action: 'reset-password', resource: 'user', resourceId: user._id })
      })
      return ok({ _id: user._id }, 'Password reset')
    },
  )
}

async function inviteOnce<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw conflict('This e-mail address is a user of the organization already.')
  }
}
