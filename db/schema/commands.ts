import { sql } from 'drizzle-orm'
import { bigint, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const COMMAND_STATES = ['queued', 'sent', 'received', 'done', 'failed', 'expired'] as const

export const commands = pgTable('commands', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  deviceId: uuid('device_id').notNull(),
  number: bigint('number', { mode: 'number' }).notNull().default(sql`nextval('command_numbers')`),
  name: text('name').notNull(),
  payload: text('payload').notNull(),
  state: text('state', { enum: COMMAND_STATES }).notNull().default('queued'),
  result: text('result'),
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  sentAt: timestamp('sent_at', { withTimezone: true }),
  receivedAt: timestamp('received_at', { withTimezone: true }),
  finishedAt: timestamp('finished_at', { withTimezone: true }),
  carrier: uuid('carrier'),
  carriedAt: timestamp('carried_at', { withTimezone: true }),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
