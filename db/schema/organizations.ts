import { bigint, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const organizations = pgTable('organizations', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  logo: text('logo'),
  language: text('language'),
  currency: text('currency').notNull().default('EUR'),
  timeZone: text('time_zone').notNull().default('UTC'),
  settings: jsonb('settings').$type<Record<string, unknown>>().notNull().default({}),
  visibilityVersion: bigint('visibility_version', { mode: 'number' }).notNull().default(0),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  /** Null stands for the organization itself (fair/roots.ts). */
  root: uuid('root'),
  deletedAt: timestamp('deleted_at', { withTimezone: true }),
  /** Set only for the server's first organization (findBasemapChoice). */
  basemapUrl: text('basemap_url'),
})
