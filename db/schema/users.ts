import { integer, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

/** Whoever or whatever has positions; `key` is what points carry. */
export const subjects = pgTable('subjects', {
  key: integer('key').primaryKey().generatedAlwaysAsIdentity(),
  id: uuid('id').notNull(),
  organizationId: uuid('organization_id').notNull(),
  type: text('type', { enum: ['user', 'device'] }).notNull(),
})

export const users = pgTable('users', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  accountId: uuid('account_id').notNull(),
  roleId: uuid('role_id').notNull(),
  name: text('name').notNull(),
  status: text('status', { enum: ['active', 'invited', 'suspended'] })
    .notNull()
    .default('active'),
  lastActiveAt: timestamp('last_active_at', { withTimezone: true }),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})

export const sessions = pgTable('sessions', {
  id: uuid('id').primaryKey(),
  userId: uuid('user_id').notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
})
