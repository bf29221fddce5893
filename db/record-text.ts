import type { Values } from './schema/data-records.ts'
import type { Field } from './schema/flows.ts'
import { uniqueName, uniqueValue } from './unique-value.ts'

/** A data record as it is stored: in texts, so that a thread without a database can build it as well. */
export interface RecordText {
  /** Its values, as JSON. */
  data: string
  search: string
  unique: UniqueValue[]
}

/** The value of a unique field, in the form in which it is compared. */
export interface UniqueValue {
  field: string
  /** The name under which it is entered. */
  name: string
  value: string
}

export const recordText = (fields: readonly Field[], data: Values): RecordText => ({
  data: JSON.stringify(data),
  search: searchText(data),
  unique: uniqueValues(fields, data),
})

export function uniqueValues(fields: readonly Field[], data: Values): UniqueValue[] {
  const found: UniqueValue[] = []
  for (const field of fields) {
    if (!field.unique || !Object.hasOwn(data, field.key)) continue
    found.push({ field: field.key, name: uniqueName(field), value: uniqueValue(field, data[field.key]) })
  }
  return found
}

/** The text that a search looks into: texts and numbers of all fields, one per line; without the unit separator. */
export function searchText(data: Values): string {
  const lines = (value: unknown): string[] => {
    if (typeof value === 'string') return [value.replaceAll('\n', ' ').replaceAll('\u001f', ' ')]
    if (typeof value === 'number') return [String(value)]
    if (Array.isArray(value)) return value.flatMap(lines)
    return typeof value === 'object' && value ? lines((value as { address?: unknown }).address) : []
  }
  return Object.values(data).flatMap(lines).join('\n')
}
