import { boolean, doublePrecision, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** What fits in: kilograms, cubic metres, pieces. Null is not known. */
export interface Capacity {
  weight: number | null
  volume: number | null
  units: number | null
}

/** `from` and `to` are times of day, `HH:MM`; 24:00 is the end of the day. */
export interface WorkingHours {
  weekday: (typeof WEEKDAYS)[number]
  from: string
  to: string
}

/** What a route of it may not exceed: metres, seconds, stops. Null is no limit. */
export interface Constraints {
  maxDistance: number | null
  maxDuration: number | null
  maxStops: number | null
  /** What its work may ask for. */
  skills: string[]
}

export const vehicles = pgTable('vehicles', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  plate: text('plate'),
  capacity: jsonb('capacity')
    .$type<Capacity>()
    .notNull()
    .default({ weight: null, volume: null, units: null }),
  /** Metres per second. */
  speed: doublePrecision('speed'),
  workingHours: jsonb('working_hours').$type<WorkingHours[]>().notNull().default([]),
  tags: text('tags').array().notNull().default([]),
  constraints: jsonb('constraints')
    .$type<Constraints>()
    .notNull()
    .default({ maxDistance: null, maxDuration: null, maxStops: null, skills: [] }),
  hubId: uuid('hub_id'),
  driverId: uuid('driver_id'),
  /** Who named the driver. */
  driverBy: uuid('driver_by'),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
