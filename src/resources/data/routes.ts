import { isUuid } from '../../../db/client.ts'
import { findRecord, findRecordByKey } from '../../../db/queries/data.ts'
import { findDataType, listDataTypesById } from '../../../db/queries/data-types.ts'
import { created, ok } from '../../http/envelope.ts'
import { found, invalid, notFound } from '../../http/errors.ts'
import { listed, readPageRequest } from '../../http/lists.ts'
import type { App, Services } from '../../services.ts'
import { type DataAccess, dataAccess } from './access.ts'
import {
  checkNamed,
  listRecords,
  namedType,
  type RecordsRequest,
  readPrimaryKey,
  sortsOf,
  splitFields,
} from './find.ts'
import { showOne, showRecord } from './present.ts'
import * as operations from './schemas.ts'
import { changeRecord, createRecord, removeRecord } from './writes.ts'

/**
 * Whether a list of all types needs their fields before it can search: if the request names fields, or the search must
 * leave out restricted ones. Otherwise only the types of the found records are read.
 */
const needsFields = (
  access: DataAccess,
  { fields, filter, sort, search }: { fields?: string; filter?: object; sort: string; search?: string },
) =>
  fields !== undefined ||
  filter !== undefined ||
  !/^-?(createdAt|updatedAt)$/.test(sort) ||
  (search !== undefined && access.restrictsAnything)

export function dataRoutes(app: App, { db }: Services): void {
  app.get('/data', operations.listRecords, async ({ caller, query }) => {
    const { organizationId } = caller
    const access = dataAccess(caller, 'view/data')
    if (query.dataTypeId !== undefined && query.dataTypeName !== undefined)
      throw invalid('dataTypeName', operations.ONE_TYPE)
    const oneType = query.dataTypeId !== undefined || query.dataTypeName !== undefined
    const which = namedType(query)
    const known = oneType
      ? [which && (await findDataType(db.system, organizationId, which))]
      : needsFields(access, query)
        ? await listDataTypesById(db.system, organizationId)
        : []
    const types = known.filter(type => type !== null).filter(type => access.grants(type._id))
    const { sort, filter = {} } = query
    const asked: RecordsRequest = { types, oneType, filter, sort, fields: splitFields(query.fields) }
    checkNamed(access, asked)
    const page = readPageRequest(query, sortsOf(asked))
    if (oneType && types.length === 0) return listed({ rows: [], next: null, total: 0 }, query)
    const records = await listRecords(db, organizationId, access, asked, page)
    const shown =
      types.length > 0
        ? types
        : await listDataTypesById(db.system, organizationId, [
            ...new Set(records.rows.map(({ dataTypeId }) => dataTypeId)),
          ])
    const byId = new Map(shown.filter(({ _id }) => access.grants(_id)).map(type => [type._id, type]))
    const rows = records.rows.flatMap(record => {
      const type = byId.get(record.dataTypeId)
      return type ? [showRecord(access, type, record, asked.fields)] : []
    })
    return listed({ ...records, rows }, query)
  })

  app.get('/data/:id', operations.getRecord, async ({ caller, params, query }) => {
    const { organizationId } = caller
    const access = dataAccess(caller, 'view/data')
    const record = found('data', await findRecord(db.system, organizationId, params.id))
    const type = await findDataType(db.system, organizationId, { dataTypeId: record.dataTypeId })
    if (!type || !access.grants(type._id)) throw notFound('data')
    return ok(showOne(access, type, record, query.fields))
  })

  app.get(
    '/data/type/:dataTypeName/:dataId',
    operations.getRecordByKey,
    async ({ caller, params, query }) => {
      const { organizationId } = caller
      const { dataTypeName, dataId } = params
      const access = dataAccess(caller, 'view/data')
      const which = namedType({ dataTypeName })
      const type = which && (await findDataType(db.system, organizationId, which))
      if (!type || !access.grants(type._id)) throw notFound('data type')
      const key = readPrimaryKey(type, dataId)
      // Finding a record by a hidden value would confirm the value.
      const byKey =
        key && !access.hides(type._id, key.field)
          ? await findRecordByKey(db.system, organizationId, type._id, key.name, key.value)
          : null
      const record = byKey ?? (isUuid(dataId) ? await findRecord(db.system, organizationId, dataId) : null)
      if (!record || record.dataTypeId !== type._id) throw notFound('data')
      return ok(showOne(access, type, record, query.fields))
    },
  )

  app.post('/data', operations.createRecord, async ({ caller, body }, reply) => {
    const record = await db.system.transaction(tx => createRecord(tx, caller, body))
    return created(reply, record, 'Data source created')
  })

  app.put('/data/:id', operations.replaceRecord, async ({ caller, params, body }) => {
    const record = await db.system.transaction(tx => changeRecord(tx, caller, params.id, body, false))
    return ok(record, 'Data source changed')
  })

  app.patch('/data/:id', operations.updateRecord, async ({ caller, params, body }) => {
    const record = await db.system.transaction(tx => changeRecord(tx, caller, params.id, body, true))
    return ok(record, 'Data source changed')
  })

  app.delete('/data/:id', operations.deleteRecord, async ({ caller, params }) => {
    await db.system.transaction(tx => removeRecord(tx, caller, params.id))
    return ok({ _id: params.id }, 'Data source deleted')
  })
}
