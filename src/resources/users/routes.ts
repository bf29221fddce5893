import { acrossOrganizations, notify, type Queryable } from '../../../db/client.ts'
import { findAccountById, hasPassword, updatePassword } from '../../../db/queries/accounts.ts'
import { findApiKey } from '../../../db/queries/api-keys.ts'
import { isInvited } from '../../../db/queries/invitations.ts'
import { findOrganization } from '../../../db/queries/organizations.ts'
import { describeSecondFactor } from '../../../db/queries/second-factors.ts'
import { type Caller, deleteSessionsOf } from '../../../db/queries/sessions.ts'
import {
  deleteUser,
  findAccountId,
  findUser,
  isRegisteredHere,
  listUsers,
  lockMemberships,
  setUserHubs,
  USER_SORTS,
  updateUser,
} from '../../../db/queries/users.ts'
import { audited, differences, record } from '../../http/audit.ts'
import { ok } from '../../http/envelope.ts'
import { conflict, forbidden, found } from '../../http/errors.ts'
import { listed, readPageRequest, splitIds } from '../../http/lists.ts'
import { runsServer } from '../../http/operator.ts'
import { reauthorize } from '../../http/reauthorize.ts'
import type { App, Services } from '../../services.ts'
import { hashPassword } from '../auth/passwords.ts'
import { releaseTasks } from '../tasks/release.ts'
import {
  checkGiving,
  checkHubs,
  checkLastOwner,
  checkSharedHubs,
  checkTouching,
  getGivenRole,
  getVisibleUser,
  visibilityOf,
} from './checks.ts'
import * as operations from './schemas.ts'

export function userRoutes(app: App, { db }: Services): void {
  app.get('/users', operations.listUsers, async ({ caller, query }) => {
    const page = readPageRequest(query, USER_SORTS)
    const filter = { status: query.status, roleIds: splitIds(query.roleId), hubIds: splitIds(query.hubId) }
    const visibility = visibilityOf(caller, 'view/user')
    return listed(
      await db.tenant(caller.organizationId, tx => listUsers(tx, visibility, filter, page)),
      query,
    )
  })

  app.get('/user', operations.getSelf, async ({ caller }) => {
    const self = await db.tenant(caller.organizationId, async tx =>
      caller.apiKey ? findOwnKey(tx, caller) : findSelf(tx, caller),
    )
    return ok({ ...self, permissionDetails: [...caller.permissionDetails] })
  })

  app.patch('/user', operations.updateSelf, async ({ caller, body }) => {
    const { organizationId, userId, permissionDetails } = caller
    const user = await db.tenant(organizationId, async tx => {
      await lockMemberships(tx, organizationId)
      const before = found('user', await findUser(tx, userId))
      await updateUser(tx, userId, body)
      const { organization, kind, ...after } = await findSelf(tx, caller)
      const changes = differences(before, after)
      await record(tx, caller, { action: 'update', resource: 'user', resourceId: userId, changes })
      return { ...after, kind, organization }
    })
    return ok({ ...user, permissionDetails: [...permissionDetails] }, 'Name changed')
  })

  app.get('/user/email/:email', operations.getUserByEmail, async ({ caller, params }) =>
    ok(await db.tenant(caller.organizationId, tx => getVisibleUser(tx, caller, 'view/user', params))),
  )

  app.get('/user/:id', operations.getUser, async ({ caller, params }) =>
    ok(await db.tenant(caller.organizationId, tx => getVisibleUser(tx, caller, 'view/user', params))),
  )

  app.patch('/user/:id', operations.updateUser, async request => {
    const { roleId, hubId, status } = request.body
    const user = await audited(db, request, async tx => {
      const caller = await reauthorize(tx, request.caller, 'update/user')
      const { organizationId } = caller
      const before = await getVisibleUser(tx, caller, 'update/user', request.params)
      const role = await checkTouching(tx, caller, before)
      if (roleId !== undefined && roleId !== before.role._id) {
        checkSharedHubs(caller, before)
        checkGiving(caller, await getGivenRole(tx, roleId))
        await checkLastOwner(tx, before, role)
        await updateUser(tx, before._id, { roleId })
      }
      if (status === 'suspended' && before.status !== 'suspended') {
        await checkLastOwner(tx, before, role)
        await updateUser(tx, before._id, { status })
        await notify(tx, { kind: 'user', userId: before._id, organizationId })
      } else if (status === 'active' && before.status === 'invited') {
        throw conflict('This user has not accepted the invitation yet, and becomes active by accepting it.')
      } else if (status === 'active' && before.status === 'suspended') {
        // A user who has not accepted the invitation is invited again, and becomes active by accepting.
        await updateUser(tx, before._id, { status: (await isInvited(tx, before._id)) ? 'invited' : 'active' })
      }
      if (hubId !== undefined) {
        await checkHubs(tx, caller, hubId, before.hubId)
        await setUserHubs(tx, organizationId, before._id, hubId)
      }
      return { before, after: found('user', await findUser(tx, before._id)) }
    })
    return ok(user, 'User changed')
  })

  app.delete('/user/:id', operations.deleteUser, async request => {
    const { id } = request.params
    const { organizationId } = request.caller
    const check = async (tx: Queryable) => {
      const caller = await reauthorize(tx, request.caller, 'delete/user')
      const before = await getVisibleUser(tx, caller, 'delete/user', { id })
      await checkLastOwner(tx, before, await checkTouching(tx, caller, before))
      return before
    }
    await db.tenant(organizationId, check)
    await releaseTasks(db, organizationId, 'assignee_id', id)
    await audited(db, request, async tx => {
      const before = await check(tx)
      await deleteUser(tx, id)
      await notify(tx, { kind: 'user', userId: id, organizationId })
      return { before, after: null }
    })
    return ok({ _id: id }, 'User deleted')
  })

  app.post('/user/:id/reset-password', operations.resetPassword, async request => {
    const { id } = request.params
    const check = async (tx: Queryable) => {
      const caller = await reauthorize(tx, request.caller, 'update/user')
      const user = await getVisibleUser(tx, caller, 'update/user', { id })
      if (id === caller.userId) {
        throw forbidden('Change your own password with its present one: POST /auth/change-password.')
      }
      // A caller who sets a password can sign in with it, so this requires the right to give the role in those hubs.
      await checkTouching(tx, caller, user)
      checkSharedHubs(caller, user)
      if (!(await isRegisteredHere(tx, id))) {
        throw forbidden(
          'This user registered in another organization, so the password cannot be reset here. Only an administrator of that organization can do it.',
        )
      }
      const accountId = await findAccountId(tx, id)
      const account = await acrossOrganizations(tx, () => findAccountById(tx, accountId))
      if (account?.isBound && account.passwordHash === null)
        throw forbidden('Single sign-on alone opens this account: nobody else chooses a password for it.')
      return { user, accountId }
    }
    const { organizationId } = request.caller
    // Checked first, so that a caller without permission takes no turn at hashing.
    await db.tenant(organizationId, check)
    const passwordHash = await hashPassword(request.body.newPassword, organizationId)
    const resetIt = async (tx: Queryable) => {
      const { user, accountId } = await check(tx)
      await acrossOrganizations(tx, async () => {
        await updatePassword(tx, accountId, passwordHash)
        await deleteSessionsOf(tx, accountId)
      })
      await notify(tx, { kind: 'user', userId: id, organizationId })
      return { before: user, after: user }
    }
    await audited(db, request, resetIt, 'reset-password')
    return ok({ _id: id }, 'Password reset')
  })
}

