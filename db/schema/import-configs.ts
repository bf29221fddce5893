import { jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'
import type { Field } from './flows.ts'

export const importConfigs = pgTable('import_configs', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  resource: text('resource', { enum: ['data'] })
    .notNull()
    .default('data'),
  dataTypeId: uuid('data_type_id').notNull(),
  mapping: jsonb('mapping').$type<{ [key: string]: string | string[] }>().notNull(),
  writtenFor: jsonb('written_for').$type<Pick<Field, 'key' | 'type' | 'required'>[]>().notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
