import { bigint, integer, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'
import { bytea } from './devices.ts'

export const secondFactors = pgTable('second_factors', {
  accountId: uuid('account_id').primaryKey(),
  /** Sealed (src/resources/second-factor/secrets.ts). */
  secret: text('secret').notNull(),
  /** Null until a first code has shown that the person holds the secret. */
  confirmedAt: timestamp('confirmed_at', { withTimezone: true }),
  /** The step of 30 seconds of the newest code that counted. */
  lastStep: bigint('last_step', { mode: 'number' }),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
})

export const recoveryCodes = pgTable('recovery_codes', {
  accountId: uuid('account_id').notNull(),
  digest: bytea('digest').notNull(),
})

/** Sign-ins that have shown the password and still have to show a code. */
export const loginChallenges = pgTable('login_challenges', {
  digest: bytea('digest').primaryKey(),
  accountId: uuid('account_id').notNull(),
  passwordDigest: bytea('password_digest').notNull(),
  /** The organization that the sign-in named. */
  wanted: uuid('wanted'),
  /** The digest of an invitation that is accepted with the code, and the name to join under. */
  invitation: bytea('invitation'),
  name: text('name'),
  failures: integer('failures').notNull().default(0),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
})
