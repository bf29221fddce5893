import { isUuid, type Queryable } from '../../../db/client.ts'
import { isInVisibleHub } from '../../../db/hub-rule.ts'
import {
  findDiagnosedDevice,
  listDiagnosedConnections,
  type Reported,
  seesFixOf,
} from '../../../db/queries/device-diagnosis.ts'
import { listTraces } from '../../../db/queries/device-traces.ts'
import { listRejections } from '../../../db/queries/rejections.ts'
import { type Caller, findStanding } from '../../../db/queries/sessions.ts'
import { findVisibleUser } from '../../../db/queries/users.ts'
import { found, lacksPermission } from '../../http/errors.ts'
import { scopeOf } from '../../http/permissions.ts'
import { visibilityOf } from '../users/checks.ts'
import { OF_FIXES } from './causes.ts'
import { type Diagnosed, type Diagnosis, diagnose } from './diagnose.ts'

/** Why a device is not on the map of a user, whom the caller may see. */
export async function findCauses(
  tx: Queryable,
  caller: Caller,
  { deviceId, userId, reported }: { deviceId: string; userId: string; reported: Reported },
): Promise<Diagnosis> {
  const { hubIds } = caller
  const device = found('device', await findDiagnosedDevice(tx, deviceId, hubIds))
  const standing = await findViewer(tx, caller, userId)
  const seesPlaces = scopeOf(caller.permissionDetails, 'view/location') === 'all'
  const traces = await listTraces(tx, device.id)
  const { rejections } = await listRejections(
    tx,
    device.id,
    { hubIds, seesPlaces },
    { limit: 1, before: null, reason: null },
  )
  const isCarried = device.references.length > 0 || traces.some(({ kind }) => kind === 'connection')
  const { fix } = reported
  const connections = isCarried ? await listDiagnosedConnections(tx) : []
  const diagnosis = diagnose({
    ...{ device, reported, traces, rejection: rejections[0] ?? null },
    connections,
    viewer: standing && {
      ...standing,
      seesFix: fix === null || (await seesFixOf(tx, device.id, standing.hubIds, fix.recordedAt)),
    },
  })
  const causes = seesPlaces ? diagnosis.causes : diagnosis.causes.map(withoutFix)
  const known = scopeOf(caller.permissionDetails, 'view/connection') ? connections : []
  const shown = new Set(known.filter(({ hubId }) => isInVisibleHub(hubId, hubIds)).map(({ id }) => id))
  return { ...diagnosis, causes: causes.map(cause => withoutHidden(cause, shown)) }
}

/** A cause without what it says of a fix: its time or battery, which are not for whoever does not see positions. */
function withoutFix(cause: Diagnosed): Diagnosed {
  const value = OF_FIXES[cause.cause]
  return value ? { ...cause, [value]: null } : cause
}

/** A cause without what it says of a connection that the caller does not see. */
const withoutHidden = (cause: Diagnosed, shown: ReadonlySet<string>): Diagnosed =>
  cause.connectionId === null || shown.has(cause.connectionId)
    ? cause
    : { ...cause, connectionId: null, detail: null }

/** The permissions of whoever looks at the map; null for a user who is not active. */
async function findViewer(tx: Queryable, caller: Caller, userId: string) {
  if (userId === caller.userId) return caller
  if (!scopeOf(caller.permissionDetails, 'view/user')) throw lacksPermission('view/user')
  const visibility = visibilityOf(caller, 'view/user')
  const user = found('user', isUuid(userId) ? await findVisibleUser(tx, visibility, { id: userId }) : null)
  return findStanding(tx, user._id)
}
