import type { Queryable } from '../../../db/client.ts'
import { listDeviceSubjects, mountDevice } from '../../../db/queries/devices.ts'
import { listKnownHubs } from '../../../db/queries/hubs.ts'
import type { Caller } from '../../../db/queries/sessions.ts'
import { listKnownUsers } from '../../../db/queries/users.ts'
import {
  deleteVehicle,
  findVehicle,
  insertVehicles,
  listVehicles,
  updateVehicle,
  VEHICLE_SORTS,
  type Vehicle,
} from '../../../db/queries/vehicles.ts'
import { audited } from '../../http/audit.ts'
import { created, ok } from '../../http/envelope.ts'
import { conflict, found } from '../../http/errors.ts'
import { listed, readPageRequest, splitIds } from '../../http/lists.ts'
import { checkReferences } from '../../http/references.ts'
import type { App, Services } from '../../services.ts'
import { releaseTasks } from '../tasks/release.ts'
import * as operations from './schemas.ts'
import { mergeVehicle, type NewVehicleBody } from './schemas.ts'

export function vehicleRoutes(app: App, { db }: Services): void {
  app.get('/vehicles', operations.listVehicles, async ({ caller, query }) => {
    const page = readPageRequest(query, VEHICLE_SORTS)
    const tags = query.tags?.split(',').map(tag => tag.trim())
    const filter = { hubIds: splitIds(query.hubId), driverIds: splitIds(query.driverId), tags }
    return listed(
      await db.tenant(caller.organizationId, tx => listVehicles(tx, caller.hubIds, filter, page)),
      query,
    )
  })

  app.get('/vehicle/:id', operations.getVehicle, async ({ caller, params }) => {
    const { organizationId, hubIds } = caller
    return ok(found('vehicle', await db.tenant(organizationId, tx => findVehicle(tx, params.id, hubIds))))
  })

  app.post('/vehicle', operations.createVehicle, async (request, reply) => {
    const { deviceId, ...given } = request.body
    const vehicle = await audited(db, request, async (tx, caller) => {
      await checkVehicle(tx, caller, request.body)
      const [vehicleId = ''] = await insertVehicles(tx, caller.organizationId, [
        { ...given, driverBy: caller.userId },
      ])
      if (deviceId) await mount(tx, caller, deviceId, vehicleId)
      return { before: null, after: found('vehicle', await findVehicle(tx, vehicleId, null)) }
    })
    return created(reply, vehicle, 'Vehicle created')
  })

  const change = async (tx: Queryable, caller: Caller, vehicleId: string, become: Become) => {
    const before = found('vehicle', await findVehicle(tx, vehicleId, caller.hubIds, 'FOR NO KEY UPDATE'))
    const { deviceId, ...given } = become(before)
    await checkVehicle(tx, caller, { ...given, deviceId }, before)
    // First, for the locks that it takes.
    if (deviceId && deviceId !== before.deviceId) {
      await mount(tx, caller, deviceId, before._id)
    } else if (!deviceId && before.deviceId) {
      await mount(tx, caller, before.deviceId, null)
    }
    const driverBy = given.driverId === before.driverId ? {} : { driverBy: caller.userId }
    await updateVehicle(tx, before._id, { ...given, ...driverBy })
    return { before, after: found('vehicle', await findVehicle(tx, before._id, null)) }
  }

  app.put('/vehicle/:id', operations.replaceVehicle, async request => {
    const { body, params } = request
    const vehicle = await audited(db, request, (tx, caller) => change(tx, caller, params.id, () => body))
    return ok(vehicle, 'Vehicle changed')
  })

  app.patch('/vehicle/:id', operations.updateVehicle, async request => {
    const { body, params } = request
    const vehicle = await audited(db, request, (tx, caller) =>
      change(tx, caller, params.id, before => mergeVehicle(toBody(before), body)),
    )
    return ok(vehicle, 'Vehicle changed')
  })

  app.delete('/vehicle/:id', operations.deleteVehicle, async request => {
    const { caller, params } = request
    const { id } = params
    const find = async (tx: Queryable) => found('vehicle', await findVehicle(tx, id, caller.hubIds))
    await db.tenant(caller.organizationId, find)
    await releaseTasks(db, caller.organizationId, 'vehicle_id', id)
    await audited(db, request, async tx => {
      const before = await find(tx)
      await deleteVehicle(tx, id)
      return { before, after: null }
    })
    return ok({ _id: id }, 'Vehicle deleted')
  })
}

async function mount(
  tx: Queryable,
  { organizationId, userId }: Caller,
  deviceId: string,
  vehicleId: string | null,
) {
  if (!(await mountDevice(tx, organizationId, deviceId, vehicleId, userId)))
    throw conflict('The device was deleted at the same moment. Choose another one.', 'reference-deleted')
}

type Become = (before: Vehicle) => NewVehicleBody

/** The part of a vehicle that a body has. */
const toBody = ({ _id, isSample, createdAt, updatedAt, ...body }: Vehicle): NewVehicleBody => body

/** Hub, device and driver have to be there for the caller; those that the vehicle has already may stay. 400 otherwise. */
function checkVehicle(
  tx: Queryable,
  caller: Caller,
  { hubId, deviceId, driverId }: Pick<NewVehicleBody, 'hubId' | 'deviceId' | 'driverId'>,
  before?: Vehicle,
): Promise<void> {
  const { hubIds } = caller
  return checkReferences(
    { what: 'hub', ids: { hubId }, find: ids => listKnownHubs(tx, ids, hubIds), present: [before?.hubId] },
    {
      what: 'device',
      ids: { deviceId },
      find: async ids => new Set((await listDeviceSubjects(tx, ids, hubIds)).keys()),
      present: [before?.deviceId],
    },
    {
      what: 'user',
      ids: { driverId },
      find: ids => listKnownUsers(tx, { ...caller, scope: 'all' }, ids),
      present: [before?.driverId],
    },
  )
}
