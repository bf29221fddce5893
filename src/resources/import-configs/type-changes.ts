import type { DataType } from '../../../db/queries/data-types.ts'
import type { ImportConfig } from '../../../db/queries/import-configs.ts'
import { isAbsent } from '../data/values.ts'

/** The changes of a data type since a mapping to its fields was written, as far as they affect an import. */
export function listTypeChanges(
  { mapping, writtenFor }: Pick<ImportConfig, 'mapping' | 'writtenFor'>,
  { name, fields }: Pick<DataType, 'name' | 'fields'>,
): { field: string; message: string }[] {
  const now = new Map(fields.map(field => [field.key, field]))
  const ofMapped = writtenFor
    .filter(({ key }) => Object.hasOwn(mapping, key))
    .flatMap(({ key, type: was }) => {
      const field = now.get(key)
      if (!field) return [{ field: key, message: `${name} has no field ${key} any more.` }]
      if (was === field.type) return []
      return [{ field: key, message: `${field.label} was of the type ${was} and is ${field.type} now.` }]
    })
  const wereRequired = new Set(writtenFor.filter(({ required }) => required).map(({ key }) => key))
  const wanting = fields.filter(
    field => field.required && isAbsent(field.default) && !Object.hasOwn(mapping, field.key),
  )
  const ofRequired = wanting
    .filter(({ key }) => !wereRequired.has(key))
    .map(({ key, label }) => ({
      field: key,
      message: `${label} is required now, and no column is mapped to it.`,
    }))
  return [...ofMapped, ...ofRequired]
}
