import { boolean, customType, integer, pgTable, timestamp, uuid } from 'drizzle-orm/pg-core'

const bytea = customType<{ data: Buffer; driverData: Uint8Array }>({
  dataType: () => 'bytea',
  fromDriver: bytes => Buffer.from(bytes),
})

export const trackingLinks = pgTable('tracking_links', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  subjectId: uuid('subject_id').notNull(),
  userId: uuid('user_id').notNull(),
  taskId: uuid('task_id'),
  tokenHash: bytea('token_hash').notNull(),
  trailMinutes: integer('trail_minutes').notNull(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
