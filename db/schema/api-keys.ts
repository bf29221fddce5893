import { pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

/** A key for a program. Its name, role and hubs are those of the row of `users` with the same identifier. */
export const apiKeys = pgTable('api_keys', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  /** The beginning of the secret, by which people recognize it. */
  prefix: text('prefix').notNull(),
  expiresAt: timestamp('expires_at', { withTimezone: true }),
  rotatedAt: timestamp('rotated_at', { withTimezone: true }),
  /** Until when the secret from before the last rotation is valid. */
  formerExpiresAt: timestamp('former_expires_at', { withTimezone: true }),
  lastUsedAt: timestamp('last_used_at', { withTimezone: true }),
  lastUsedFrom: text('last_used_from'),
  createdBy: uuid('created_by'),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
