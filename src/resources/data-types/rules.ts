import type { NewRecord } from '../../../db/queries/data.ts'
import type { DataType, NewDataType } from '../../../db/queries/data-types.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { checkValue } from '../data/values.ts'
import { findField, ruleOf } from './schemas.ts'

/** A field whose rules change, with both rules. */
export interface Change {
  key: string
  before: Field | undefined
  after: Field | undefined
}

/** A record that contradicts a change, and the field in which it does. */
export interface Contradiction {
  id: string
  key: string
}

/**
 * The fields whose values may affect the answer to a change. Every change of an existing field counts, so that a caller
 * who may not see the field cannot change its rules; a new field counts if every record must have it.
 */
export const fieldsRevealedBy = (before: DataType, after: NewDataType): string[] =>
  changedFields(before, after)
    .filter(change => change.before !== undefined || mayContradict(change))
    .map(({ key }) => key)

/** The fields whose rules differ, including new and deleted ones. */
export function changedFields(before: DataType, after: NewDataType): Change[] {
  const keys = new Set([...before.fields, ...after.fields].map(({ key }) => key))
  return [...keys]
    .map(key => ({ key, before: findField(before, key), after: findField(after, key) }))
    .filter(change => ruleOf(change.before) !== ruleOf(change.after))
}

/** Whether existing records may contradict a change. Loosening a rule or adding an optional field cannot. */
export function mayContradict({ before, after }: Change): boolean {
  if (!after) return true
  if (!before) return after.required
  return (
    after.type !== before.type ||
    (after.required && !before.required) ||
    after.unique !== before.unique ||
    (after.dataTypeId !== null && after.dataTypeId !== before.dataTypeId) ||
    before.options.some(option => !after.options.includes(option))
  )
}

export const listContradicting = (
  changes: readonly Change[],
  records: readonly NewRecord[],
): Contradiction[] =>
  records.flatMap(record =>
    changes.flatMap(change => (contradicts(change, record) ? [{ id: record._id, key: change.key }] : [])),
  )

function contradicts({ key, after }: Change, { data }: NewRecord): boolean {
  const present = Object.hasOwn(data, key)
  if (!after) return present
  if (!present) return after.required
  const checked = checkValue(after, data[key])
  return 'message' in checked || JSON.stringify(checked.value) !== JSON.stringify(data[key])
}
