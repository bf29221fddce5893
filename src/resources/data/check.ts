import type { Queryable } from '../../../db/client.ts'
import { lockRecords, type NewRecord, type TakenValue } from '../../../db/queries/data.ts'
import type { DataType } from '../../../db/queries/data-types.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import { type FieldError, FieldErrors, RequestError } from '../../http/errors.ts'
import type { DataAccess } from './access.ts'
import { checkValue, isAbsent } from './values.ts'

/** Converts values to their stored form, or returns the errors. No message quotes a value. */
export function checkValues(
  type: Pick<DataType, 'fields'>,
  given: Values,
  /** The values of fields that are not given: defaults for a new record, the present values for an existing one. */
  kept: Values,
): { data: Values; errors: FieldError[] } {
  const errors: FieldError[] = []
  const data: [string, unknown][] = []
  const known = new Set(type.fields.map(({ key }) => key))
  for (const key of Object.keys(given)) {
    if (!known.has(key))
      errors.push({ path: `data.${key}`, code: 'unknown-field', message: 'There is no such field.' })
  }
  for (const field of type.fields) {
    const { key } = field
    const path = `data.${key}`
    const isGiven = Object.hasOwn(given, key)
    const value = isGiven ? given[key] : Object.hasOwn(kept, key) ? kept[key] : undefined
    if (isAbsent(value) || (Array.isArray(value) && value.length === 0 && field.required)) {
      if (field.required) errors.push({ path, code: 'required', message: `${field.label} is required.` })
      continue
    }
    const checked = isGiven ? checkValue(field, value) : { value }
    if ('message' in checked) errors.push({ path, code: checked.code ?? 'invalid', message: checked.message })
    else data.push([key, checked.value])
  }
  return { data: Object.fromEntries(data), errors }
}

/** The default values of a new record. */
export const defaultsOf = (type: Pick<DataType, 'fields'>): Values =>
  Object.fromEntries(
    type.fields.flatMap(field => (isAbsent(field.default) ? [] : [[field.key, field.default]])),
  )

/**
 * The references of records that lead to no record, or to one of another type than the field names. The records that
 * they lead to are locked until the transaction ends.
 */
export async function listBrokenReferences(
  tx: Queryable,
  organizationId: string,
  type: Pick<DataType, 'fields'>,
  records: readonly NewRecord[],
  lock: '' | 'FOR KEY SHARE' = 'FOR KEY SHARE',
): Promise<{ recordId: string; key: string }[]> {
  const fields = type.fields.filter(field => field.type === 'reference')
  const references = records.flatMap(({ _id, data }) =>
    fields
      .filter(({ key }) => Object.hasOwn(data, key))
      .map(field => ({ recordId: _id, field, to: String(data[field.key]) })),
  )
  if (references.length === 0) return []
  const known = await lockRecords(tx, organizationId, [...new Set(references.map(({ to }) => to))], lock)
  return references
    .filter(({ field, to }) => {
      const found = known.get(to)
      return found === undefined || (field.dataTypeId !== null && field.dataTypeId !== found)
    })
    .map(({ recordId, field }) => ({ recordId, key: field.key }))
}

/** Throws 400 for the broken references of a record. */
export function rejectBroken(references: readonly { key: string }[]): void {
  const message = 'There is no such record to refer to.'
  rejectErrors(references.map(({ key }) => ({ path: `data.${key}`, code: 'not-found', message })))
}

export function rejectErrors(errors: readonly FieldError[]): void {
  const [first] = errors
  if (!first) return
  const sentence = errors.map(({ path, message }) => `${path}: ${message}`).join(' ')
  throw new FieldErrors(
    errors.map(({ path, code, message }) => ({ path, code, message })),
    `The data is not valid. ${sentence}`,
  )
}

/**
 * Throws 409 for unique values that other records have. The other record's identifier would reveal a restricted value
 * of it, so it is named only to callers who may see the field.
 */
export function rejectTaken(taken: readonly TakenValue[], type: DataType, access: DataAccess): void {
  if (taken.length === 0) return
  const labels = type.fields.filter(({ key }) => taken.some(({ field }) => field === key))
  const ids = taken.filter(({ field }) => !access.hides(type._id, field)).map(({ takenBy }) => takenBy)
  throw new RequestError(
    'not-unique',
    `Another record has this ${labels.map(({ label }) => label).join(' and this ')} already.`,
    { conflicts: { fields: labels.map(({ key }) => key), count: taken.length, ids: [...new Set(ids)] } },
  )
}
