import { type Database, isUuid } from '../../../db/client.ts'
import { listDeviceSubjects } from '../../../db/queries/devices.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { isKey, type Publisher } from '../../../ingest/identity/authenticate.ts'
import type { Subject } from '../../../stream/log.ts'
import { forbidden } from '../../http/errors.ts'
import { scopeOf } from '../../http/permissions.ts'

/**
 * The subject of each point: the publisher's own, or the device that the point names. Null if the publisher may not use
 * that device; a device may use no other one, and an API key has none of its own. Throws 403 if a user may not send points of others.
 */
export async function findSubjects(
  db: Database,
  publisher: Publisher,
  caller: Caller | undefined,
  points: readonly unknown[],
): Promise<(Subject | null)[]> {
  const own = isKey(publisher) ? null : publisher
  const named = points.map(point => {
    const deviceId = (point as { deviceId?: unknown } | null)?.deviceId ?? null
    const text = typeof deviceId === 'string' ? deviceId.toLowerCase() : deviceId
    return text === publisher.id && own ? null : text
  })
  const deviceIds = [...new Set(named.filter(deviceId => deviceId !== null))]
  if (deviceIds.length === 0) return points.map(() => own)
  if (!caller) return named.map(deviceId => (deviceId === null ? publisher : null))
  if (scopeOf(caller.permissionDetails, 'create/location') !== 'all')
    throw forbidden('Points of another device need the permission create/location for all.')
  const { organizationId } = publisher
  const subjects = await db.tenant(organizationId, tx =>
    listDeviceSubjects(tx, deviceIds.filter(isUuid), caller.hubIds),
  )
  return named.map(id => {
    if (id === null) return own
    const subject = typeof id === 'string' ? subjects.get(id) : undefined
    return typeof id === 'string' && subject !== undefined
      ? { kind: 'device', id, organizationId, subject }
      : null
  })
}
