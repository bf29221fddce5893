import type { Queryable } from '../../../db/client.ts'
import {
  deleteFlow,
  FLOW_SORTS,
  findFlow,
  insertFlows,
  listFlows,
  type NewFlow,
  updateFlow,
} from '../../../db/queries/flows.ts'
import { audited } from '../../http/audit.ts'
import { unique } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { found } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { checkDataTypes } from '../data-types/known.ts'
import * as operations from './schemas.ts'

export function flowRoutes(app: App, { db }: Services): void {
  app.get('/flows', operations.listFlows, async ({ caller, query }) => {
    const page = readPageRequest(query, FLOW_SORTS)
    return listed(await db.tenant(caller.organizationId, tx => listFlows(tx, page)), query)
  })

  app.get('/flow/:id', operations.getFlow, async ({ caller, params }) =>
    ok(found('flow', await db.tenant(caller.organizationId, tx => findFlow(tx, params.id)))),
  )

  app.post('/flow', operations.createFlow, async (request, reply) => {
    const { body } = request
    const flow = await audited(db, request, async (tx, { organizationId }) => {
      await checkNamedTypes(tx, organizationId, body)
      const [flowId = ''] = await unique(`flow named ${body.name}`, () =>
        insertFlows(tx, organizationId, [{ ...body, isDefault: false }]),
      )
      return { before: null, after: found('flow', await findFlow(tx, flowId)) }
    })
    return created(reply, flow, 'Flow created')
  })

  app.put('/flow/:id', operations.replaceFlow, async request => {
    const { body, params } = request
    const flow = await audited(db, request, async (tx, { organizationId }) => {
      const before = found('flow', await findFlow(tx, params.id))
      await checkNamedTypes(tx, organizationId, body)
      await unique(`flow named ${body.name}`, () => updateFlow(tx, before._id, body))
      return { before, after: found('flow', await findFlow(tx, before._id)) }
    })
    return ok(flow, 'Flow changed')
  })

  app.delete('/flow/:id', operations.deleteFlow, async request => {
    const { id } = request.params
    await audited(db, request, async tx => {
      const before = found('flow', await findFlow(tx, id))
      await deleteFlow(tx, id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'Flow deleted')
  })
}

function checkNamedTypes(tx: Queryable, organizationId: string, { dataTypeId, steps }: NewFlow) {
  const ofFields = steps.flatMap(({ fields }, step) =>
    fields.map((field, at) => [`steps.${step}.fields.${at}.dataTypeId`, field.dataTypeId]),
  )
  return checkDataTypes(tx, organizationId, { dataTypeId, ...Object.fromEntries(ofFields) })
}
