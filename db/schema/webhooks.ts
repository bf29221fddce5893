import { sql } from 'drizzle-orm'
import { bigint, integer, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const WEBHOOK_EVENTS = [
  'data-source-created',
  'geofence-entered',
  'geofence-left',
  'command-finished',
] as const
/** The event of a delivery that somebody asked for to try a webhook. Nobody can subscribe to it. */
export const TEST_EVENT = 'webhook-test'
/** The events of deliveries. */
export const DELIVERED_EVENTS = [...WEBHOOK_EVENTS, TEST_EVENT] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]
export type DeliveredEvent = (typeof DELIVERED_EVENTS)[number]
export const WEBHOOK_STATUSES = ['active', 'disabled'] as const
export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const

export const webhooks = pgTable('webhooks', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  url: text('url').notNull(),
  events: text('events', { enum: WEBHOOK_EVENTS }).array().notNull().$type<WebhookEvent[]>(),
  description: text('description').notNull().default(''),
  status: text('status', { enum: WEBHOOK_STATUSES }).notNull().default('active'),
  secret: text('secret').notNull(),
  previousSecret: text('previous_secret'),
  previousUntil: timestamp('previous_until', { withTimezone: true }),
  slowFailures: integer('slow_failures').notNull().default(0),
  restsUntil: timestamp('rests_until', { withTimezone: true }).notNull().default(sql`'-infinity'`),
  position: bigint('position', { mode: 'number' }).notNull().default(0),
  listensSince: timestamp('listens_since', { withTimezone: true }).notNull().default(sql`clock_timestamp()`),
  deletedAt: timestamp('deleted_at', { withTimezone: true }),
  testedAt: timestamp('tested_at', { withTimezone: true }),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})

/** One attempt to deliver. `response` is the beginning of the receiver's answer. */
export interface Attempt {
  at: string
  statusCode: number | null
  durationMs: number
  response: string | null
  error: string | null
}

export const webhookEvents = pgTable('webhook_events', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  event: text('event', { enum: DELIVERED_EVENTS }).notNull(),
  /** Null for crossings and commands. */
  dataTypeId: uuid('data_type_id'),
  payload: text('payload').notNull(),
  position: bigint('position', { mode: 'number' }),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().default(sql`clock_timestamp()`),
})

export const webhookDeliveries = pgTable('webhook_deliveries', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  webhookId: uuid('webhook_id').notNull(),
  eventId: uuid('event_id').notNull(),
  status: text('status', { enum: DELIVERY_STATUSES }).notNull().default('pending'),
  attempts: jsonb('attempts').$type<Attempt[]>().notNull().default([]),
  tries: integer('tries').notNull().default(0),
  nextAttemptAt: timestamp('next_attempt_at', { withTimezone: true }).defaultNow(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
})
