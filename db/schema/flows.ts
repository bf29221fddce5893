import { boolean, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

/** The types of fields, of flows as of data types (contract section 5). */
export const FIELD_TYPES = [
  'text',
  'number',
  'boolean',
  'date',
  'datetime',
  'email',
  'phone',
  'url',
  'select',
  'multiselect',
  'location',
  'reference',
] as const

export type FieldType = (typeof FIELD_TYPES)[number]

/** A field of a step, in the shape of a data type's field. */
export interface Field {
  key: string
  label: string
  type: FieldType
  required: boolean
  unique: boolean
  options: string[]
  default?: unknown
  order: number
  dataTypeId: string | null
}

export interface Step {
  status: string
  label: string
  /** The statuses that may follow. */
  next: string[]
  fields: Field[]
}

export const flows = pgTable('flows', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  isDefault: boolean('is_default').notNull().default(false),
  dataTypeId: uuid('data_type_id'),
  steps: jsonb('steps').$type<Step[]>().notNull(),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
