import { boolean, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

/** One permission of a role. With `dataTypes` it covers those types alone, without their restricted fields. */
export interface PermissionDetail {
  permissionName: string
  scope: 'all' | 'team' | 'own'
  dataTypes?: { dataTypeId: string; restrictedFields: string[] }[]
}

export const roles = pgTable('roles', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  isDefault: boolean('is_default').notNull().default(false),
  permissionDetails: jsonb('permission_details').$type<PermissionDetail[]>().notNull().default([]),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
