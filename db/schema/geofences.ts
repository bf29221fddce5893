import { sql } from 'drizzle-orm'
import { boolean, integer, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

/** A circle in metres, or a ring of vertices (degrees, longitude first) whose last vertex equals its first. */
export type FenceShape =
  | { type: 'circle'; center: { lat: number; lng: number }; radius: number }
  | { type: 'polygon'; coordinates: [lng: number, lat: number][] }

export const geofences = pgTable('geofences', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  hubId: uuid('hub_id'),
  shape: jsonb('shape').$type<FenceShape>().notNull(),
  vertices: integer('vertices')
    .notNull()
    .generatedAlwaysAs(sql`coalesce(jsonb_array_length(shape -> 'coordinates'), 1)`),
  shapedAt: timestamp('shaped_at', { withTimezone: true })
    .notNull()
    .default(sql`date_trunc('milliseconds', clock_timestamp())`),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  deletedAt: timestamp('deleted_at', { withTimezone: true }),
})
