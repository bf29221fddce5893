import { boolean, customType, pgTable, smallint, text, timestamp, uuid } from 'drizzle-orm/pg-core'

export const bytea = customType<{ data: Buffer; driverData: Uint8Array }>({
  dataType: () => 'bytea',
  fromDriver: bytes => Buffer.from(bytes),
})

export const devices = pgTable('devices', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  name: text('name').notNull(),
  hubId: uuid('hub_id'),
  /** The same while the device is not deleted; a trigger sets it. */
  boundHubId: uuid('bound_hub_id'),
  keyHash: bytea('key_hash').notNull(),
  /** The user who was shown the key. */
  keyBy: uuid('key_by'),
  /** The key before, and when it was replaced. */
  replacedKeyHash: bytea('replaced_key_hash'),
  keyReplacedAt: timestamp('key_replaced_at', { withTimezone: true }),
  isSample: boolean('is_sample').notNull().default(false),
  createdAt: timestamp('created_at', { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp('updated_at', { withTimezone: true }).notNull().defaultNow(),
  deletedAt: timestamp('deleted_at', { withTimezone: true }),
  lastSeenAt: timestamp('last_seen_at', { withTimezone: true }),
  builtInProfile: text('built_in_profile'),
  profileId: uuid('profile_id'),
  certificateFingerprint: bytea('certificate_fingerprint'),
  certificateBeginsAt: timestamp('certificate_begins_at', { withTimezone: true }),
  certificateExpiresAt: timestamp('certificate_expires_at', { withTimezone: true }),
})

/** The identifiers that other systems give to a device. */
export const deviceReferences = pgTable('device_references', {
  organizationId: uuid('organization_id').notNull(),
  folded: text('folded').notNull(),
  reference: text('reference').notNull(),
  deviceId: uuid('device_id').notNull(),
  place: smallint('place').notNull(),
})

/** The times at which devices were mounted on vehicles. */
export const mounts = pgTable('mounts', {
  id: uuid('id').primaryKey(),
  organizationId: uuid('organization_id').notNull(),
  deviceId: uuid('device_id').notNull(),
  /** Null once the vehicle is deleted. */
  vehicleId: uuid('vehicle_id'),
  /** The hub that a deleted vehicle had. */
  hubId: uuid('hub_id'),
  mountedAt: timestamp('mounted_at', { withTimezone: true }).notNull().defaultNow(),
  unmountedAt: timestamp('unmounted_at', { withTimezone: true }),
  mountedBy: uuid('mounted_by'),
})
