import { z } from 'zod'
import { DATA_TYPE_SORTS, type DataType, type NewDataType } from '../../../db/queries/data-types.ts'
import { DATA_TYPE_KINDS } from '../../../db/schema/data-types.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { deleted, failures, id, isSample, list, pathId, success, text } from '../../http/envelope.ts'
import { listQuery } from '../../http/lists.ts'
import { newName } from '../../http/names.ts'
import { nameSchemas, operation } from '../../http/operation.ts'
import { checkValue, isDots } from '../data/values.ts'
import { field, newField } from './fields.ts'

const type = z.enum(DATA_TYPE_KINDS)
/** Sort keys of records besides their fields. */
const RESERVED = ['_id', 'createdAt', 'updatedAt']
const NEVER_UNIQUE = ['boolean', 'multiselect', 'location']

const dataType = z.object({
  _id: id,
  name: text('Customer'),
  type,
  primaryKey: text('customerNumber').nullable(),
  fields: z.array(field),
  isSample,
  createdAt: z.date(),
  updatedAt: z.date(),
})

const newDataType = z
  .strictObject({
    name: newName(100)
      .refine(name => !isDots(name), 'This cannot be . or .., which no address of a data type can hold.')
      .meta({ examples: ['Customer'] }),
    type: type.default('custom'),
    primaryKey: z
      .string()
      .nullable()
      .default(null)
      .describe('The key of the field that names a record; it becomes required and unique')
      .meta({ examples: [null] }),
    fields: z
      .array(newField)
      .max(200)
      .default([])
      .meta({
        examples: [
          [
            { key: 'name', label: 'Name', type: 'text' },
            { key: 'phone', label: 'Phone', type: 'phone' },
          ],
        ],
      }),
  })
  .superRefine(({ primaryKey, fields }, context) => {
    const wrong = (path: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path, message })
    const keys = new Set<string>()
    fields.forEach((field, at) => {
      const path = ['fields', at]
      const unique = field.unique || field.key === primaryKey
      if (keys.size === keys.add(field.key).size)
        wrong([...path, 'key'], `The key ${field.key} occurs twice.`)
      if (RESERVED.includes(field.key)) wrong([...path, 'key'], `Every record has ${field.key} by itself.`)
      const selects = /select$/.test(field.type)
      if (selects && field.options.length === 0)
        wrong([...path, 'options'], 'Something has to be there to select from.')
      if (!selects && field.options.length > 0)
        wrong([...path, 'options'], 'Only a select or multiselect has options.')
      const options = new Set<string>()
      field.options.forEach((option, index) => {
        if (options.size === options.add(option).size)
          wrong([...path, 'options', index], 'This option occurs twice.')
      })
      if (field.dataTypeId !== null && field.type !== 'reference')
        wrong([...path, 'dataTypeId'], 'Only a reference refers to a data type.')
      if (unique && NEVER_UNIQUE.includes(field.type))
        wrong([...path, 'unique'], `A ${field.type} cannot be unique.`)
      if (field.default === null) return
      if (unique) wrong([...path, 'default'], 'A unique field has no default: two records would share it.')
      else if (field.type === 'reference') wrong([...path, 'default'], 'A reference has no default.')
      else {
        const checked = checkValue(field as Field, field.default)
        if ('message' in checked) wrong([...path, 'default'], checked.message)
      }
    })
    if (primaryKey !== null && !fields.some(({ key }) => key === primaryKey))
      wrong(['primaryKey'], `No field has the key ${primaryKey}.`)
  })

/** The data type in its stored form: the primary key is required and unique, and each field has its place. */
export function completeDataType(given: z.output<typeof newDataType>): NewDataType {
  const fields = given.fields.map(field => {
    const isKey = field.key === given.primaryKey
    return {
      ...field,
      required: field.required || isKey,
      unique: field.unique || isKey,
      default: field.default === null ? null : readValue(field as Field, field.default),
    }
  })
  return { ...given, fields: fields.sort((a, b) => a.order - b.order) }
}

function readValue(field: Field, given: unknown): unknown {
  const checked = checkValue(field, given)
  return 'value' in checked ? checked.value : undefined
}

/** The rules of a field as a text to compare; its label and place do not affect records. */
export function ruleOf(field: Field | undefined): string {
  if (!field) return ''
  const { type, required, unique, options, dataTypeId } = field
  return JSON.stringify([type, required, unique, options, dataTypeId])
}

export const findField = (type: Pick<DataType, 'fields'>, key: string): Field | undefined =>
  type.fields.find(field => field.key === key)

nameSchemas({ DataType: dataType, NewDataType: newDataType })

const tags = ['Data types']
const params = z.object({ id: pathId })

export const listDataTypes = operation({
  access: 'view/data-type',
  tags,
  summary: 'The data types of the organization',
  description: 'A data type defines the fields of its records: of customers, products, employees and so on.',
  querystring: listQuery(DATA_TYPE_SORTS, 'name'),
  response: { 200: list(dataType) },
})

export const getDataType = operation({
  access: 'view/data-type',
  tags,
  summary: 'A data type',
  description: 'With its fields in their order.',
  params,
  response: { 200: success(dataType) },
})

export const createDataType = operation({
  access: 'create/data-type',
  tags,
  summary: 'Create a data type',
  description: `The field that \`primaryKey\` names becomes required and unique. An organization has at most 200 data types, with 5,000
fields in all of them together: beyond that 409.`,
  body: newDataType,
  response: { 201: success(dataType), ...failures(409) },
})

export const replaceDataType = operation({
  access: 'update/data-type',
  tags,
  summary: 'Replace a data type',
  description: `A change that existing records contradict is 409 and names them in \`conflicts\`: a field that goes
while they have values in it, one that becomes required while they lack it, or unique while they share values, a type or
options that their values do not fit. The rules of a field that the own role hides, by itself or with its whole type, stay as they are: 403.`,
  params,
  body: newDataType,
  response: { 200: success(dataType), ...failures(409) },
})

export const deleteDataType = operation({
  access: 'delete/data-type',
  tags,
  summary: 'Delete a data type',
  description: 'Possible once it has no records, and no flow or other data type refers to it.',
  params,
  response: { 200: deleted, ...failures(409) },
})
