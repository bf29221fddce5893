import { boolean, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export type Values = { [key: string]: unknown }

export const dataRecords = pgTable('data_records', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  dataTypeId: uuid('data_type_id').notNull(),
  data: jsonb('data').$type<Values>().notNull(),
  /** The text that a search looks into: the texts and numbers of data, one per line. */
  search: text('search').notNull(),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
