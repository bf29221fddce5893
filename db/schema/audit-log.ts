import { jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

/** What a change did to each field; an absent side is a record that was made or removed. */
export interface Changes {
  [field: string]: { from?: unknown; to?: unknown }
}

export const auditLog = pgTable('audit_log', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  at: timestamp('at', { withTimezone: true }).notNull().defaultNow(),
  userId: uuid('user_id'),
  action: text('action').notNull(),
  resource: text('resource').notNull(),
  resourceId: uuid('resource_id'),
  changes: jsonb('changes').$type<Changes>().notNull(),
  /** The types of the records whose values `changes` names; null in entries from before this was kept. */
  dataTypeIds: uuid('data_type_ids').array(),
})
