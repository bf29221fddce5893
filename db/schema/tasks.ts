import { sql } from 'drizzle-orm'
import { bigint, boolean, customType, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

const point = customType<{ data: string }>({ dataType: () => 'geometry(Point,4326)' })

/** A status that a task has taken: when, by whom and where, and the values of its step's fields. */
export interface HistoryEntry {
  status: string
  /** ISO 8601 in UTC with milliseconds, so that the texts sort by time. */
  at: string
  /** A user; null for a schedule or an API key. */
  by: string | null
  /** The API key that did it, by its name at that time. */
  apiKey?: { _id: string; name: string }
  lat: number | null
  lng: number | null
  note: string | null
  fields: { [key: string]: unknown }
}

export const tasks = pgTable('tasks', {
  id: uuid('id').notNull(),
  organizationId: uuid('organization_id').notNull(),
  code: text('code').notNull(),
  name: text('name').notNull(),
  status: text('status').notNull(),
  flowId: uuid('flow_id').notNull(),
  dataIds: uuid('data_ids').array().notNull().default([]),
  /** The types of the records in `dataIds`, including deleted and former ones. */
  dataTypeIds: uuid('data_type_ids').array().notNull().default([]),
  hubId: uuid('hub_id'),
  teamId: uuid('team_id'),
  assigneeId: uuid('assignee_id'),
  vehicleId: uuid('vehicle_id'),
  scheduleId: uuid('schedule_id'),
  /** The occurrence of the schedule. */
  scheduledFor: timestamp('scheduled_for', { withTimezone: true }),
  position: point('position'),
  address: text('address'),
  startTime: timestamp('start_time', { withTimezone: true }),
  endTime: timestamp('end_time', { withTimezone: true }),
  content: jsonb('content').$type<{ [key: string]: unknown }>().notNull().default({}),
  history: jsonb('history').$type<HistoryEntry[]>().notNull(),
  /** Generated: the text that a search looks into. */
  search: text('search').notNull().default(sql`code || name || address`),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})

/** The number of the last code that was taken. */
export const taskCounters = pgTable('task_counters', {
  organizationId: uuid('organization_id').primaryKey(),
  last: bigint('last', { mode: 'number' }).notNull(),
})
