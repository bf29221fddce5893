import type { DataRecord } from '../../../db/queries/data.ts'
import type { DataType } from '../../../db/queries/data-types.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { DataAccess } from './access.ts'
import { checkNamed, splitFields } from './find.ts'

/** A record as the caller sees it: `shown` selects its values. */
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
  const { _id, isSample, createdAt, updatedAt } = record
  const dataType = { _id: type._id, name: type.name }
  return { _id, dataType, data: shown(ordered), isSample, createdAt, updatedAt }
}

/**
 * Selects the values in the answer to a write (contract section 4): the visible ones and those that the request itself
 * has set, but no other restricted ones.
 */
export function shownAfterWrite(access: DataAccess, type: DataType, given: Values): (data: Values) => Values {
  return data =>
    Object.fromEntries(
      Object.entries(data).filter(([key]) => Object.hasOwn(given, key) || !access.hides(type._id, key)),
    )
}

/** A record for a reader: the visible values, limited to those in its `fields` parameter. */
export const showRecord = (
  access: DataAccess,
  type: DataType,
  record: DataRecord,
  fields: string[] | undefined,
) =>
  presentRecord(record, type, data =>
    access.visible(
      type._id,
      data,
      Object.keys(data).filter(key => !fields || fields.includes(key)),
    ),
  )

/** The same for a single record; its `fields` are checked first. */
export function showOne(access: DataAccess, type: DataType, record: DataRecord, fieldsText?: string) {
  const fields = splitFields(fieldsText)
  checkNamed(access, { types: [type], oneType: true, filter: {}, sort: 'createdAt', fields })
  return showRecord(access, type, record, fields)
}
