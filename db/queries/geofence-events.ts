import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { hubConditions } from '../hub-rule.ts'
import { type Crossing, geofenceEvents } from '../schema/geofence-events.ts'
import { hubsOfSubject, type Visibility, type VisibleThrough, visibleCondition } from '../visibility.ts'
import { conditions, type Page, type PageRequest, readPage } from './page.ts'
import { deleteSome } from './prune.ts'

const HIDDEN = ['shapedAt'] as const

/** A crossing as the interface, webhooks and live clients show it. */
export type GeofenceEvent = Shown<typeof geofenceEvents, (typeof HIDDEN)[number]> & {
  subjectType: 'user' | 'device'
}

const COLUMNS = `${shownColumns(geofenceEvents, 'e', HIDDEN)}, s.type AS "subjectType"`
const FROM =
  'geofence_events e JOIN geofences f ON f.id = e.geofence_id JOIN subjects s ON s.id = e.subject_id'

export const GEOFENCE_EVENT_SORTS = { at: { sql: 'e.at', type: 'timestamptz' } } as const

export interface GeofenceEventFilter {
  geofenceIds: readonly string[] | undefined
  subjectIds: readonly string[] | undefined
  from: Date | undefined
  to: Date | undefined
}

/** The crossings whose geofence is visible, and whose subject was when it crossed. */
export function listGeofenceEvents(
  tx: Queryable,
  visibility: Visibility,
  filter: GeofenceEventFilter,
  page: PageRequest,
): Promise<Page<GeofenceEvent>> {
  const { where, values, add, placeholder } = conditions()
  where.push(
    'f.deleted_at IS NULL',
    ...hubConditions('f.hub_id', visibility.hubIds, placeholder),
    visibleCondition('s', visibility, placeholder, 'e.at'),
  )
  if (filter.geofenceIds) add('e.geofence_id = ANY(?::uuid[])', filter.geofenceIds)
  if (filter.subjectIds) add('e.subject_id = ANY(?::uuid[])', filter.subjectIds)
  if (filter.from) add('e.at >= ?', filter.from)
  if (filter.to) add('e.at < ?', filter.to)
  const listing = { columns: COLUMNS, from: FROM, where, values, bytes: '400', id: 'e.id' }
  return readPage(tx, { ...listing, sorts: GEOFENCE_EVENT_SORTS, search: ['f.name'], countUpTo: 1_000 }, page)
}

/** Crossings with the hubs, of their own time, and the teams that decide who may see them. */
export async function listGeofenceEventsById(
  tx: Queryable,
  ids: readonly string[],
): Promise<{ event: GeofenceEvent; fenceHubId: string | null; subject: VisibleThrough }[]> {
  const rows = await tx.query<
    GeofenceEvent & { fenceHubId: string | null; hubIds: string[]; teamIds: string[] }
  >(
    `SELECT ${COLUMNS}, f.hub_id AS "fenceHubId",
       coalesce((SELECT json_agg(b.hub_id) FROM (${hubsOfSubject('s', 'e.at')}) b), '[]') AS "hubIds",
       coalesce((SELECT json_agg(t.team_id) FROM team_users t WHERE t.user_id = s.id), '[]') AS "teamIds"
     FROM ${FROM}
     WHERE e.id = ANY($1::uuid[]) AND f.deleted_at IS NULL`,
    [ids],
  )
  return rows.map(({ fenceHubId, hubIds, teamIds, ...event }) => ({
    event,
    fenceHubId,
    subject: { subjectId: event.subjectId, hubIds, teamIds },
  }))
}

/** A stored crossing of a subject. */
export interface KnownCrossing {
  id: string
  geofenceId: string
  subjectId: string
  /** Milliseconds since 1970, like `shapedAt`. */
  at: number
  retracted: boolean
  shapedAt: number
}

/** The crossings of subjects in their time spans, ends included. */
export function listKnownCrossings(
  tx: Queryable,
  spans: readonly { subjectId: string; from: number; to: number }[],
): Promise<KnownCrossing[]> {
  return tx.query(
    `SELECT DISTINCT e.id, e.geofence_id AS "geofenceId", e.subject_id AS "subjectId", e.retracted,
       (extract(epoch FROM e.at) * 1000)::float8 AS at, (extract(epoch FROM e.shaped_at) * 1000)::float8 AS "shapedAt"
     FROM unnest($1::uuid[], $2::float8[], $3::float8[]) AS g(subject_id, from_ms, to_ms)
     JOIN geofence_events e ON e.subject_id = g.subject_id
       AND e.at BETWEEN to_timestamp(g.from_ms / 1000) AND to_timestamp(g.to_ms / 1000)`,
    [spans.map(span => span.subjectId), spans.map(({ from }) => from), spans.map(({ to }) => to)],
  )
}

export interface NewCrossing {
  geofenceId: string
  subjectId: string
  event: Crossing
  /** Milliseconds since 1970, like `shapedAt`. */
  at: number
  lat: number
  lng: number
  shapedAt: number
}

/** Adds, retracts and restores crossings. Returns all of them in their new state, by time. */
export async function writeCrossings(
  tx: Queryable,
  organizationId: string,
  { added, retracted, restored }: { added: NewCrossing[]; retracted: string[]; restored: string[] },
): Promise<GeofenceEvent[]> {
  const rows = added.map(({ at, shapedAt, ...crossing }) => ({
    ...crossing,
    id: newId(),
    organizationId,
    at: new Date(at),
    shapedAt: new Date(shapedAt),
  }))
  if (rows.length > 0) await tx.orm.insert(geofenceEvents).values(rows)
  const turned = [...retracted, ...restored]
  if (turned.length > 0) {
    await tx.query(
      `UPDATE geofence_events SET retracted = (id = ANY($2::uuid[])), updated_at = now()
       WHERE id = ANY($1::uuid[])`,
      [turned, retracted],
    )
  }
  return tx.query(`SELECT ${COLUMNS} FROM ${FROM} WHERE e.id = ANY($1::uuid[]) ORDER BY e.at, e.id`, [
    [...rows.map(({ id }) => id), ...turned],
  ])
}

/**
 * Deletes some crossings that are over a year old, and deleted geofences with their crossings. Resolves to whether
 * there may be more.
 */
export async function pruneGeofences(db: Queryable): Promise<boolean> {
  const left = [
    await deleteSome(db, 'geofence_events', `at < now() - interval '1 year'`),
    await deleteSome(
      db,
      'geofence_events',
      'geofence_id IN (SELECT id FROM geofences WHERE deleted_at IS NOT NULL)',
    ),
    await deleteSome(
      db,
      'geofences',
      `deleted_at IS NOT NULL AND NOT EXISTS (SELECT FROM geofence_events e WHERE e.geofence_id = geofences.id)`,
    ),
  ]
  return left.some(Boolean)
}
