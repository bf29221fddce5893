import { boolean, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const teams = pgTable('teams', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  hubId: uuid('hub_id'),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})

/** The users of a team: as members, as leaders, or as both. */
export const teamUsers = pgTable('team_users', {
  organizationId: uuid('organization_id').notNull(),
  teamId: uuid('team_id').notNull(),
  userId: uuid('user_id').notNull(),
  isMember: boolean('is_member').notNull(),
  isLeader: boolean('is_leader').notNull(),
})
