import { boolean, doublePrecision, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** The capacity in kilograms, cubic metres and pieces; null if it is not known. */
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

/** The limits of a vehicle's route: metres, seconds, stops; null means no limit. */
export interface Constraints {
  maxDistance: number | null
  maxDuration: number | null
  maxStops: number | null
  /** The skills that its work may require. */
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
  /** The user who named the driver. */
  driverBy: uuid('driver_by'),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
