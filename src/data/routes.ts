import { z } from 'zod'
import { isUuid } from '../../db/client.ts'
import { type DataRecord, findRecord, findRecordByKey } from '../../db/queries/data.ts'
import { type DataType, findDataType, listDataTypesById } from '../../db/queries/data-types.ts'
import { id, list, ok, success } from '../envelope.ts'
import { notFound } from '../errors.ts'
import { listed, readPageRequest } from '../lists.ts'
import type { App, Services } from '../services.ts'
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
import { dataRecord, fieldsQuery, presentRecord, recordsQuery } from './schemas.ts'

const tags = ['Data sources']

/** Reading data sources; writing is in writes.ts. */
export function dataRoutes(app: App, { db }: Services): void {
  app.get(
    '/data',
    {
      config: { access: 'view/data' },
      schema: {
        tags,
        summary: 'The data sources that match',
        description: `Records of one data type or of all. Fields that the role restricts are left out; one that is named
in \`fields\`, \`sort\` or \`filter\` is 403 with \`restrictedFields\`. A total is given up to 1,000.`,
        querystring: recordsQuery,
        response: { 200: list(dataRecord) },
      },
      preValidation: async request => {
        // Checked by the schema next.
        request.query = foldFilters({ ...request.query }) as typeof request.query
      },
    },
    async request => {
      const { caller, query } = request
      const { organizationId } = caller
      const access = dataAccess(caller, 'view/data')
      const oneType = query.dataTypeId !== undefined || query.dataTypeName !== undefined
      const which = namedType(query)
      const found = oneType
        ? [which && (await findDataType(db.autocommit, organizationId, which))]
        : await listDataTypesById(db.autocommit, organizationId)
      const types = found.filter(type => type !== null).filter(type => access.grants(type._id))
      const { sort, filter = {} } = query
      const asked: RecordsRequest = { types, oneType, filter, sort, fields: splitFields(query.fields) }
      checkNamed(access, asked)
      if (types.length === 0) return listed({ rows: [], next: null, total: 0 }, query)
      const page = readPageRequest(query, sortsOf(asked))
      const records = await listRecords(db.autocommit, organizationId, access, asked, page)
      const byId = new Map(types.map(type => [type._id, type]))
      const rows = records.rows.flatMap(record => {
        const type = byId.get(record.dataTypeId)
        return type ? [show(access, type, record, asked.fields)] : []
      })
      return listed({ ...records, rows }, query)
    },
  )

  app.get(
    '/data/:id',
    {
      config: { access: 'view/data' },
      schema: {
        tags,
        summary: 'A data source',
        description: 'Fields that the role restricts are left out; one that is named in `fields` is 403.',
        params: z.object({ id }),
        querystring: fieldsQuery,
        response: { 200: success(dataRecord) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const { id: recordId } = request.params
      const access = dataAccess(request.caller, 'view/data')
      const record = isUuid(recordId) ? await findRecord(db.autocommit, organizationId, recordId) : null
      const type =
        record && (await findDataType(db.autocommit, organizationId, { dataTypeId: record.dataTypeId }))
      if (!record || !type || !access.grants(type._id)) throw notFound('data source')
      return ok(showOne(access, type, record, request.query.fields))
    },
  )

  app.get(
    '/data/type/:dataTypeName/:dataId',
    {
      config: { access: 'view/data' },
      schema: {
        tags,
        summary: 'A data source by its type and primary key',
        description: `\`dataId\` is the value of the type's primary key, or else the record's \`_id\`. Where the role
restricts the primary key, only the \`_id\` finds it.`,
        params: z.object({ dataTypeName: z.string(), dataId: z.string() }),
        querystring: fieldsQuery,
        response: { 200: success(dataRecord) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const { dataTypeName, dataId } = request.params
      const access = dataAccess(request.caller, 'view/data')
      const which = namedType({ dataTypeName })
      const type = which && (await findDataType(db.autocommit, organizationId, which))
      if (!type || !access.grants(type._id)) throw notFound('data type')
      const key = readPrimaryKey(type, dataId)
      // Finding a record by a value that is not to be seen would confirm the value.
      const byKey =
        key && !access.isRestricted(type._id, key.field)
          ? await findRecordByKey(db.autocommit, organizationId, type._id, key.field, key.value)
          : null
      const record =
        byKey ?? (isUuid(dataId) ? await findRecord(db.autocommit, organizationId, dataId) : null)
      if (!record || record.dataTypeId !== type._id) throw notFound('data source')
      return ok(showOne(access, type, record, request.query.fields))
    },
  )
}

function showOne(access: DataAccess, type: DataType, record: DataRecord, fieldsText: string | undefined) {
  const fields = splitFields(fieldsText)
  checkNamed(access, { types: [type], oneType: true, filter: {}, sort: 'createdAt', fields })
  return show(access, type, record, fields)
}

const show = (access: DataAccess, type: DataType, record: DataRecord, fields: string[] | undefined) =>
  presentRecord(record, type, data =>
    access.visible(
      type._id,
      data,
      Object.keys(data).filter(key => !fields || fields.includes(key)),
    ),
  )

/** `filter[key]=value` as one object. */
function foldFilters(query: { [key: string]: unknown }): { [key: string]: unknown } {
  const entries = Object.entries(query)
  const named = (key: string) => /^filter\[([^\]]+)\]$/.exec(key)?.[1]
  const filter = entries.flatMap(([key, value]) => {
    const name = named(key)
    return name === undefined ? [] : [[name, value]]
  })
  const rest = entries.filter(([key]) => named(key) === undefined)
  return Object.fromEntries(filter.length > 0 ? [...rest, ['filter', Object.fromEntries(filter)]] : rest)
}
