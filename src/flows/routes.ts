import { z } from 'zod'
import { isUuid, type Queryable } from '../../db/client.ts'
import { isDuplicate } from '../../db/errors.ts'
import {
  deleteFlow,
  FLOW_SORTS,
  type Flow,
  findFlow,
  insertFlows,
  listFlows,
  type NewFlow,
  updateFlow,
} from '../../db/queries/flows.ts'
import { differences, record } from '../audit/record.ts'
import { checkDataTypes } from '../data-types/known.ts'
import { failures, id, list, ok, success } from '../envelope.ts'
import { conflict, notFound } from '../errors.ts'
import { listed, listQuery, readPageRequest } from '../lists.ts'
import type { App, Services } from '../services.ts'
import { flow, newFlow } from './schemas.ts'

const tags = ['Flows']
const params = z.object({ id })

export function flowRoutes(app: App, { db }: Services): void {
  app.get(
    '/flows',
    {
      config: { access: 'view/flow' },
      schema: {
        tags,
        summary: 'The flows of the organization',
        description: 'A flow lists the steps that a task takes and what each of them asks for.',
        querystring: listQuery(FLOW_SORTS, 'createdAt'),
        response: { 200: list(flow) },
      },
    },
    async request => {
      const page = readPageRequest(request.query, FLOW_SORTS)
      const found = await db.tenant(request.caller.organizationId, tx => listFlows(tx, page))
      return listed(found, request.query)
    },
  )

  app.get(
    '/flow/:id',
    {
      config: { access: 'view/flow' },
      schema: {
        tags,
        summary: 'A flow',
        description: 'With its steps, and the fields that each of them asks for.',
        params,
        response: { 200: success(flow) },
      },
    },
    async request => ok(await db.tenant(request.caller.organizationId, tx => getFlow(tx, request.params.id))),
  )

  app.post(
    '/flow',
    {
      config: { access: 'create/flow' },
      schema: {
        tags,
        summary: 'Make a flow',
        description: 'Each status occurs once, and `next` names statuses of this flow.',
        body: newFlow,
        response: { 201: success(flow), ...failures(409) },
      },
    },
    async (request, reply) => {
      const { organizationId } = request.caller
      const made = await db.tenant(organizationId, async tx => {
        await checkReferences(tx, organizationId, request.body)
        const [flowId] = await named(request.body.name, () =>
          insertFlows(tx, organizationId, [{ ...request.body, isDefault: false }]),
        )
        const found = await getFlow(tx, flowId as string)
        await record(tx, request.caller, {
          action: 'create',
          resource: 'flow',
          resourceId: found._id,
          changes: differences(null, found),
        })
        return found
      })
      reply.code(201)
      return ok(made, 'Flow made')
    },
  )

  app.put(
    '/flow/:id',
    {
      config: { access: 'update/flow' },
      schema: {
        tags,
        summary: 'Replace a flow',
        description: 'Default flows may be replaced too.',
        params,
        body: newFlow,
        response: { 200: success(flow), ...failures(409) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const changed = await db.tenant(organizationId, async tx => {
        const before = await getFlow(tx, request.params.id)
        await checkReferences(tx, organizationId, request.body)
        await named(request.body.name, () => updateFlow(tx, before._id, request.body))
        const after = await getFlow(tx, before._id)
        await record(tx, request.caller, {
          action: 'update',
          resource: 'flow',
          resourceId: before._id,
          changes: differences(before, after),
        })
        return after
      })
      return ok(changed, 'Flow changed')
    },
  )

  app.delete(
    '/flow/:id',
    {
      config: { access: 'delete/flow' },
      schema: {
        tags,
        summary: 'Remove a flow',
        description: 'Default flows may be removed too.',
        params,
        response: { 200: success(z.object({ _id: id })) },
      },
    },
    async request => {
      const removed = await db.tenant(request.caller.organizationId, async tx => {
        const before = await getFlow(tx, request.params.id)
        await deleteFlow(tx, before._id)
        await record(tx, request.caller, {
          action: 'delete',
          resource: 'flow',
          resourceId: before._id,
          changes: differences(before, null),
        })
        return before._id
      })
      return ok({ _id: removed }, 'Flow removed')
    },
  )
}

async function getFlow(tx: Queryable, flowId: string): Promise<Flow> {
  const found = isUuid(flowId) ? await findFlow(tx, flowId) : null
  if (!found) throw notFound('flow')
  return found
}

function checkReferences(tx: Queryable, organizationId: string, { dataTypeId, steps }: NewFlow) {
  const ofFields = steps.flatMap(({ fields }, step) =>
    fields.map((field, at) => ({
      path: `steps.${step}.fields.${at}.dataTypeId`,
      dataTypeId: field.dataTypeId,
    })),
  )
  return checkDataTypes(tx, organizationId, [{ path: 'dataTypeId', dataTypeId }, ...ofFields])
}

async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw conflict(`There is a flow named ${name} already.`)
  }
}
