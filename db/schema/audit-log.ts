import { jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

/** The change of each field; a missing side means a created or deleted record. */
export interface Changes {
  [field: string]: { from?: unknown; to?: unknown }
}

export const auditLog = pgTable('audit_log', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  at: timestamp('at', { withTimezone: true }).notNull().defaultNow(),
  /** The user or API key that did it. */
  userId: uuid('user_id'),
  /** The name of the API key; null if a user did it. */
  apiKeyName: text('api_key_name'),
  action: text('action').notNull(),
  resource: text('resource').notNull(),
  resourceId: uuid('resource_id'),
  changes: jsonb('changes').$type<Changes>().notNull(),
  /** The data types of the records whose fields `changes` names; null in entries from before this was stored. */
  dataTypeIds: uuid('data_type_ids').array(),
})
