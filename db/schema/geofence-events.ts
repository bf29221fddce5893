import { boolean, doublePrecision, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const CROSSINGS = ['entered', 'left'] as const
export type Crossing = (typeof CROSSINGS)[number]

export const geofenceEvents = pgTable('geofence_events', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  geofenceId: uuid('geofence_id').notNull(),
  subjectId: uuid('subject_id').notNull(),
  at: timestamp('at', { withTimezone: true }).notNull(),
  lat: doublePrecision('lat').notNull(),
  lng: doublePrecision('lng').notNull(),
  event: text('event', { enum: CROSSINGS }).notNull(),
  retracted: boolean('retracted').notNull().default(false),
  shapedAt: timestamp('shaped_at', { withTimezone: true }).notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
