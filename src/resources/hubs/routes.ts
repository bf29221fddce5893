import { deleteHub, findHub, HUB_SORTS, insertHub, listHubs, updateHub } from '../../../db/queries/hubs.ts'
import { audited } from '../../http/audit.ts'
import { unreferenced } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { found } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'

export function hubRoutes(app: App, { db }: Services): void {
  app.get('/hubs', operations.listHubs, async ({ caller, query }) => {
    const page = readPageRequest(query, HUB_SORTS)
    return listed(await db.tenant(caller.organizationId, tx => listHubs(tx, caller.hubIds, page)), query)
  })

  app.get('/hub/:id', operations.getHub, async ({ caller, params }) =>
    ok(found('hub', await db.tenant(caller.organizationId, tx => findHub(tx, params.id, caller.hubIds)))),
  )

  app.post('/hub', operations.createHub, async (request, reply) => {
    const hub = await audited(db, request, async (tx, { organizationId, userId }) => {
      const hubId = await insertHub(tx, { ...request.body, organizationId }, userId)
      return { before: null, after: found('hub', await findHub(tx, hubId, null)) }
    })
    return created(reply, hub, 'Hub created')
  })

  app.patch('/hub/:id', operations.updateHub, async request => {
    const hub = await audited(db, request, async (tx, { hubIds }) => {
      const before = found('hub', await findHub(tx, request.params.id, hubIds))
      await updateHub(tx, before._id, request.body)
      return { before, after: found('hub', await findHub(tx, before._id, null)) }
    })
    return ok(hub, 'Hub changed')
  })

  app.delete('/hub/:id', operations.deleteHub, async request => {
    const { id } = request.params
    await audited(db, request, async (tx, { hubIds }) => {
      const before = found('hub', await findHub(tx, id, hubIds))
      const bound =
        'Teams, vehicles, devices, connections or tasks are still bound to this hub. Move them first.'
      await unreferenced(bound, () => deleteHub(tx, id))
      return { before, after: null }
    })
    return ok({ _id: id }, 'Hub deleted')
  })
}
