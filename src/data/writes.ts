import { z } from 'zod'
import { isUuid, type Queryable } from '../../db/client.ts'
import {
  type DataRecord,
  deleteRecord,
  findRecord,
  insertRecords,
  listReferring,
  newRecords,
  updateRecord,
  type Values,
} from '../../db/queries/data.ts'
import { type DataType, findDataType, listDataTypesById } from '../../db/queries/data-types.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import { insertEvents } from '../../db/queries/webhook-deliveries.ts'
import { record as recordAudit } from '../audit/record.ts'
import { failures, id, ok, success } from '../envelope.ts'
import { forbidden, invalid, notFound, RequestError } from '../errors.ts'
import type { Permission } from '../permissions.ts'
import type { App, Services } from '../services.ts'
import { dataAccess } from './access.ts'
import { checkValues, defaultsOf, listBrokenReferences, refuseErrors, refuseTaken } from './check.ts'
import { namedType } from './find.ts'
import { changedRecord, dataRecord, newRecord, presentRecord, shownAfterWrite } from './schemas.ts'

const tags = ['Data sources']
const params = z.object({ id })
/** How many referring records an answer names. */
const NAMED = 100

export function dataWriteRoutes(app: App, { db }: Services): void {
  app.post(
    '/data',
    {
      config: { access: 'create/data' },
      schema: {
        tags,
        summary: 'Make a data source',
        description: `Fields that the role restricts may be written. A taken unique value or primary key is 409. Webhooks
that listen to \`data-source-created\` are told.`,
        body: newRecord,
        response: { 201: success(dataRecord), ...failures(409) },
      },
    },
    async (request, reply) => {
      const { caller, body } = request
      const { organizationId } = caller
      const made = await db.system(async tx => {
        const which = namedType(body)
        const type = which && (await findDataType(tx, organizationId, which, 'FOR SHARE'))
        if (!type) {
          const path = body.dataTypeId === undefined ? 'dataTypeName' : 'dataTypeId'
          throw invalid(path, 'There is no such data type.')
        }
        if (!dataAccess(caller, 'create/data').grants(type._id)) {
          throw forbidden(`Your role may not make records of ${type.name}.`)
        }
        const { data, errors } = checkValues(type, body.data, defaultsOf(type))
        refuseErrors(errors)
        const records = newRecords([data])
        const _id = records[0]?._id as string
        refuseErrors(await listBrokenReferences(tx, organizationId, type, records))
        const access = dataAccess(caller, 'view/data')
        refuseTaken(await insertRecords(tx, organizationId, type, records), type, access)
        await insertEvents(tx, organizationId, {
          event: 'data-source-created',
          dataTypeId: type._id,
          payloads: [JSON.stringify(data)],
        })
        await audit(tx, caller, 'create', _id, {}, data)
        const found = (await findRecord(tx, organizationId, _id)) as DataRecord
        return presentRecord(found, type, shownAfterWrite(access, type, body.data))
      })
      reply.code(201)
      return ok(made, 'Data source made')
    },
  )

  app.put(
    '/data/:id',
    {
      config: { access: 'update/data' },
      schema: {
        tags,
        summary: 'Replace a data source',
        description:
          'A field that is left out loses its value, except one that the role restricts: it keeps it.',
        params,
        body: changedRecord,
        response: { 200: success(dataRecord), ...failures(409) },
      },
    },
    async ({ caller, params, body }) =>
      ok(await change(caller, params.id, body, false), 'Data source changed'),
  )

  app.patch(
    '/data/:id',
    {
      config: { access: 'update/data' },
      schema: {
        tags,
        summary: 'Change a data source',
        description: 'Fields that are left out stay as they are; null takes a value away.',
        params,
        body: changedRecord,
        response: { 200: success(dataRecord), ...failures(409) },
      },
    },
    async ({ caller, params, body }) =>
      ok(await change(caller, params.id, body, true), 'Data source changed'),
  )

  app.delete(
    '/data/:id',
    {
      config: { access: 'delete/data' },
      schema: {
        tags,
        summary: 'Remove a data source',
        description: 'Possible while no other record refers to it.',
        params,
        response: { 200: success(z.object({ _id: id })), ...failures(409) },
      },
    },
    async ({ caller, params }) => {
      const { organizationId } = caller
      const removed = await db.system(async tx => {
        const { type, record } = await hold(tx, caller, 'delete/data', params.id)
        const types = await listDataTypesById(tx, organizationId)
        const fields = types.flatMap(({ _id, fields }) =>
          fields
            .filter(field => field.type === 'reference' && (field.dataTypeId ?? type._id) === type._id)
            .map(({ key }) => ({ dataTypeId: _id, key })),
        )
        const ids = await listReferring(tx, organizationId, record._id, fields, NAMED)
        if (ids.length > 0) {
          throw new RequestError('conflict', 'Other records refer to this one. Change them first.', {
            conflicts: { count: ids.length, ids },
          })
        }
        await deleteRecord(tx, organizationId, type, record)
        await audit(tx, caller, 'delete', record._id, record.data, {})
        return record._id
      })
      return ok({ _id: removed }, 'Data source removed')
    },
  )

  /** `keeps` is whether fields that are left out keep their values. */
  function change(caller: Caller, recordId: string, body: z.output<typeof changedRecord>, keeps: boolean) {
    const { organizationId } = caller
    return db.system(async tx => {
      const { type, record } = await hold(tx, caller, 'update/data', recordId)
      if ((body.dataTypeId ?? type._id).toLowerCase() !== type._id) {
        throw invalid('dataTypeId', 'A record stays of its data type.')
      }
      if ((body.dataTypeName ?? type.name) !== type.name) {
        throw invalid('dataTypeName', 'A record stays of its data type.')
      }
      const access = dataAccess(caller, 'view/data')
      const kept = Object.entries(record.data).filter(([key]) => keeps || access.hides(type._id, key))
      const { data, errors } = checkValues(type, body.data, Object.fromEntries(kept))
      refuseErrors(errors)
      const changed = [{ _id: record._id, data }]
      refuseErrors(await listBrokenReferences(tx, organizationId, type, changed))
      refuseTaken(await updateRecord(tx, organizationId, type, record, data), type, access)
      await audit(tx, caller, 'update', record._id, record.data, data)
      const after = (await findRecord(tx, organizationId, record._id)) as DataRecord
      return presentRecord(after, type, shownAfterWrite(access, type, body.data))
    })
  }
}

