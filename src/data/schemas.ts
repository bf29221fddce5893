import { z } from 'zod'
import type { DataRecord, Values } from '../../db/queries/data.ts'
import type { DataType } from '../../db/queries/data-types.ts'
import { id, pageQuery } from '../envelope.ts'
import type { DataAccess } from './access.ts'

const values = z
  .record(z.string(), z.unknown())
  .meta({ examples: [{ name: 'Acme', phone: '+49 30 1234567' }] })

export const dataRecord = z.object({
  _id: id,
  dataType: z.object({ _id: id, name: z.string() }),
  data: values.describe('The values by the keys of their fields; a field without a value is absent'),
  createdAt: z.date(),
  updatedAt: z.date(),
})

const whichType = {
  dataTypeId: z
    .string()
    .optional()
    .meta({ examples: ['0190aaaa-0000-7000-8000-000000000000'] }),
  dataTypeName: z.string().optional(),
}
const ONE_TYPE = 'Name the data type by its dataTypeId or its dataTypeName.'

export const newRecord = z
  .strictObject({ ...whichType, data: values })
  .refine(body => (body.dataTypeId === undefined) !== (body.dataTypeName === undefined), {
    path: ['dataTypeId'],
    message: ONE_TYPE,
  })

/** A record's type never changes, so it need not be named again. */
export const changedRecord = z.strictObject({ ...whichType, data: values })

const fields = z
  .string()
  .max(20_000)
  .optional()
  .describe('Keys of fields, separated by commas: only these. One that the role restricts is 403')
  .meta({ examples: ['name'] })

export const fieldsQuery = z.object({ fields })

export const recordsQuery = pageQuery.extend({
  dataTypeId: z.string().optional(),
  dataTypeName: z.string().optional(),
  fields,
  search: z
    .string()
    .max(200)
    .optional()
    .describe('Only records of which a value holds this text, in any case'),
  sort: z
    .string()
    .max(101)
    .default('createdAt')
    .describe('`createdAt`, `updatedAt`, or the key of a field of the data type; a minus turns it round'),
  filter: z
    .record(z.string(), z.union([z.string(), z.array(z.string())]))
    .optional()
    .describe('`filter[key]=value`, where a data type is named; several values of one key are ORed')
    .meta({ examples: [{}] }),
})

/** A record as the caller sees it: `shown` says which of its values. */
export function presentRecord(
  record: DataRecord,
  type: Pick<DataType, '_id' | 'name' | 'fields'>,
  shown: (data: Values) => Values,
) {
  const ordered = Object.fromEntries(
    type.fields
      .filter(({ key }) => Object.hasOwn(record.data, key))
      .map(({ key }) => [key, record.data[key]]),
  )
  const { _id, createdAt, updatedAt } = record
  return { _id, dataType: { _id: type._id, name: type.name }, data: shown(ordered), createdAt, updatedAt }
}

/**
 * What a write answers (contract section 4): besides what may be seen the values that the request itself has set, and
 * of the restricted rest nothing.
 */
export function shownAfterWrite(access: DataAccess, type: DataType, given: Values): (data: Values) => Values {
  return data =>
    Object.fromEntries(
      Object.entries(data).filter(([key]) => Object.hasOwn(given, key) || !access.hides(type._id, key)),
    )
}
