import { z } from 'zod'
import {
  deleted,
  failures,
  id,
  isSample,
  list,
  namedRecord,
  pageQuery,
  pathId,
  success,
} from '../../http/envelope.ts'
import { nameSchemas, operation } from '../../http/operation.ts'

const values = z
  .record(z.string(), z.unknown())
  .meta({ examples: [{ name: 'Acme', phone: '+49 30 1234567' }] })

const dataRecord = z.object({
  _id: id,
  dataType: namedRecord,
  data: values.describe('The values by the keys of their fields; a field without a value is absent'),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

export const whichType = {
  dataTypeId: z
    .string()
    .optional()
    .meta({ examples: ['0190aaaa-0000-7000-8000-000000000000'] }),
  dataTypeName: z.string().optional(),
}
export const ONE_TYPE = 'Name the data type by either dataTypeId or dataTypeName.'

const newRecord = z
  .strictObject({ ...whichType, data: values })
  .refine(body => (body.dataTypeId === undefined) !== (body.dataTypeName === undefined), {
    path: ['dataTypeId'],
    message: ONE_TYPE,
  })

/** A record's type never changes, so the request may omit it. */
const changedRecord = z.strictObject({ ...whichType, data: values }).describe('Its data type does not change')

const fields = z
  .string()
  .max(20_000)
  .optional()
  .describe('Keys of fields, separated by commas: only these. One that the role restricts is 403')
  .meta({ examples: ['name'] })

const fieldsQuery = z.object({ fields })

const recordsQuery = pageQuery.extend({
  dataTypeId: z.string().optional(),
  dataTypeName: z.string().optional(),
  fields,
  search: z
    .string()
    .max(200)
    .optional()
    .describe('Only records with a value that contains this text, in upper or lower case'),
  sort: z
    .string()
    .max(101)
    .default('createdAt')
    .describe('`createdAt`, `updatedAt`, or the key of a field of the data type; a minus turns it round'),
  filter: z
    .record(z.string(), z.string())
    .optional()
    .describe('`filter[key]=value`, where a data type is named')
    .meta({ examples: [{}] }),
})

nameSchemas({ DataRecord: dataRecord, NewDataRecord: newRecord, DataRecordPatch: changedRecord })

const tags = ['Data sources']
const params = z.object({ id: pathId })

export const listRecords = operation({
  access: 'view/data',
  tags,
  summary: 'The data sources that match',
  description: `Records of one data type or of all. Fields that the role restricts are left out; one that is named
in \`fields\`, \`sort\` or \`filter\` is 403 with \`restrictedFields\`. A total is given up to 1,000.`,
  querystring: recordsQuery,
  response: { 200: list(dataRecord) },
})

export const getRecord = operation({
  access: 'view/data',
  tags,
  summary: 'A data source',
  description: 'Fields that the role restricts are left out; one that is named in `fields` is 403.',
  params,
  querystring: fieldsQuery,
  response: { 200: success(dataRecord) },
})

export const getRecordByKey = operation({
  access: 'view/data',
  tags,
  summary: 'A data source by its type and primary key',
  description: `\`dataId\` is the value of the type's primary key, or else the record's \`_id\`. Where the role
restricts the primary key, only the \`_id\` finds it.`,
  params: z.object({ dataTypeName: z.string(), dataId: z.string() }),
  querystring: fieldsQuery,
  response: { 200: success(dataRecord) },
})

export const createRecord = operation({
  access: 'create/data',
  tags,
  summary: 'Create a data source',
  description: `Fields that the role restricts may be written. A taken unique value or primary key is 409. Webhooks
that listen to \`data-source-created\` are told.`,
  body: newRecord,
  response: { 201: success(dataRecord), ...failures(409) },
})

export const replaceRecord = operation({
  access: 'update/data',
  tags,
  summary: 'Replace a data source',
  description: 'A field that is left out loses its value, except one that the role restricts: it keeps it.',
  params,
  body: changedRecord,
  response: { 200: success(dataRecord), ...failures(409) },
})

export const updateRecord = operation({
  access: 'update/data',
  tags,
  summary: 'Change a data source',
  description: 'Fields that are left out stay as they are; null takes a value away.',
  params,
  body: changedRecord,
  response: { 200: success(dataRecord), ...failures(409) },
})

export const deleteRecord = operation({
  access: 'delete/data',
  tags,
  summary: 'Delete a data source',
  description: 'Possible while no other record refers to it.',
  params,
  response: { 200: deleted, ...failures(409) },
})
