import { boolean, integer, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const FREQUENCIES = ['daily', 'weekly', 'monthly', 'yearly'] as const
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** Repeats every `interval` days, weeks, months or years. */
export interface SimpleRepeat {
  frequency: (typeof FREQUENCIES)[number]
  interval: number
  byWeekday?: (typeof WEEKDAYS)[number][]
  /** -1 is the last day of the month. */
  byMonthDay?: number[]
}

/** How a schedule repeats: simply, or by an RRULE of RFC 5545. */
export type Repeat = SimpleRepeat | { rrule: string }

interface Place {
  lat: number
  lng: number
  address: string | null
}

const time = (name: string) => timestamp(name, { withTimezone: true })

export const schedules = pgTable('schedules', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  flowId: uuid('flow_id').notNull(),
  dataIds: uuid('data_ids').array().notNull().default([]),
  /** The types of the records in `dataIds`, including deleted and former ones. */
  dataTypeIds: uuid('data_type_ids').array().notNull().default([]),
  hubId: uuid('hub_id'),
  teamId: uuid('team_id'),
  assigneeId: uuid('assignee_id'),
  vehicleId: uuid('vehicle_id'),
  location: jsonb('location').$type<Place>(),
  /** Seconds. */
  duration: integer('duration'),
  content: jsonb('content').$type<{ [key: string]: unknown }>().notNull().default({}),
  repeat: jsonb('repeat').$type<Repeat>().notNull(),
  startTime: time('start_time').notNull(),
  endTime: time('end_time'),
  timezone: text('timezone').notNull(),
  exceptions: text('exceptions').array().notNull().default([]),
  nextRunAt: time('next_run_at'),
  lastRunAt: time('last_run_at'),
  skipped: integer('skipped').notNull().default(0),
  failures: integer('failures').notNull().default(0),
  retryAt: time('retry_at'),
  lastError: text('last_error'),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: time('created_at').notNull().defaultNow(),
  updatedAt: time('updated_at').notNull().defaultNow(),
})
