import { z } from 'zod'
import { isUuid, type Queryable } from '../../db/client.ts'
import { isDuplicate, isReferenced } from '../../db/errors.ts'
import {
  DATA_TYPE_SORTS,
  type DataType,
  deleteDataType,
  findDataType,
  findUserOfDataType,
  insertDataType,
  listDataTypes,
  type NewDataType,
  updateDataType,
} from '../../db/queries/data-types.ts'
import { differences, record } from '../audit/record.ts'
import { dataAccess } from '../data/access.ts'
import { failures, id, list, ok, success } from '../envelope.ts'
import { conflict, notFound } from '../errors.ts'
import { listed, listQuery, readPageRequest } from '../lists.ts'
import type { App, Services } from '../services.ts'
import { changedFields, evolve } from './evolve.ts'
import { checkDataTypes } from './known.ts'
import { completeDataType, dataType, newDataType } from './schemas.ts'

const tags = ['Data types']
const params = z.object({ id })

export function dataTypeRoutes(app: App, { db }: Services): void {
  app.get(
    '/data-types',
    {
      config: { access: 'view/data-type' },
      schema: {
        tags,
        summary: 'The data types of the organization',
        description:
          'A data type defines the fields of its records: of customers, products, employees and so on.',
        querystring: listQuery(DATA_TYPE_SORTS, 'name'),
        response: { 200: list(dataType) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const page = readPageRequest(request.query, DATA_TYPE_SORTS)
      const found = await db.tenant(organizationId, tx => listDataTypes(tx, organizationId, page))
      return listed(found, request.query)
    },
  )

  app.get(
    '/data-type/:id',
    {
      config: { access: 'view/data-type' },
      schema: {
        tags,
        summary: 'A data type',
        description: 'With its fields in their order.',
        params,
        response: { 200: success(dataType) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      return ok(await db.tenant(organizationId, tx => getDataType(tx, organizationId, request.params.id)))
    },
  )

  app.post(
    '/data-type',
    {
      config: { access: 'create/data-type' },
      schema: {
        tags,
        summary: 'Make a data type',
        description: 'The field that `primaryKey` names becomes required and unique.',
        body: newDataType,
        response: { 201: success(dataType), ...failures(409) },
      },
    },
    async (request, reply) => {
      const { organizationId } = request.caller
      const given = completeDataType(request.body)
      const made = await db.system(async tx => {
        await checkReferences(tx, organizationId, given)
        const typeId = await named(given.name, () => insertDataType(tx, organizationId, given))
        const found = await getDataType(tx, organizationId, typeId)
        await record(tx, request.caller, {
          action: 'create',
          resource: 'data-type',
          resourceId: typeId,
          changes: differences(null, found),
        })
        return found
      })
      reply.code(201)
      return ok(made, 'Data type made')
    },
  )

  app.put(
    '/data-type/:id',
    {
      config: { access: 'update/data-type' },
      schema: {
        tags,
        summary: 'Replace a data type',
        description: `A change that existing records contradict is 409 and names them in \`conflicts\`: a field that goes
while they have values in it, one that becomes required while they lack it, or unique while they share values, a type or
options that their values do not fit. The rules of a field that the own role restricts stay as they are: 403.`,
        params,
        body: newDataType,
        response: { 200: success(dataType), ...failures(409) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const given = completeDataType(request.body)
      const changed = await db.system(async tx => {
        const before = await getDataType(tx, organizationId, request.params.id, 'FOR UPDATE')
        // What existing records contradict would tell of values that are not to be seen.
        const changes = changedFields(before, given).map(({ key }) => key)
        dataAccess(request.caller, 'view/data').checkKeys(before._id, changes)
        await checkReferences(tx, organizationId, given)
        await evolve(tx, organizationId, before, given)
        await named(given.name, () => updateDataType(tx, organizationId, before._id, given))
        const after = await getDataType(tx, organizationId, before._id)
        await record(tx, request.caller, {
          action: 'update',
          resource: 'data-type',
          resourceId: before._id,
          changes: differences(before, after),
        })
        return after
      })
      return ok(changed, 'Data type changed')
    },
  )

  app.delete(
    '/data-type/:id',
    {
      config: { access: 'delete/data-type' },
      schema: {
        tags,
        summary: 'Remove a data type',
        description: 'Possible once it has no records, and no flow or other data type refers to it.',
        params,
        response: { 200: success(z.object({ _id: id })), ...failures(409) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const removed = await db.system(async tx => {
        const before = await getDataType(tx, organizationId, request.params.id, 'FOR UPDATE')
        const user = await findUserOfDataType(tx, organizationId, before._id)
        if (user) throw conflict(`${user} refers to this data type. Change it first.`)
        try {
          await deleteDataType(tx, organizationId, before._id)
        } catch (error) {
          if (!isReferenced(error)) throw error
          throw conflict('There are records of this data type. Remove them first.')
        }
        await record(tx, request.caller, {
          action: 'delete',
          resource: 'data-type',
          resourceId: before._id,
          changes: differences(before, null),
        })
        return before._id
      })
      return ok({ _id: removed }, 'Data type removed')
    },
  )
}

async function getDataType(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  hold: '' | 'FOR UPDATE' = '',
): Promise<DataType> {
  const found = isUuid(dataTypeId) ? await findDataType(tx, organizationId, { dataTypeId }, hold) : null
  if (!found) throw notFound('data type')
  return found
}

const checkReferences = (tx: Queryable, organizationId: string, { fields }: NewDataType) =>
  checkDataTypes(
    tx,
    organizationId,
    fields.map(({ dataTypeId }, at) => ({ path: `fields.${at}.dataTypeId`, dataTypeId })),
  )

async function named<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isDuplicate(error)) throw error
    throw conflict(`There is a data type named ${name} already.`)
  }
}
