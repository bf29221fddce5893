import { jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'

/** A value that a path may hold. */
export type Scalar = string | number | boolean | null

/** Where a value of a profile comes from: the first of its paths that holds something. */
export interface Source {
  /** JSONPaths (RFC 9535) without descendants and functions. */
  from: string[]
  /** The text at the path holds JSON, and the value is at this path in it. */
  json: { path: string } | null
  split: { by: string; index: number } | null
  unit: string | null
  /** Values that stand for nothing. */
  absent: Scalar[]
}

/** Where one fails, a message has no position by design. */
export interface Condition {
  from: string
  is: 'exists' | 'missing' | 'equals' | 'not' | 'oneOf'
  value?: Scalar | Scalar[] | undefined
}

/** The fields of a point that a profile fills. */
export interface ProfileFields {
  lat: Source
  lng: Source
  timestamp: Source | null
  speed: Source | null
  heading: Source | null
  accuracy: Source | null
  altitude: Source | null
  battery: Source | null
}

/** How messages of one kind are read: a list of choices. */
export interface Choices {
  /** An MQTT filter. */
  topic: string
  /** The path of an array whose elements are a point each. */
  each: string | null
  when: Condition[]
  device: Source | null
  fields: ProfileFields
  attributes: { [name: string]: Source }
}

/** A message as somebody pasted it or a device sent it. */
export interface SampleMessage {
  topic: string | null
  payload: unknown
  clientId: string | null
  query: { [name: string]: unknown } | null
}

export const trackerProfiles = pgTable('tracker_profiles', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  choices: jsonb('choices').$type<Choices>().notNull(),
  sampleMessages: jsonb('sample_messages').$type<SampleMessage[]>().notNull(),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
})
