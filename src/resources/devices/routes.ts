import type { Queryable } from '../../../db/client.ts'
import { isDuplicate } from '../../../db/errors.ts'
import { listVisibleIds } from '../../../db/hub-rule.ts'
import { listMounts, readReported } from '../../../db/queries/device-diagnosis.ts'
import {
  foldReference,
  listDevicesByReference,
  setDeviceReferences,
} from '../../../db/queries/device-references.ts'
import {
  DEVICE_SORTS,
  type Device,
  deleteDevice,
  findDevice,
  insertDevice,
  listDevices,
  listLastSeen,
  mountDevice,
  updateDevice,
  updateDeviceKey,
} from '../../../db/queries/devices.ts'
import { listKnownHubs } from '../../../db/queries/hubs.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { listKnownProfiles } from '../../../db/queries/tracker-profiles.ts'
import { createDeviceKey } from '../../../ingest/identity/authenticate.ts'
import { findBuiltIn } from '../../../ingest/profiles/readers.ts'
import { audited } from '../../http/audit.ts'
import { unique } from '../../http/conflicts.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, found, lacksPermission } from '../../http/errors.ts'
import { listed, listedWhole, readPageRequest, splitIds } from '../../http/lists.ts'
import { scopeOf } from '../../http/permissions.ts'
import { checkReferences } from '../../http/references.ts'
import type { App, Services } from '../../services.ts'
import { readActivity } from './activity.ts'
import { readCertificate } from './certificates.ts'
import { findCauses } from './diagnosis.ts'
import * as diagnosis from './diagnosis-schemas.ts'
import { readReached } from './reached.ts'
import * as operations from './schemas.ts'
import { describeSetup } from './setup.ts'

