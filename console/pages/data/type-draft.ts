import type { DataType, FieldDefinition } from './data-queries.ts'

/** A field as the form of a data type edits it. */
export interface FieldRow extends FieldDefinition {
  /** Keeps the row apart from others while it has no key. */
  rowId: string
  /** Its key while it is stored: such a key is not written anew with the label. */
  stored: string | null
}

interface TypeValues {
  name: string
  type: DataType['type']
  primaryKey: string
  fields: FieldRow[]
}

export const typeValuesOf = (type: DataType | null): TypeValues => ({
  name: type?.name ?? '',
  type: type?.type ?? 'custom',
  primaryKey: type?.primaryKey ?? '',
  fields: (type?.fields ?? []).map(field => ({ ...field, rowId: field.key, stored: field.key })),
})

let rows = 0

export const newRow = (order: number): FieldRow => ({
  rowId: `new-${++rows}`,
  stored: null,
  key: '',
  label: '',
  type: 'text',
  required: false,
  unique: false,
  options: [],
  order,
  dataTypeId: null,
})

/** A key from a label: "Phone number" becomes phoneNumber. */
export function keyOf(label: string): string {
  const words = label
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/ß/g, 'ss')
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
  const [first = '', ...others] = words
  const joined =
    first.toLowerCase() + others.map(word => (word[0] ?? '').toUpperCase() + word.slice(1)).join('')
  return joined.replace(/^[0-9]+/, '').slice(0, 100)
}

/** Whether the rules of a field for its values differ from the stored ones, so that records may contradict them. */
export function hasNewRules(row: FieldRow, before: DataType | null): boolean {
  const old = before?.fields.find(({ key }) => key === row.stored)
  if (!old) return false
  const rules = ({ key, type, required, unique, options, dataTypeId }: FieldDefinition) =>
    JSON.stringify([key, type, required, unique, options, dataTypeId])
  return rules(row) !== rules(old)
}

/** The body of a request. Options and the referred type belong to some types of fields alone. */
export const bodyOf = ({ name, type, primaryKey, fields }: TypeValues) => ({
  name,
  type,
  primaryKey: primaryKey || null,
  fields: fields.map(({ rowId, stored, ...field }, order) => ({
    ...field,
    options: /select$/.test(field.type) ? field.options.map(option => option.trim()).filter(Boolean) : [],
    dataTypeId: field.type === 'reference' ? field.dataTypeId : null,
    default: field.default ?? null,
    order,
  })),
})
