import { pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const accounts = pgTable('accounts', {
  id: uuid('id').primaryKey(),
  email: text('email').notNull(),
  /** The text that addresses are compared by (db/email-address.ts); null where another account has the same address. */
  foldedEmail: text('folded_email'),
  /** Null until the first invitation is accepted. */
  passwordHash: text('password_hash'),
  registeredIn: uuid('registered_in'),
  /** Null for whoever runs the server (fair/roots.ts). */
  root: uuid('root'),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