/** The calling user, with the language and time zone of its organization. */
async function findSelf(
  tx: Queryable,
  caller: Pick<Caller, 'accountId' | 'userId' | 'organizationId' | 'isOwner'>,
) {
  const { accountId, userId, organizationId } = caller
  const user = found('user', await findUser(tx, userId))
  const beyond = await acrossOrganizations(tx, async () => ({
    hasPassword: await hasPassword(tx, accountId),
    secondFactor: await describeSecondFactor(tx, accountId),
    runsServer: await runsServer(tx, caller),
  }))
  return {
    ...user,
    ...beyond,
    kind: 'user' as const,
    organization: await describeOrganization(tx, organizationId),
  }
}

/** The same of a calling API key, in the form of a user. */
async function findOwnKey(
  tx: Queryable,
  { userId, organizationId, isOwner }: Pick<Caller, 'userId' | 'organizationId' | 'isOwner'>,
) {
  const { _id, name, role, hubId, lastUsedAt, createdAt, updatedAt } = found(
    'API key',
    await findApiKey(tx, userId),
  )
  return {
    ...{ _id, kind: 'api-key' as const, name, email: null, status: 'active' as const, role, hubId },
    ...{
      organizationId,
      lastActiveAt: lastUsedAt,
      isSample: false,
      createdAt,
      updatedAt,
      hasPassword: false,
      secondFactor: null,
      runsServer: await acrossOrganizations(tx, () => runsServer(tx, { isOwner, organizationId })),
    },
    organization: await describeOrganization(tx, organizationId),
  }
}

async function describeOrganization(tx: Queryable, organizationId: string) {
  const { language, timeZone } = found('organization', await findOrganization(tx, organizationId))
  return { language, timeZone }
}
