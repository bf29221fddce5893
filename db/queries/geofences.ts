import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { hubConditions, type VisibleHubs } from '../hub-rule.ts'
import { lockUntilCommit } from '../locks.ts'
import { geofences } from '../schema/geofences.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'

const HIDDEN = ['vertices', 'shapedAt', 'deletedAt'] as const

/** A geofence as the interface shows it. */
export type Geofence = Shown<typeof geofences, (typeof HIDDEN)[number]>

export type NewGeofence = Pick<Geofence, 'name' | 'hubId' | 'shape'>

const COLUMNS = shownColumns(geofences, 'f', HIDDEN)

export const GEOFENCE_SORTS = {
  name: { sql: 'lower(f.name)', type: 'text' },
  createdAt: { sql: 'f.created_at', type: 'timestamptz' },
} as const

export function listGeofences(
  tx: Queryable,
  visible: VisibleHubs,
  filter: { hubIds: readonly string[] | undefined },
  page: PageRequest,
): Promise<Page<Geofence>> {
  const { where, values, add, placeholder } = conditions()
  where.push('f.deleted_at IS NULL', ...hubConditions('f.hub_id', visible, placeholder))
  if (filter.hubIds) add('f.hub_id = ANY(?::uuid[])', filter.hubIds)
  return readPage(
    tx,
    {
      columns: COLUMNS,
      bytes: `300 + ${storedBytes('f.shape')}`,
      from: 'geofences f',
      where,
      values,
      id: 'f.id',
      sorts: GEOFENCE_SORTS,
      search: ['f.name'],
    },
    page,
  )
}

/** A visible geofence of the organization, or null. */
export async function findGeofence(
  tx: Queryable,
  id: string,
  visible: VisibleHubs,
): Promise<Geofence | null> {
  const { where, values, add, placeholder } = conditions()
  add('f.id = ?', id)
  where.push('f.deleted_at IS NULL', ...hubConditions('f.hub_id', visible, placeholder))
  const [row] = await tx.query<Geofence>(
    `SELECT ${COLUMNS} FROM geofences f WHERE ${where.join(' AND ')}`,
    values,
  )
  return row ?? null
}

/**
 * Precedes every change of geofences: waits until no process judges by them, and blocks judging and other changes until
 * the transaction ends. Returns the number of the organization's geofences, and of their vertices.
 */
export async function beginFenceChange(
  tx: Queryable,
  organizationId: string,
): Promise<{ count: number; vertices: number }> {
  // So that a change number becomes visible only after all smaller ones.
  await lockUntilCommit(tx, 'geofenceChanges')
  await tx.query(
    `INSERT INTO geofence_versions (organization_id, version) VALUES ($1, nextval('geofence_changes'))
     ON CONFLICT (organization_id) DO UPDATE SET version = excluded.version`,
    [organizationId],
  )
  const [row] = await tx.query<{ count: number; vertices: number }>(
    `SELECT count(*)::int4 AS count, coalesce(sum(vertices), 0)::int4 AS vertices FROM geofences WHERE deleted_at IS NULL`,
  )
  return row as { count: number; vertices: number }
}

/** Requires `beginFenceChange`. Returns the identifier. */
export async function insertGeofence(
  tx: Queryable,
  organizationId: string,
  geofence: NewGeofence & { isSample?: boolean; shapedAt?: Date },
): Promise<string> {
  const id = newId()
  await tx.orm.insert(geofences).values({ ...geofence, id, organizationId })
  return id
}

/** Requires `beginFenceChange`. A new shape applies to points that are received from now on. */
export async function updateGeofence(
  tx: Queryable,
  id: string,
  { name, hubId, shape }: NewGeofence,
  isReshaped: boolean,
): Promise<void> {
  await tx.query(
    `UPDATE geofences SET name = $2, hub_id = $3, shape = $4::jsonb, updated_at = now(), shaped_at = CASE WHEN $5
       THEN greatest(date_trunc('milliseconds', clock_timestamp()), shaped_at + interval '1 millisecond') ELSE shaped_at END
     WHERE id = $1`,
    [id, name, hubId, JSON.stringify(shape), isReshaped],
  )
}

/** Requires `beginFenceChange`. Its events, which may be many, are deleted later (`pruneGeofences`). */
export async function deleteGeofence(tx: Queryable, id: string): Promise<void> {
  await tx.query('UPDATE geofences SET deleted_at = now(), hub_id = NULL WHERE id = $1', [id])
}
