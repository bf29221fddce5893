import type { Queryable } from '../client.ts'
import type { KeptPoint } from '../schema/connections.ts'
import type { ReferencedDevice } from './device-references.ts'

/** A kept point on its way to the history of its device. */
export interface AdoptedPoint {
  connectionId: string
  folded: string
  recordedAt: string
  point: KeptPoint
  device: ReferencedDevice & { organizationId: string }
}

/** Some of the points that were handed over to devices, of any organization. */
export async function listAdopted(db: Queryable, limit: number): Promise<AdoptedPoint[]> {
  const rows = await db.query<
    Omit<AdoptedPoint, 'device'> & { id: string; subject: number; organizationId: string }
  >(
    `SELECT p.connection_id AS "connectionId", p.folded, p.recorded_at::text AS "recordedAt", p.point,
       s.id, s.key AS subject, s.organization_id AS "organizationId"
     FROM unknown_points p JOIN subjects s ON s.id = p.device_id
     WHERE p.device_id IS NOT NULL ORDER BY p.device_id, p.recorded_at LIMIT $1`,
    [limit],
  )
  return rows.map(({ id, subject, organizationId, ...rest }) => ({
    ...rest,
    device: { id, subject, organizationId },
  }))
}

/** Deletes points that are durable in the log. */
export async function deleteAdopted(db: Queryable, points: readonly AdoptedPoint[]): Promise<void> {
  await db.query(
    `DELETE FROM unknown_points p USING unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS g(connection_id, folded, recorded_at)
     WHERE p.connection_id = g.connection_id AND p.folded = g.folded AND p.recorded_at = g.recorded_at
       AND p.device_id IS NOT NULL`,
    [
      points.map(({ connectionId }) => connectionId),
      points.map(({ folded }) => folded),
      points.map(({ recordedAt }) => recordedAt),
    ],
  )
}
