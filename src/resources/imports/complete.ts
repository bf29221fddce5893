import type { RowError } from '../../../db/queries/imports.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { isAbsent } from '../data/values.ts'

/**
 * All values of a record: the row's values replace those of the record before. A new record gets the defaults of fields
 * without a column. `mapped` are the keys of fields with a column.
 */
export function complete(
  fields: readonly Field[],
  mapped: readonly string[],
  values: Values,
  before?: Values,
): { data: Values; errors: RowError[] } {
  const data: Values = {}
  const errors: RowError[] = []
  for (const { key, label, required, default: usual } of fields) {
    let value = Object.hasOwn(values, key) ? values[key] : before?.[key]
    // An empty cell means no value, but a required field needs one.
    if (isAbsent(value) && !before && (required || !mapped.includes(key))) value = usual
    if (!isAbsent(value)) data[key] = value
    else if (required) errors.push({ field: key, value: null, message: `${label} is required.` })
  }
  return { data, errors }
}
