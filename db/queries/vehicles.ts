import { eq, sql } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { vehicles } from '../schema/vehicles.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'

const HIDDEN = ['driverBy'] as const

/** A vehicle as the interface shows it: the device is the one that is mounted now. */
export type Vehicle = Shown<typeof vehicles, (typeof HIDDEN)[number]> & { deviceId: string | null }

export type NewVehicle = Omit<Vehicle, '_id' | 'deviceId' | 'isSample' | 'createdAt' | 'updatedAt'>

/** Hubs whose vehicles may be seen, besides vehicles without a hub; null means all hubs. */
type Visible = readonly string[] | null

const COLUMNS = `${shownColumns(vehicles, 'v', HIDDEN)}, (SELECT m.device_id FROM mounts m
    WHERE m.vehicle_id = v.id AND m.unmounted_at IS NULL) AS "deviceId"`

export const VEHICLE_SORTS = {
  name: { sql: 'lower(v.name)', type: 'text' },
  plate: { sql: `lower(coalesce(v.plate, ''))`, type: 'text' },
  createdAt: { sql: 'v.created_at', type: 'timestamptz' },
} as const

export interface VehicleFilter {
  hubIds?: readonly string[]
  driverIds?: readonly string[]
  /** Vehicles that have one of these tags. */
  tags?: readonly string[]
}

export function listVehicles(
  tx: Queryable,
  visible: Visible,
  filter: VehicleFilter,
  page: PageRequest,
): Promise<Page<Vehicle>> {
  const { where, values, add } = conditions()
  if (visible) add('(v.hub_id IS NULL OR v.hub_id = ANY(?::uuid[]))', visible)
  if (filter.hubIds) add('v.hub_id = ANY(?::uuid[])', filter.hubIds)
  if (filter.driverIds) add('v.driver_id = ANY(?::uuid[])', filter.driverIds)
  if (filter.tags) add('v.tags && ?::text[]', filter.tags)
  return readPage(
    tx,
    {
      columns: COLUMNS,
      bytes: `500 + ${storedBytes('v.working_hours', 'v.tags', 'v.constraints')}`,
      from: 'vehicles v',
      where,
      values,
      id: 'v.id',
      sorts: VEHICLE_SORTS,
      search: ['v.name', 'v.plate'],
    },
    page,
  )
}

/** A visible vehicle of the organization, or null. A lock keeps it from changing until the transaction ends. */
export async function findVehicle(
  tx: Queryable,
  id: string,
  visible: Visible,
  lock: '' | 'FOR NO KEY UPDATE' = '',
): Promise<Vehicle | null> {
  // A separate statement: one that waits for a lock would read the mounts as they were before.
  if (lock) await tx.query(`SELECT FROM vehicles WHERE id = $1 ${lock}`, [id])
  const [row] = await tx.query<Vehicle>(
    `SELECT ${COLUMNS} FROM vehicles v
     WHERE v.id = $1 AND ($2::uuid[] IS NULL OR v.hub_id IS NULL OR v.hub_id = ANY($2))`,
    [id, visible],
  )
  return row ?? null
}

/** The visible ones among these vehicles; null means every hub. */
export async function listKnownVehicles(
  tx: Queryable,
  ids: readonly string[],
  visible: Visible,
): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `SELECT id FROM vehicles
     WHERE id = ANY($1::uuid[]) AND ($2::uuid[] IS NULL OR hub_id IS NULL OR hub_id = ANY($2))`,
    [ids, visible],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Returns the identifiers in the given order. */
export async function insertVehicles(
  tx: Queryable,
  organizationId: string,
  given: readonly (Partial<NewVehicle> & { name: string; driverBy?: string; isSample?: boolean })[],
): Promise<string[]> {
  const rows = given.map(vehicle => ({ ...vehicle, id: newId(), organizationId }))
  await tx.orm.insert(vehicles).values(rows)
  return rows.map(({ id }) => id)
}

export async function updateVehicle(
  tx: Queryable,
  id: string,
  change: Partial<NewVehicle> & { driverBy?: string },
): Promise<void> {
  await tx.orm
    .update(vehicles)
    .set({ ...change, updatedAt: sql`now()` })
    .where(eq(vehicles.id, id))
}

/** Deletes a vehicle and ends its mounts; the devices and their histories stay. */
export async function deleteVehicle(tx: Queryable, id: string): Promise<void> {
  await tx.orm.delete(vehicles).where(eq(vehicles.id, id))
}
