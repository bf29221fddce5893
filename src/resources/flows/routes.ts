import type { Queryable } from '../../../db/client.ts'
import {
  deleteFlow,
  FLOW_SORTS,
  type Flow,
  findFlow,
  insertFlows,
  listFlows,
  type NewFlow,
  updateFlow,
} from '../../../db/queries/flows.ts'
import { countTasksIn } from '../../../db/queries/tasks.ts'
import { audited } from '../../http/audit.ts'
import { unique, unreferenced } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, found } from '../../http/errors.ts'
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
      const [flowId = ''] = await unique('flow named', body.name, () =>
        insertFlows(tx, organizationId, [{ ...body, isDefault: false }]),
      )
      return { before: null, after: found('flow', await findFlow(tx, flowId)) }
    })
    return created(reply, flow, 'Flow created')
  })

  app.put('/flow/:id', operations.replaceFlow, async request => {
    const { body, params } = request
    const flow = await audited(db, request, async (tx, { organizationId }) => {
      const before = found('flow', await findFlow(tx, params.id, 'FOR NO KEY UPDATE'))
      await checkNamedTypes(tx, organizationId, body)
      await checkVanishing(tx, before, body)
      await unique('flow named', body.name, () => updateFlow(tx, before._id, body))
      return { before, after: found('flow', await findFlow(tx, before._id)) }
    })
    return ok(flow, 'Flow changed')
  })

  app.delete('/flow/:id', operations.deleteFlow, async request => {
    const { id } = request.params
    await audited(db, request, async tx => {
      const before = found('flow', await findFlow(tx, id))
      const bound = 'Tasks or schedules still go by this flow. Give them another one first.'
      await unreferenced(bound, () => deleteFlow(tx, id))
      return { before, after: null }
    })
    return ok({ _id: id }, 'Flow deleted')
  })
}

/**
 * Throws 409 if tasks are in steps that the flow would lose. A request that moves a task into such a step waits for the
 * lock on the flow.
 */
async function checkVanishing(tx: Queryable, before: Flow, { steps }: NewFlow): Promise<void> {
  const gone = before.steps
    .map(({ status }) => status)
    .filter(name => !steps.some(({ status }) => status === name))
  const count = gone.length > 0 ? await countTasksIn(tx, before._id, gone) : 0
  if (count > 0)
    throw conflict(
      `Tasks have a status that the flow would lose (${gone.join(', ')}): ${count}. Move them first.`,
      'in-use',
    )
}

function checkNamedTypes(tx: Queryable, organizationId: string, { dataTypeId, steps }: NewFlow) {
  const ofFields = steps.flatMap(({ fields }, step) =>
    fields.map((field, at) => [`steps.${step}.fields.${at}.dataTypeId`, field.dataTypeId]),
  )
  return checkDataTypes(tx, organizationId, { dataTypeId, ...Object.fromEntries(ofFields) })
}
