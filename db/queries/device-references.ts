import { eq } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { deviceReferences } from '../schema/devices.ts'

/** The form of a reference for comparison, without regard to case. */
export const foldReference = (reference: string) => reference.trim().toLowerCase()

/**
 * Replaces the references of a device. Violates a unique key if another device of the organization has one of them. They
 * are sorted, so that two requests that exchange references never deadlock.
 */
export async function setDeviceReferences(
  tx: Queryable,
  organizationId: string,
  deviceId: string,
  references: readonly string[],
): Promise<void> {
  await tx.orm.delete(deviceReferences).where(eq(deviceReferences.deviceId, deviceId))
  if (references.length === 0) return
  const rows = references.map((reference, place) => ({
    organizationId,
    deviceId,
    reference,
    folded: foldReference(reference),
    place,
  }))
  await tx.orm
    .insert(deviceReferences)
    .values(rows.sort((one, other) => (one.folded < other.folded ? -1 : 1)))
}

/** A device that a reference names. */
export interface ReferencedDevice {
  id: string
  /** `subjects.key`. */
  subject: number
}

/** The devices of an organization that have these references, by the folded reference. */
export async function listDevicesByReference(
  db: Queryable,
  organizationId: string,
  references: readonly string[],
): Promise<Map<string, ReferencedDevice>> {
  const rows = await db.query<ReferencedDevice & { folded: string }>(
    `SELECT r.folded, r.device_id AS id, s.key AS subject
     FROM device_references r JOIN subjects s ON s.id = r.device_id
     WHERE r.organization_id = $1 AND r.folded = ANY($2::text[])`,
    [organizationId, references.map(foldReference)],
  )
  return new Map(rows.map(({ folded, id, subject }) => [folded, { id, subject }]))
}
