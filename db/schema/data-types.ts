import { boolean, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'
import type { Field } from './flows.ts'

export const DATA_TYPE_KINDS = ['customer', 'product', 'employee', 'custom'] as const

export const dataTypes = pgTable('data_types', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  type: text('type', { enum: DATA_TYPE_KINDS }).notNull(),
  /** The key of the field that names a record; it is required and unique. */
  primaryKey: text('primary_key'),
  fields: jsonb('fields').$type<Field[]>().notNull(),
  /** Whether it came with the organization as a sample. */
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