export function deviceRoutes(app: App, { db, config, mqtt, traces, lastSeen }: Services): void {
  const withLastSeen = async <D extends Device>(organizationId: string, devices: D[]) => {
    const ids = devices.map(({ _id }) => _id)
    const lastSeen = await listLastSeen(db.system, organizationId, ids)
    return devices.map(device => ({ ...device, lastSeenAt: lastSeen.get(device._id) ?? null }))
  }

  app.get('/devices', operations.listDevices, async ({ caller, query }) => {
    const request = readPageRequest(query, DEVICE_SORTS)
    const filter = { hubIds: splitIds(query.hubId), vehicleIds: splitIds(query.vehicleId) }
    const devices = await db.tenant(caller.organizationId, tx =>
      listDevices(tx, caller.hubIds, filter, request),
    )
    return listed({ ...devices, rows: await withLastSeen(caller.organizationId, devices.rows) }, query)
  })

  app.get('/device/:id', operations.getDevice, async ({ caller, params }) => {
    const device = await db.tenant(caller.organizationId, tx => getDevice(tx, params.id, caller))
    const [shown] = await withLastSeen(caller.organizationId, [device])
    return ok(found('device', shown))
  })

  app.get('/device/:id/setup', operations.getSetup, async request => {
    const { caller, params } = request
    const device = await db.tenant(caller.organizationId, tx => getDevice(tx, params.id, caller))
    return ok(describeSetup(device, readReached(request, { config, mqtt })))
  })

  app.get('/device/:id/diagnosis', diagnosis.getDiagnosis, async ({ caller, params: { id }, query }) => {
    const { organizationId } = caller
    // Writes the traces of this process before they are read; another process writes its own within a second.
    await traces.flush(id)
    // Before the stored one is read: in between it may be stored.
    const agoMs = lastSeen.pendingAgoMs({ kind: 'device', id })
    const reported = await readReported(db.system, organizationId, id)
    const seenAt = agoMs === null ? reported.seenAt : Math.max(reported.seenAt ?? 0, reported.now - agoMs)
    const asked = { deviceId: id, userId: query.userId ?? caller.userId, reported: { ...reported, seenAt } }
    return ok(await db.tenant(organizationId, tx => findCauses(tx, caller, asked)))
  })

  app.get('/device/:id/mounts', diagnosis.listMounts, async ({ caller, params }) =>
    listedWhole(
      await db.tenant(caller.organizationId, async tx => {
        const { _id } = await getDevice(tx, params.id, caller)
        return listMounts(tx, _id, caller.hubIds)
      }),
    ),
  )

  app.get('/device/:id/activity', diagnosis.listActivity, async ({ caller, params }) => {
    const { organizationId, hubIds } = caller
    const { _id } = await db.tenant(organizationId, tx => getDevice(tx, params.id, caller))
    if (scopeOf(caller.permissionDetails, 'view/location') !== 'all') throw lacksPermission('view/location')
    return listedWhole(await readActivity(db.system, organizationId, _id, hubIds))
  })

  app.post('/device', operations.createDevice, async (request, reply) => {
    const { name, vehicleId = null, hubId = null, profileId = null, references = [] } = request.body
    const { key, hash } = createDeviceKey()
    const device = await audited(db, request, async (tx, caller) => {
      const { organizationId, userId } = caller
      await checkNamed(tx, caller, { vehicleId, hubId, profileId })
      const device = { organizationId, name, hubId, profileId, keyHash: hash, keyBy: userId }
      const deviceId = await insertDevice(tx, device)
      await setReferences(tx, organizationId, deviceId, references)
      if (vehicleId) await mountDevice(tx, organizationId, deviceId, vehicleId, userId)
      return { before: null, after: found('device', await findDevice(tx, deviceId, null)) }
    })
    return created(reply, { ...device, lastSeenAt: null, key }, 'Device created')
  })

  app.patch('/device/:id', operations.updateDevice, async request => {
    const { vehicleId, references, certificate: pem, ...change } = request.body
    const certificate = typeof pem === 'string' ? readCertificate(pem) : pem
    const device = await audited(db, request, async (tx, caller) => {
      const before = await getDevice(tx, request.params.id, caller)
      await checkNamed(tx, caller, request.body)
      // First, for the locks that it takes.
      if (vehicleId !== undefined && vehicleId !== before.vehicleId) {
        await mountDevice(tx, caller.organizationId, before._id, vehicleId, caller.userId)
      }
      await updateDevice(tx, caller.organizationId, before._id, { ...change, certificate }).catch(error => {
        throw isDuplicate(error) ? conflict('Another device has this certificate.', 'not-unique') : error
      })
      if (references) await setReferences(tx, caller.organizationId, before._id, references)
      return { before, after: found('device', await findDevice(tx, before._id, null)) }
    })
    const [shown] = await withLastSeen(request.caller.organizationId, [device])
    return ok(found('device', shown), 'Device changed')
  })

  app.post('/device/:id/rotate-key', operations.rotateKey, async request => {
    const { key, hash } = createDeviceKey()
    const rotate = async (tx: Queryable, caller: Caller) => {
      const before = await getDevice(tx, request.params.id, caller)
      await updateDeviceKey(tx, caller.organizationId, before._id, { keyHash: hash, keyBy: caller.userId })
      return { before, after: found('device', await findDevice(tx, before._id, null)) }
    }
    const device = await audited(db, request, rotate, 'rotate-key')
    const [shown] = await withLastSeen(request.caller.organizationId, [{ ...device, key }])
    return ok(found('device', shown), 'Key replaced')
  })

  app.delete('/device/:id', operations.deleteDevice, async request => {
    const { id } = request.params
    await audited(db, request, async (tx, caller) => {
      const before = await getDevice(tx, id, caller)
      await deleteDevice(tx, caller.organizationId, id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'Device deleted')
  })
}

const getDevice = async (tx: Queryable, deviceId: string, { hubIds }: Caller) =>
  found('device', await findDevice(tx, deviceId, hubIds))

async function setReferences(
  tx: Queryable,
  organizationId: string,
  deviceId: string,
  references: string[],
): Promise<void> {
  const known = await listDevicesByReference(tx, organizationId, references)
  const taken = references.find(one => (known.get(foldReference(one))?.id ?? deviceId) !== deviceId)
  if (taken !== undefined) {
    throw conflict(`There is a device with the reference ${taken} already.`, 'not-unique', { name: taken })
  }
  await unique('device with one of the references', references.join(', '), () =>
    setDeviceReferences(tx, organizationId, deviceId, references),
  )
}

function checkNamed(
  tx: Queryable,
  { hubIds }: Caller,
  {
    hubId,
    vehicleId,
    profileId,
  }: { hubId?: string | null; vehicleId?: string | null; profileId?: string | null },
): Promise<void> {
  const ownProfile = typeof profileId === 'string' && !findBuiltIn(profileId) ? profileId : null
  return checkReferences(
    { what: 'profile', ids: { profileId: ownProfile }, find: ids => listKnownProfiles(tx, ids) },
    { what: 'hub', ids: { hubId }, find: ids => listKnownHubs(tx, ids, hubIds) },
    { what: 'vehicle', ids: { vehicleId }, find: ids => listVisibleIds(tx, 'vehicles', ids, hubIds) },
  )
}
