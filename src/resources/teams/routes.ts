import type { Queryable } from '../../../db/client.ts'
import { ALL_HUBS } from '../../../db/hub-rule.ts'
import { listKnownHubs } from '../../../db/queries/hubs.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import {
  deleteTeam,
  findTeam,
  insertTeam,
  listTeams,
  type NewTeam,
  TEAM_SORTS,
  type Team,
  type TeamVisibility,
  updateTeam,
} from '../../../db/queries/teams.ts'
import { listKnownUsers } from '../../../db/queries/users.ts'
import { audited } from '../../http/audit.ts'
import { unique } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { found } from '../../http/errors.ts'
import { listed, readPageRequest, splitIds } from '../../http/lists.ts'
import { type Permission, scopeOf } from '../../http/permissions.ts'
import { checkReferences, placed } from '../../http/references.ts'
import type { App, Services } from '../../services.ts'
import { releaseTasks } from '../tasks/release.ts'
import * as operations from './schemas.ts'

export function teamRoutes(app: App, { db }: Services): void {
  app.get('/teams', operations.listTeams, async ({ caller, query }) => {
    const page = readPageRequest(query, TEAM_SORTS)
    const filter = { hubIds: splitIds(query.hubId), userIds: splitIds(query.userId) }
    const visibility = visibilityOf(caller, 'view/team')
    return listed(
      await db.tenant(caller.organizationId, tx => listTeams(tx, visibility, filter, page)),
      query,
    )
  })

  app.get('/team/:id', operations.getTeam, async ({ caller, params }) => {
    const visibility = visibilityOf(caller, 'view/team')
    return ok(
      found('team', await db.tenant(caller.organizationId, tx => findTeam(tx, visibility, params.id))),
    )
  })

  app.post('/team', operations.createTeam, async (request, reply) => {
    const { body } = request
    const team = await audited(db, request, async (tx, caller) => {
      await checkTeam(tx, caller, body)
      const teamId = await unique('team named', body.name, () => insertTeam(tx, caller.organizationId, body))
      return { before: null, after: found('team', await findTeam(tx, everything(caller), teamId)) }
    })
    return created(reply, team, 'Team created')
  })

  app.put('/team/:id', operations.replaceTeam, async request => {
    const { body, params } = request
    const team = await audited(db, request, async (tx, caller) => {
      const before = found('team', await findTeam(tx, visibilityOf(caller, 'update/team'), params.id))
      await checkTeam(tx, caller, body, before)
      await unique('team named', body.name, () => updateTeam(tx, caller.organizationId, params.id, body))
      return { before, after: found('team', await findTeam(tx, everything(caller), params.id)) }
    })
    return ok(team, 'Team changed')
  })

  app.delete('/team/:id', operations.deleteTeam, async request => {
    const { caller, params } = request
    const { id } = params
    const find = async (tx: Queryable) =>
      found('team', await findTeam(tx, visibilityOf(caller, 'delete/team'), id))
    await db.tenant(caller.organizationId, find)
    await releaseTasks(db, caller.organizationId, 'team_id', id)
    await audited(db, request, async tx => {
      const before = await find(tx)
      await deleteTeam(tx, id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'Team deleted')
  })
}

function visibilityOf(caller: Caller, permission: Permission): TeamVisibility {
  const { userId, hubIds } = caller
  return { userId, hubIds, ownOnly: scopeOf(caller.permissionDetails, permission) !== 'all' }
}

const everything = ({ userId }: Caller): TeamVisibility => ({ userId, hubIds: ALL_HUBS, ownOnly: false })

/** Hub and users must exist for the caller, except those that the team has already. Throws 400 otherwise. */
function checkTeam(tx: Queryable, caller: Caller, given: NewTeam, before?: Team): Promise<void> {
  const { hubId, memberIds, leaderIds } = given
  return checkReferences(
    {
      what: 'hub',
      ids: { hubId },
      find: ids => listKnownHubs(tx, ids, caller.hubIds),
      present: before?.hubId ? [before.hubId] : [],
    },
    {
      what: 'user',
      ids: { ...placed('memberIds', memberIds), ...placed('leaderIds', leaderIds) },
      find: ids => listKnownUsers(tx, { ...caller, scope: 'all' }, ids),
      present: before && [...before.memberIds, ...before.leaderIds],
    },
  )
}
