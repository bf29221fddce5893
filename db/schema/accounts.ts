import { pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const accounts = pgTable('accounts', {
  id: uuid('id').primaryKey(),
  email: text('email').notNull(),
  /** The form of the address for comparison (db/email-address.ts); null if another account has the same address. */
  foldedEmail: text('folded_email'),
  /** Null until the first invitation is accepted. */
  passwordHash: text('password_hash'),
  registeredIn: uuid('registered_in'),
  /** Null for the server's operator (fair/roots.ts). */
  root: uuid('root'),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
