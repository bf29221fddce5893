import type { Queryable } from '../../../db/client.ts'
import { timeOfDay } from '../../../db/clock.ts'
import { areVisibleHubs } from '../../../db/hub-rule.ts'
import {
  API_KEY_SORTS,
  type ApiKey,
  deleteApiKey,
  findApiKey,
  insertApiKey,
  listApiKeys,
  rotateApiKey,
  updateApiKey,
} from '../../../db/queries/api-keys.ts'
import { findRole } from '../../../db/queries/roles.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { createApiKey } from '../../../ingest/identity/authenticate.ts'
import { audited } from '../../http/audit.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, forbidden, found, invalid } from '../../http/errors.ts'
import { checkLife } from '../../http/key-life.ts'
import { listed, readPageRequest, splitIds } from '../../http/lists.ts'
import { beyondReach, type Permission } from '../../http/permissions.ts'
import { reauthorize } from '../../http/reauthorize.ts'
import type { App, Services } from '../../services.ts'
import { checkGiving, checkHubs, getGivenRole } from '../users/checks.ts'
import * as operations from './schemas.ts'

/** Keys for programs: members without an account, whose session is a secret. */
export function apiKeyRoutes(app: App, { db, lastSeen }: Services): void {
  app.get('/api-keys', operations.listApiKeys, async ({ caller, query }) => {
    await lastSeen.flushKeys()
    const page = readPageRequest(query, API_KEY_SORTS)
    const filter = { hubIds: caller.hubIds, createdBy: splitIds(query.createdBy) }
    return listed(await db.tenant(caller.organizationId, tx => listApiKeys(tx, filter, page)), query)
  })

  app.get('/api-key/:id', operations.getApiKey, async ({ caller, params }) => {
    await lastSeen.flushKeys()
    const find = (tx: Queryable) => findApiKey(tx, params.id, caller.hubIds)
    return ok(found('API key', await db.tenant(caller.organizationId, find)))
  })

  app.post('/api-key', operations.createApiKey, async (request, reply) => {
    const { name, roleId, hubId, expiresAt } = request.body
    checkExpiry(expiresAt)
    const { key, ...secret } = createApiKey()
    const apiKey = await audited(db, request, async tx => {
      const caller = await reauthorize(tx, request.caller, 'create/api-key')
      const { organizationId, userId: createdBy } = caller
      checkLife(caller, expiresAt)
      checkGiving(caller, await getGivenRole(tx, roleId))
      await checkHubs(tx, caller, hubId)
      const given = { organizationId, name, roleId, hubIds: hubId, expiresAt, createdBy }
      const id = await insertApiKey(tx, given, secret)
      return { before: null, after: found('API key', await findApiKey(tx, id)) }
    })
    return created(reply, { ...apiKey, key }, 'API key created')
  })

  app.patch('/api-key/:id', operations.updateApiKey, async request => {
    const { roleId, hubId, expiresAt, name } = request.body
    const apiKey = await audited(db, request, async tx => {
      const { caller, before } = await getTouchable(tx, request.caller, 'update/api-key', request.params.id)
      if (roleId !== undefined && roleId !== before.role._id)
        checkGiving(caller, await getGivenRole(tx, roleId))
      if (hubId) await checkHubs(tx, caller, hubId, before.hubId)
      if (expiresAt !== undefined) {
        checkAlive(before)
        checkExpiry(expiresAt)
      }
      // Another key that may do more goes on as well as one that lives longer.
      if (roleId !== undefined || hubId || expiresAt !== undefined)
        checkLife(caller, expiresAt === undefined ? before.expiresAt : expiresAt)
      const change = {
        ...(name !== undefined && { name }),
        ...(roleId !== undefined && { roleId }),
        ...(hubId && { hubIds: hubId }),
        ...(expiresAt !== undefined && { expiresAt }),
      }
      await updateApiKey(tx, caller.organizationId, before._id, change)
      return { before, after: found('API key', await findApiKey(tx, before._id)) }
    })
    return ok(apiKey, 'API key changed')
  })

  app.post('/api-key/:id/rotate', operations.rotateApiKey, async (request, reply) => {
    const { overlapSeconds: overlapS } = request.body
    const { key, ...secret } = createApiKey()
    const rotate = async (tx: Queryable) => {
      const { caller, before } = await getTouchable(tx, request.caller, 'update/api-key', request.params.id)
      checkAlive(before)
      checkLife(caller, before.expiresAt)
      const requested = { overlapS, requestedMs: reply.elapsedTime }
      const { organizationId } = caller
      if (!(await rotateApiKey(tx, { ...before, organizationId }, secret, requested)))
        throw conflict('This key was rotated at the same moment. Rotate it again if you need a new one.')
      return { before, after: found('API key', await findApiKey(tx, before._id)) }
    }
    const apiKey = await audited(db, request, rotate, 'rotate')
    return ok({ ...apiKey, key }, 'Key replaced')
  })

  app.delete('/api-key/:id', operations.deleteApiKey, async request => {
    const { id } = request.params
    await audited(db, request, async tx => {
      const { caller, before } = await getTouchable(tx, request.caller, 'delete/api-key', id)
      await deleteApiKey(tx, caller.organizationId, before._id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'API key deleted')
  })
}

/**
 * A visible key that the caller may change. Whoever changes a key decides what it may do, and whoever rotates it can act
 * as it: 403 if its role or hubs reach further than the caller's own.
 */
async function getTouchable(
  tx: Queryable,
  request: Caller,
  permission: Permission,
  id: string,
): Promise<{ caller: Caller; before: ApiKey }> {
  const caller = await reauthorize(tx, request, permission)
  const before = found('API key', await findApiKey(tx, id, caller.hubIds))
  const role = await findRole(tx, before.role._id)
  if (!role) throw new Error('The API key has no role')
  const further = beyondReach(caller, role)
  if (further) throw forbidden(`The role of this key is ${role.name}, and your role ${further}.`)
  if (!areVisibleHubs(before.hubId, caller.hubIds))
    throw forbidden('This key works in hubs that you do not work in.')
  return { caller, before }
}

function checkExpiry(expiresAt: Date | null): void {
  if (expiresAt && expiresAt.getTime() <= timeOfDay())
    throw invalid('expiresAt', 'This is over already: give a time to come.', 'too-early')
}

/** An expired secret is forgotten after a day, so it does not come back to life. */
function checkAlive({ expiresAt }: ApiKey): void {
  if (expiresAt && expiresAt.getTime() <= timeOfDay())
    throw conflict('This key has expired. Create another one.')
}
