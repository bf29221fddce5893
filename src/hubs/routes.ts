import { z } from 'zod'
import { isUuid } from '../../db/client.ts'
import { isReferenced } from '../../db/errors.ts'
import { deleteHub, findHub, HUB_SORTS, insertHub, listHubs, updateHub } from '../../db/queries/hubs.ts'
import { raiseSight } from '../../db/queries/organizations.ts'
import { differences, record } from '../audit/record.ts'
import { failures, id, list, ok, success } from '../envelope.ts'
import { conflict, notFound } from '../errors.ts'
import { listed, listQuery, readPageRequest } from '../lists.ts'
import type { App, Services } from '../services.ts'
import { hub, hubChange, newHub } from './schemas.ts'

const tags = ['Hubs']
const params = z.object({ id })

export function hubRoutes(app: App, { db }: Services): void {
  app.get(
    '/hubs',
    {
      config: { access: 'view/hub' },
      schema: {
        tags,
        summary: 'The hubs that the caller has access to',
        description: 'Owner and Admin have access to every hub.',
        querystring: listQuery(HUB_SORTS, 'name'),
        response: { 200: list(hub) },
      },
    },
    async request => {
      const { organizationId, hubIds } = request.caller
      const page = readPageRequest(request.query, HUB_SORTS)
      return listed(await db.tenant(organizationId, tx => listHubs(tx, hubIds, page)), request.query)
    },
  )

  app.get(
    '/hub/:id',
    {
      config: { access: 'view/hub' },
      schema: {
        tags,
        summary: 'A hub',
        description: 'Where work starts from: a depot, a branch, an office.',
        params,
        response: { 200: success(hub) },
      },
    },
    async request => {
      const { organizationId, hubIds } = request.caller
      const hubId = request.params.id
      const found = isUuid(hubId) ? await db.tenant(organizationId, tx => findHub(tx, hubId, hubIds)) : null
      if (!found) throw notFound('hub')
      return ok(found)
    },
  )

  app.post(
    '/hub',
    {
      config: { access: 'create/hub' },
      schema: {
        tags,
        summary: 'Make a hub',
        description: 'Its maker has access to it at once; others are given it with `PATCH /user/{id}`.',
        body: newHub,
        response: { 201: success(hub) },
      },
    },
    async (request, reply) => {
      const { organizationId, userId } = request.caller
      const made = await db.tenant(organizationId, async tx => {
        const hubId = await insertHub(tx, { ...request.body, organizationId }, userId)
        const found = await findHub(tx, hubId, null)
        await record(tx, request.caller, {
          action: 'create',
          resource: 'hub',
          resourceId: hubId,
          changes: differences(null, found),
        })
        await raiseSight(tx, organizationId)
        return found
      })
      reply.code(201)
      return ok(made as NonNullable<typeof made>, 'Hub made')
    },
  )

  app.patch(
    '/hub/:id',
    {
      config: { access: 'update/hub' },
      schema: {
        tags,
        summary: 'Change a hub',
        description: 'Fields that are left out stay as they are.',
        params,
        body: hubChange,
        response: { 200: success(hub) },
      },
    },
    async request => {
      const { organizationId, hubIds } = request.caller
      const hubId = request.params.id
      const changed = await db.tenant(organizationId, async tx => {
        const before = isUuid(hubId) ? await findHub(tx, hubId, hubIds) : null
        if (!before) throw notFound('hub')
        await updateHub(tx, hubId, request.body)
        const after = await findHub(tx, hubId, null)
        await record(tx, request.caller, {
          action: 'update',
          resource: 'hub',
          resourceId: hubId,
          changes: differences(before, after),
        })
        return after
      })
      return ok(changed as NonNullable<typeof changed>, 'Hub changed')
    },
  )

  app.delete(
    '/hub/:id',
    {
      config: { access: 'delete/hub' },
      schema: {
        tags,
        summary: 'Remove a hub',
        description: 'Possible once no team, vehicle or device is bound to it.',
        params,
        response: { 200: success(z.object({ _id: id })), ...failures(409) },
      },
    },
    async request => {
      const { organizationId, hubIds } = request.caller
      const hubId = request.params.id
      await db.tenant(organizationId, async tx => {
        const before = isUuid(hubId) ? await findHub(tx, hubId, hubIds) : null
        if (!before) throw notFound('hub')
        try {
          await deleteHub(tx, hubId)
        } catch (error) {
          if (!isReferenced(error)) throw error
          throw conflict('Teams, vehicles or devices are still bound to this hub. Move them first.')
        }
        await record(tx, request.caller, {
          action: 'delete',
          resource: 'hub',
          resourceId: hubId,
          changes: differences(before, null),
        })
        await raiseSight(tx, organizationId)
      })
      return ok({ _id: hubId }, 'Hub removed')
    },
  )
}
