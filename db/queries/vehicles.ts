import { eq, sql } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { hubConditions, type VisibleHubs } from '../hub-rule.ts'
import { vehicles } from '../schema/vehicles.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'

const HIDDEN = ['driverBy'] as const

/** A vehicle as the interface shows it: the device is the one that is mounted now. */
export type Vehicle = Shown<typeof vehicles, (typeof HIDDEN)[number]> & { deviceId: string | null }

export type NewVehicle = Omit<Vehicle, '_id' | 'deviceId' | 'isSample' | 'createdAt' | 'updatedAt'>

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
  visible: VisibleHubs,
  filter: VehicleFilter,
  page: PageRequest,
): Promise<Page<Vehicle>> {
  const { where, values, add, placeholder } = conditions()
  where.push(...hubConditions('v.hub_id', visible, placeholder))
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
  visible: VisibleHubs,
  lock: '' | 'FOR NO KEY UPDATE' = '',
): Promise<Vehicle | null> {
  // A separate statement: one that waits for a lock would read the mounts as they were before.
  if (lock) await tx.query(`SELECT FROM vehicles WHERE id = $1 ${lock}`, [id])
  const { where, values, add, placeholder } = conditions()
  add('v.id = ?', id)
  where.push(...hubConditions('v.hub_id', visible, placeholder))
  const [row] = await tx.query<Vehicle>(
    `SELECT ${COLUMNS} FROM vehicles v WHERE ${where.join(' AND ')}`,
    values,
  )
  return row ?? null
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