/** A record that the caller may do this with, held with its type until the transaction ends. The type goes first. */
async function hold(
  tx: Queryable,
  caller: Caller,
  permission: Extract<Permission, `${string}/data`>,
  recordId: string,
): Promise<{ type: DataType; record: DataRecord }> {
  const { organizationId } = caller
  const seen = isUuid(recordId) ? await findRecord(tx, organizationId, recordId) : null
  if (!seen) throw notFound('data source')
  const type = await findDataType(tx, organizationId, { dataTypeId: seen.dataTypeId }, 'FOR SHARE')
  if (!type || !dataAccess(caller, permission).grants(type._id)) {
    if (!type || !dataAccess(caller, 'view/data').grants(type._id)) throw notFound('data source')
    throw forbidden(`Your role lacks ${permission} for ${type.name}.`)
  }
  const record = await findRecord(tx, organizationId, recordId, 'FOR UPDATE')
  if (!record) throw notFound('data source')
  return { type, record }
}

/** The audit log names the fields and not their values: not everybody who reads it may see them. */
async function audit(
  tx: Queryable,
  caller: Caller,
  action: string,
  recordId: string,
  before: Values,
  after: Values,
): Promise<void> {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    key => JSON.stringify(before[key]) !== JSON.stringify(after[key]),
  )
  const changes = Object.fromEntries(keys.map(key => [key, {}]))
  await recordAudit(tx, caller, { action, resource: 'data', resourceId: recordId, changes })
}
