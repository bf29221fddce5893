import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uuid,
} from 'drizzle-orm/pg-core'
import { bytea } from './devices.ts'

export const CONNECTION_KINDS = ['http', 'mqtt', 'broker'] as const
export type ConnectionKind = (typeof CONNECTION_KINDS)[number]
export const CONNECTION_STATES = ['connecting', 'connected', 'failed', 'stopped'] as const
export type ConnectionState = (typeof CONNECTION_STATES)[number]

/** Another broker, without its secrets. */
export interface Broker {
  /** mqtt, mqtts, ws or wss. */
  url: string
  username: string | null
  /** Null is one of our own choice. */
  clientId: string | null
  /** Filters; none is the profile's. */
  topics: string[]
  caCertificate: string | null
  clientCertificate: string | null
}

/** A way in for many trackers. */
export const connections = pgTable('connections', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  kind: text('kind', { enum: CONNECTION_KINDS }).notNull(),
  /** One of the two is set. */
  builtInProfile: text('built_in_profile'),
  ownProfile: uuid('own_profile'),
  hubId: uuid('hub_id'),
  createDevices: boolean('create_devices').notNull().default(false),
  isActive: boolean('is_active').notNull().default(true),
  headerName: text('header_name'),
  keyHash: bytea('key_hash').notNull(),
  broker: jsonb('broker').$type<Broker>(),
  /** The sealed JSON of the broker's password and clientKey. */
  secrets: text('secrets'),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})

export const connectionStates = pgTable('connection_states', {
  connectionId: uuid('connection_id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  state: text('state', { enum: ['connecting', 'connected', 'failed'] })
    .notNull()
    .default('connecting'),
  lastError: text('last_error'),
  lastMessageAt: timestamp('last_message_at', { withTimezone: true }),
  messages: bigint('messages', { mode: 'number' }).notNull().default(0),
  points: bigint('points', { mode: 'number' }).notNull().default(0),
  skipped: bigint('skipped', { mode: 'number' }).notNull().default(0),
  rejected: bigint('rejected', { mode: 'number' }).notNull().default(0),
  unknown: bigint('unknown', { mode: 'number' }).notNull().default(0),
  heldBy: uuid('held_by'),
  heldUntil: timestamp('held_until', { withTimezone: true }).notNull().default(sql`'-infinity'`),
  subscribed: text('subscribed').array().notNull().default(sql`'{}'`),
  hour: timestamp('hour', { withTimezone: true }).notNull().default(sql`'-infinity'`),
  createdDevices: integer('created_devices').notNull().default(0),
  minute: timestamp('minute', { withTimezone: true }).notNull().default(sql`'-infinity'`),
  minuteMessages: bigint('minute_messages', { mode: 'number' }).notNull().default(0),
  formerMessages: bigint('former_messages', { mode: 'number' }).notNull().default(0),
})

export const unknownReferences = pgTable(
  'unknown_references',
  {
    connectionId: uuid('connection_id').notNull(),
    folded: text('folded').notNull(),
    organizationId: uuid('organization_id').notNull(),
    reference: text('reference').notNull(),
    messages: bigint('messages', { mode: 'number' }).notNull(),
    lastMessageAt: timestamp('last_message_at', { withTimezone: true }).notNull(),
    lastPoint: jsonb('last_point').$type<KeptPoint>(),
  },
  table => [primaryKey({ columns: [table.connectionId, table.folded] })],
)

/** A point of an unknown reference: all but its subject. */
export interface KeptPoint {
  lat: number
  lng: number
  /** Milliseconds since 1970, as in the log. */
  recordedAt: number
  receivedAt: number
  speed: number | null
  heading: number | null
  accuracy: number | null
  altitude: number | null
  battery: number | null
  /** The text of a JSON object. */
  attributes: string | null
}

export const unknownPoints = pgTable(
  'unknown_points',
  {
    connectionId: uuid('connection_id').notNull(),
    folded: text('folded').notNull(),
    recordedAt: timestamp('recorded_at', { withTimezone: true }).notNull(),
    organizationId: uuid('organization_id').notNull(),
    point: jsonb('point').$type<KeptPoint>().notNull(),
    deviceId: uuid('device_id'),
  },
  table => [primaryKey({ columns: [table.connectionId, table.folded, table.recordedAt] })],
)

/** How a message ended. */
export interface MessageOutcome {
  points: number
  /** Why it has no position by design. */
  skipped: string | null
  rejected: { reason: string; message: string }[]
}

export const connectionMessages = pgTable('connection_messages', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  connectionId: uuid('connection_id').notNull(),
  receivedAt: timestamp('received_at', { withTimezone: true }).notNull(),
  topic: text('topic'),
  clientId: text('client_id'),
  query: jsonb('query').$type<{ [name: string]: unknown }>(),
  payload: text('payload').notNull(),
  isCut: boolean('is_cut').notNull(),
  outcome: jsonb('outcome').$type<MessageOutcome>().notNull(),
})
