import { boolean, integer, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'
import { bytea } from './devices.ts'

/** Users and devices, which have positions; points carry the `key`. */
export const subjects = pgTable('subjects', {
  key: integer('key').primaryKey().generatedAlwaysAsIdentity(),
  id: uuid('id').notNull(),
  organizationId: uuid('organization_id').notNull(),
  type: text('type', { enum: ['user', 'device'] }).notNull(),
})

export const users = pgTable('users', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  /** Null for an API key, which is a member without an account. */
  accountId: uuid('account_id'),
  roleId: uuid('role_id').notNull(),
  name: text('name').notNull(),
  status: text('status', { enum: ['active', 'invited', 'suspended'] })
    .notNull()
    .default('active'),
  /** Null while the invitation is open. */
  joinedAt: timestamp('joined_at', { withTimezone: true }),
  lastActiveAt: timestamp('last_active_at', { withTimezone: true }),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})

/** The hubs that a user may work in. */
export const userHubs = pgTable('user_hubs', {
  organizationId: uuid('organization_id').notNull(),
  userId: uuid('user_id').notNull(),
  hubId: uuid('hub_id').notNull(),
})

export const sessions = pgTable('sessions', {
  id: uuid('id').primaryKey(),
  userId: uuid('user_id').notNull(),
  userAgent: text('user_agent'),
  address: text('address'),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  /** The number of renewals: tokens of earlier renewals have ended. */
  renewals: integer('renewals').notNull().default(0),
  /** The session of the sign-in from which this one was opened in another organization; null for that one itself. */
  signInId: uuid('sign_in_id'),
  /** The SHA-256 of an API key's secret, which this session is; null for a session of a user. */
  keyDigest: bytea('key_digest'),
  /** Whether single sign-on has opened it. */
  byProvider: boolean('by_provider').notNull().default(false),
})
