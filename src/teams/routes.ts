import { z } from 'zod'
import { isUuid, type Queryable } from '../../db/client.ts'
import { isDuplicate } from '../../db/errors.ts'
import { findHub } from '../../db/queries/hubs.ts'
import { raiseSight } from '../../db/queries/organizations.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import {
  deleteTeam,
  findTeam,
  insertTeam,
  listTeams,
  type NewTeam,
  TEAM_SORTS,
  type Team,
  type TeamVision,
  updateTeam,
} from '../../db/queries/teams.ts'
import { listKnownUsers } from '../../db/queries/users.ts'
import { differences, record } from '../audit/record.ts'
import { failures, id, list, ok, success } from '../envelope.ts'
import { conflict, type FieldError, FieldErrors, notFound } from '../errors.ts'
import { listed, listQuery, readPageRequest, splitIds } from '../lists.ts'
import { type Permission, scopeOf } from '../permissions.ts'
import type { App, Services } from '../services.ts'
import { newTeam, team } from './schemas.ts'

const tags = ['Teams']
const params = z.object({ id })

export function teamRoutes(app: App, { db }: Services): void {
  app.get(
    '/teams',
    {
      config: { access: 'view/team' },
      schema: {
        tags,
        summary: 'The teams of the organization',
        description: `Those of the caller's hubs and of none; with scope \`team\` or \`own\` the caller's own ones alone.`,
        querystring: listQuery(TEAM_SORTS, 'name').extend({
          hubId: z.string().optional().describe('Hubs, separated by commas'),
          userId: z.string().optional().describe('Members or leaders, separated by commas'),
        }),
        response: { 200: list(team) },
      },
    },
    async request => {
      const { caller, query } = request
      const page = readPageRequest(query, TEAM_SORTS)
      const filter = { hubIds: splitIds(query.hubId), userIds: splitIds(query.userId) }
      return listed(
        await db.tenant(caller.organizationId, tx =>
          listTeams(tx, visionOf(caller, 'view/team'), filter, page),
        ),
        query,
      )
    },
  )

  app.get(
    '/team/:id',
    {
      config: { access: 'view/team' },
      schema: {
        tags,
        summary: 'A team',
        description: 'With its members and leaders.',
        params,
        response: { 200: success(team) },
      },
    },
    async ({ caller, params: { id: teamId } }) =>
      ok(await db.tenant(caller.organizationId, tx => getTeam(tx, caller, 'view/team', teamId))),
  )

  app.post(
    '/team',
    {
      config: { access: 'create/team' },
      schema: {
        tags,
        summary: 'Make a team',
        description: 'Leaders need not be members too; either way the user belongs to the team.',
        body: newTeam,
        response: { 201: success(team), ...failures(409) },
      },
    },
    async (request, reply) => {
      const { caller } = request
      const { organizationId } = caller
      const made = await db.tenant(organizationId, async tx => {
        const given = await checkReferences(tx, caller, request.body)
        const teamId = await named(given.name, () => insertTeam(tx, organizationId, given))
        const found = (await findTeam(tx, everything(caller), teamId)) as Team
        await record(tx, caller, {
          action: 'create',
          resource: 'team',
          resourceId: teamId,
          changes: differences(null, found),
        })
        await raiseSight(tx, organizationId)
        return found
      })
      reply.code(201)
      return ok(made, 'Team made')
    },
  )

  app.put(
    '/team/:id',
    {
      config: { access: 'update/team' },
      schema: {
        tags,
        summary: 'Replace a team',
        description: 'Holds at once for what its members see, on open live sockets too.',
        params,
        body: newTeam,
        response: { 200: success(team), ...failures(409) },
      },
    },
    async request => {
      const { caller } = request
      const { organizationId } = caller
      const changed = await db.tenant(organizationId, async tx => {
        const before = await getTeam(tx, caller, 'update/team', request.params.id)
        const given = await checkReferences(tx, caller, request.body, before)
        await named(given.name, () => updateTeam(tx, organizationId, before._id, given))
        const after = (await findTeam(tx, everything(caller), before._id)) as Team
        await record(tx, caller, {
          action: 'update',
          resource: 'team',
          resourceId: before._id,
          changes: differences(before, after),
        })
        await raiseSight(tx, organizationId)
        return after
      })
      return ok(changed, 'Team changed')
    },
  )

  app.delete(
    '/team/:id',
    {
      config: { access: 'delete/team' },
      schema: {
        tags,
        summary: 'Remove a team',
        description: 'Its members stay.',
        params,
        response: { 200: success(z.object({ _id: id })) },
      },
    },
    async request => {
      const { caller } = request
      const removed = await db.tenant(caller.organizationId, async tx => {
        const before = await getTeam(tx, caller, 'delete/team', request.params.id)
        await deleteTeam(tx, before._id)
        await record(tx, caller, {
          action: 'delete',
          resource: 'team',
          resourceId: before._id,
          changes: differences(before, null),
        })
        await raiseSight(tx, caller.organizationId)
        return before._id
      })
      return ok({ _id: removed }, 'Team removed')
    },
  )
}

function visionOf(caller: Caller, permission: Permission): TeamVision {
  const { userId, hubIds } = caller
  return { userId, hubIds, ownOnly: scopeOf(caller.permissionDetails, permission) !== 'all' }
}

const everything = ({ userId }: Caller): TeamVision => ({ userId, hubIds: null, ownOnly: false })

async function getTeam(tx: Queryable, caller: Caller, permission: Permission, teamId: string): Promise<Team> {
  const found = isUuid(teamId) ? await findTeam(tx, visionOf(caller, permission), teamId) : null
  if (!found) throw notFound('team')
  return found
}

/** Hub and users have to be there for the caller; those that the team has already may stay. 400 otherwise. */
async function checkReferences(
  tx: Queryable,
  caller: Caller,
  given: NewTeam,
  before?: Team,
): Promise<NewTeam> {
  const errors: FieldError[] = []
  const { hubId } = given
  const keepsHub = hubId !== null && hubId === before?.hubId
  if (hubId !== null && !keepsHub && !(isUuid(hubId) && (await findHub(tx, hubId, caller.hubIds)))) {
    errors.push({ path: 'hubId', message: 'There is no such hub.' })
  }
  const present = new Set([...(before?.memberIds ?? []), ...(before?.leaderIds ?? [])])
  const named = [...given.memberIds, ...given.leaderIds].filter(isUuid)
  const known = await listKnownUsers(tx, caller, named)
  for (const list of ['memberIds', 'leaderIds'] as const) {
    given[list].forEach((userId, index) => {
      if (known.has(userId) || present.has(userId)) return
      errors.push({ path: `${list}.${index}`, message: 'There is no such user.' })
    })
  }
  const [first] = errors
  if (first) throw new FieldErrors(errors, first.message)
  return given
}

async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw conflict(`There is a team named ${name} already.`)
  }
}
