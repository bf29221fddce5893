import type { DataType } from '../../../db/queries/data-types.ts'
import type { Mapping } from '../../../db/queries/imports.ts'
import { listed } from '../../sheets/quotes.ts'

/**
 * The entries of a mapping that do not fit a data type: fields that it lacks, and several columns for a field that is
 * no place.
 */
export function listUnfit(
  { name, fields }: DataType,
  mapping: Mapping,
): { key: string; isGone: boolean; message: string }[] {
  const known = new Map(fields.map(field => [field.key, field]))
  return Object.entries(mapping).flatMap(([key, columns]) => {
    const field = known.get(key)
    if (!field) return { key, isGone: true, message: `${name} has no field ${key}.` }
    if (typeof columns === 'string' || field.type === 'location') return []
    return {
      key,
      isGone: false,
      message: `${key} is no place: give it one column, and not ${listed(columns)}.`,
    }
  })
}
