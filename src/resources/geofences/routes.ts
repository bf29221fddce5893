import type { Queryable } from '../../../db/client.ts'
import {
  beginFenceChange,
  deleteGeofence,
  findGeofence,
  GEOFENCE_SORTS,
  insertGeofence,
  listGeofences,
  type NewGeofence,
  updateGeofence,
} from '../../../db/queries/geofences.ts'
import { listKnownHubs } from '../../../db/queries/hubs.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { audited } from '../../http/audit.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, found } from '../../http/errors.ts'
import { listed, readPageRequest, splitIds } from '../../http/lists.ts'
import { checkReferences } from '../../http/references.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'
import { MAX_GEOFENCES, MAX_VERTICES_IN_ALL } from './schemas.ts'

export function geofenceRoutes(app: App, { db }: Services): void {
  app.get('/geofences', operations.listGeofences, async ({ caller, query }) => {
    const page = readPageRequest(query, GEOFENCE_SORTS)
    const filter = { hubIds: splitIds(query.hubId) }
    const { organizationId, hubIds } = caller
    return listed(await db.tenant(organizationId, tx => listGeofences(tx, hubIds, filter, page)), query)
  })

  app.get('/geofence/:id', operations.getGeofence, async ({ caller, params }) => {
    const { organizationId, hubIds } = caller
    return ok(found('geofence', await db.tenant(organizationId, tx => findGeofence(tx, params.id, hubIds))))
  })

  app.post('/geofence', operations.createGeofence, async (request, reply) => {
    const { body } = request
    const geofence = await audited(db, request, async (tx, caller) => {
      const had = await beginFenceChange(tx, caller.organizationId)
      await checkHub(tx, caller, body.hubId)
      checkRoom({ count: had.count + 1, vertices: had.vertices + countVertices(body) })
      const id = await insertGeofence(tx, caller.organizationId, body)
      return { before: null, after: found('geofence', await findGeofence(tx, id, null)) }
    })
    return created(reply, geofence, 'Geofence created')
  })

  const change = async (
    tx: Queryable,
    caller: Caller,
    id: string,
    become: (before: NewGeofence) => NewGeofence,
  ) => {
    const had = await beginFenceChange(tx, caller.organizationId)
    const before = found('geofence', await findGeofence(tx, id, caller.hubIds))
    const after = become(before)
    if (after.hubId !== before.hubId) await checkHub(tx, caller, after.hubId)
    const more = countVertices(after) - countVertices(before)
    if (more > 0) checkRoom({ ...had, vertices: had.vertices + more })
    const isReshaped = JSON.stringify(after.shape) !== JSON.stringify(before.shape)
    await updateGeofence(tx, id, after, isReshaped)
    return { before, after: found('geofence', await findGeofence(tx, id, null)) }
  }

  app.put('/geofence/:id', operations.replaceGeofence, async request => {
    const { body, params } = request
    const geofence = await audited(db, request, (tx, caller) => change(tx, caller, params.id, () => body))
    return ok(geofence, 'Geofence changed')
  })

  app.patch('/geofence/:id', operations.updateGeofence, async request => {
    const { body, params } = request
    const geofence = await audited(db, request, (tx, caller) =>
      change(tx, caller, params.id, ({ name, hubId, shape }) => ({ name, hubId, shape, ...body })),
    )
    return ok(geofence, 'Geofence changed')
  })

  app.delete('/geofence/:id', operations.deleteGeofence, async request => {
    const { id } = request.params
    await audited(db, request, async (tx, { organizationId, hubIds }) => {
      await beginFenceChange(tx, organizationId)
      const before = found('geofence', await findGeofence(tx, id, hubIds))
      await deleteGeofence(tx, id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'Geofence deleted')
  })
}

function checkHub(tx: Queryable, { hubIds }: Caller, hubId: string | null): Promise<void> {
  return checkReferences({ what: 'hub', ids: { hubId }, find: ids => listKnownHubs(tx, ids, hubIds) })
}

/** As the table counts them, so that the sum stays right. */
const countVertices = ({ shape }: NewGeofence) => (shape.type === 'polygon' ? shape.coordinates.length : 1)

function checkRoom({ count, vertices }: { count: number; vertices: number }): void {
  if (count > MAX_GEOFENCES)
    throw conflict(
      `There are ${MAX_GEOFENCES} geofences, as many as may be. Delete one first.`,
      'too-many-records',
      { limit: MAX_GEOFENCES },
    )
  if (vertices > MAX_VERTICES_IN_ALL)
    throw conflict(
      `All polygons together may have ${MAX_VERTICES_IN_ALL} vertices. Draw them with fewer.`,
      'too-many-vertices',
      { limit: MAX_VERTICES_IN_ALL },
    )
}
