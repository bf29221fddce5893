import { z } from 'zod'
import { notify } from '../../db/client.ts'
import { isInvited } from '../../db/queries/invitations.ts'
import { raiseSight } from '../../db/queries/organizations.ts'
import {
  deleteUser,
  findUser,
  findVisibleUser,
  listUsers,
  lockMemberships,
  setUserHubs,
  USER_SORTS,
  type User,
  updateUser,
} from '../../db/queries/users.ts'
import { differences, record } from '../audit/record.ts'
import { failures, id, list, ok, success } from '../envelope.ts'
import { conflict, notFound } from '../errors.ts'
import { listed, listQuery, readPageRequest, splitIds } from '../lists.ts'
import type { App, Services } from '../services.ts'
import { checkGiving, checkHubs, checkTaking, getGivenRole, getVisibleUser, visionOf } from './checks.ts'
import { self, selfChange, user, userChange } from './schemas.ts'

const tags = ['Users']
const params = z.object({ id })

export function userRoutes(app: App, { db }: Services): void {
  app.get(
    '/users',
    {
      config: { access: 'view/user' },
      schema: {
        tags,
        summary: 'The users of the organization',
        description: `Those who work in one of the caller's hubs or in none; Owner and Admin see everybody. With scope \`team\` those
of the caller's teams, with \`own\` the caller alone.`,
        querystring: listQuery(USER_SORTS, 'name').extend({
          status: z.enum(['active', 'invited', 'suspended']).optional(),
          roleId: z.string().optional().describe('Roles, separated by commas'),
          hubId: z.string().optional().describe('Hubs, separated by commas'),
        }),
        response: { 200: list(user) },
      },
    },
    async request => {
      const { caller, query } = request
      const page = readPageRequest(query, USER_SORTS)
      const filter = {
        status: query.status,
        roleIds: splitIds(query.roleId),
        hubIds: splitIds(query.hubId),
      }
      return listed(
        await db.tenant(caller.organizationId, tx =>
          listUsers(tx, visionOf(caller, 'view/user'), filter, page),
        ),
        query,
      )
    },
  )

  app.get(
    '/user',
    {
      config: { access: 'session' },
      schema: {
        tags,
        summary: 'The calling user',
        description: 'With what its role permits.',
        response: { 200: success(self) },
      },
    },
    async ({ caller }) => {
      const found = await db.tenant(caller.organizationId, tx => findUser(tx, caller.userId))
      if (!found) throw notFound('user')
      return ok({ ...found, permissionDetails: caller.permissionDetails })
    },
  )

  app.patch(
    '/user',
    {
      config: { access: 'session' },
      schema: {
        tags,
        summary: 'Change the own name',
        description: 'In this organization. Everything else is changed by administrators.',
        body: selfChange,
        response: { 200: success(self) },
      },
    },
    async request => {
      const { caller } = request
      const changed = await db.tenant(caller.organizationId, async tx => {
        await lockMemberships(tx, caller.organizationId)
        const before = await findUser(tx, caller.userId)
        await updateUser(tx, caller.userId, request.body)
        const after = (await findUser(tx, caller.userId)) as User
        await record(tx, caller, {
          action: 'update',
          resource: 'user',
          resourceId: caller.userId,
          changes: differences(before, after),
        })
        await raiseSight(tx, caller.organizationId)
        return after
      })
      return ok({ ...changed, permissionDetails: caller.permissionDetails }, 'Name changed')
    },
  )

  app.get(
    '/user/email/:email',
    {
      config: { access: 'view/user' },
      schema: {
        tags,
        summary: 'The user of an e-mail address',
        description: 'Compared without case.',
        params: z.object({ email: z.string().meta({ examples: ['anna@example.com'] }) }),
        response: { 200: success(user) },
      },
    },
    async request => {
      const { caller } = request
      const found = await db.tenant(caller.organizationId, tx =>
        findVisibleUser(tx, visionOf(caller, 'view/user'), request.params),
      )
      if (!found) throw notFound('user')
      return ok(found)
    },
  )

  app.get(
    '/user/:id',
    {
      config: { access: 'view/user' },
      schema: {
        tags,
        summary: 'A user',
        description: 'A membership in the organization.',
        params,
        response: { 200: success(user) },
      },
    },
    async ({ caller, params: { id: userId } }) =>
      ok(await db.tenant(caller.organizationId, tx => getVisibleUser(tx, caller, 'view/user', userId))),
  )

  app.patch(
    '/user/:id',
    {
      config: { access: 'update/user' },
      schema: {
        tags,
        summary: "Change a user's role, hubs or status",
        description: `Holds at once, on open live sockets too. Suspending ends the user's sessions. The last owner can be
neither suspended nor given another role. Nobody gives or takes Owner without holding it.`,
        params,
        body: userChange,
        response: { 200: success(user), ...failures(403, 409) },
      },
    },
    async request => {
      const { caller } = request
      const { organizationId } = caller
      const { roleId, hubId, status } = request.body
      const changed = await db.tenant(organizationId, async tx => {
        await lockMemberships(tx, organizationId)
        const before = await getVisibleUser(tx, caller, 'update/user', request.params.id)
        if (roleId !== undefined && roleId !== before.role._id) {
          checkGiving(caller, await getGivenRole(tx, roleId))
          await checkTaking(tx, caller, before)
          await updateUser(tx, before._id, { roleId })
        }
        if (status === 'suspended' && before.status !== 'suspended') {
          await checkTaking(tx, caller, before)
          await updateUser(tx, before._id, { status })
          await notify(tx, { kind: 'user', userId: before._id, organizationId })
        } else if (status === 'active' && before.status === 'invited') {
          throw conflict('This user has not accepted the invitation yet, and becomes active by accepting it.')
        } else if (status === 'active' && before.status === 'suspended') {
          // Whoever has not accepted yet is invited again, and becomes active by accepting.
          await updateUser(tx, before._id, {
            status: (await isInvited(tx, before._id)) ? 'invited' : 'active',
          })
        }
        if (hubId !== undefined) {
          await checkHubs(tx, caller, hubId, before.hubId)
          await setUserHubs(tx, organizationId, before._id, hubId)
        }
        const after = (await findUser(tx, before._id)) as User
        await record(tx, caller, {
          action: 'update',
          resource: 'user',
          resourceId: before._id,
          changes: differences(before, after),
        })
        await raiseSight(tx, organizationId)
        return after
      })
      return ok(changed, 'User changed')
    },
  )

  app.delete(
    '/user/:id',
    {
      config: { access: 'delete/user' },
      schema: {
        tags,
        summary: 'Remove a user from the organization',
        description: `Ends its sessions here and withdraws an invitation. The account and its other organizations stay, and
so does the history of its positions.`,
        params,
        response: { 200: success(z.object({ _id: id })), ...failures(409) },
      },
    },
    async request => {
      const { caller } = request
      const { organizationId } = caller
      const removed = await db.tenant(organizationId, async tx => {
        await lockMemberships(tx, organizationId)
        const before = await getVisibleUser(tx, caller, 'delete/user', request.params.id)
        await checkTaking(tx, caller, before)
        await deleteUser(tx, before._id)
        await notify(tx, { kind: 'user', userId: before._id, organizationId })
        await record(tx, caller, {
          action: 'delete',
          resource: 'user',
          resourceId: before._id,
          changes: differences(before, null),
        })
        await raiseSight(tx, organizationId)
        return before._id
      })
      return ok({ _id: removed }, 'User removed')
    },
  )
}
