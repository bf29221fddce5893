import { pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'
import { bytea } from './devices.ts'

export const accountIdentities = pgTable('account_identities', {
  accountId: uuid('account_id').primaryKey(),
  issuer: text('issuer').notNull(),
  subject: text('subject').notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
})

/** The codes with which a page gets its session after single sign-on. */
export const signInCodes = pgTable('sign_in_codes', {
  digest: bytea('digest').primaryKey(),
  accountId: uuid('account_id').notNull(),
  wanted: uuid('wanted').notNull(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
})
