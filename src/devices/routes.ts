import { z } from 'zod'
import { isUuid, type Queryable } from '../../db/client.ts'
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
} from '../../db/queries/devices.ts'
import { findHub } from '../../db/queries/hubs.ts'
import { listRejections } from '../../db/queries/rejections.ts'
import type { Caller } from '../../db/queries/sessions.ts'
import { findVehicle } from '../../db/queries/vehicles.ts'
import { createDeviceKey } from '../../ingest/authenticate.ts'
import { differences, record } from '../audit/record.ts'
import { id, list, ok, page, pageQuery, readPageCursor, success, writePageCursor } from '../envelope.ts'
import { invalid, notFound } from '../errors.ts'
import { listed, listQuery, readPageRequest, splitIds } from '../lists.ts'
import type { App, Services } from '../services.ts'
import { device, deviceChange, deviceWithKey, newDevice, rejectionCursor, rejections } from './schemas.ts'

const tags = ['Devices']
const params = z.object({ id })

export function deviceRoutes(app: App, { db }: Services): void {
  /** The device in the tenant's own transaction; 404 where it is not there, or not the caller's to see. */
  const inDevice = <T>(
    caller: Caller,
    deviceId: string,
    work: (tx: Queryable, found: Device) => Promise<T>,
  ) =>
    db.tenant(caller.organizationId, async tx => {
      const found = isUuid(deviceId) ? await findDevice(tx, deviceId, caller.hubIds) : null
      if (!found) throw notFound('device')
      return work(tx, found)
    })

  const withLastSeen = async (organizationId: string, devices: Device[]) => {
    const ids = devices.map(({ _id }) => _id)
    const lastSeen = await listLastSeen(db.autocommit, organizationId, ids)
    return devices.map(found => ({ ...found, lastSeenAt: lastSeen.get(found._id) ?? null }))
  }

  const show = async (organizationId: string, found: Device) => {
    const [shown] = await withLastSeen(organizationId, [found])
    return shown as Device & { lastSeenAt: Date | null }
  }

  const tell = (tx: Queryable, caller: Caller, action: string, before: Device | null, after: Device | null) =>
    record(tx, caller, {
      action,
      resource: 'device',
      resourceId: (before ?? after)?._id ?? null,
      changes: differences(before, after),
    })

  app.get(
    '/devices',
    {
      config: { access: 'view/device' },
      schema: {
        tags,
        summary: 'The devices of the organization',
        description: `Those of the caller's hubs and of none, newest first; Owner and Admin see every one.`,
        querystring: listQuery(DEVICE_SORTS, '-createdAt').extend({
          hubId: z.string().optional().describe('Hubs, separated by commas'),
          vehicleId: z.string().optional().describe('Vehicles, separated by commas'),
        }),
        response: { 200: list(device) },
      },
    },
    async request => {
      const { caller, query } = request
      const asked = readPageRequest(query, DEVICE_SORTS)
      const filter = { hubIds: splitIds(query.hubId), vehicleIds: splitIds(query.vehicleId) }
      const found = await db.tenant(caller.organizationId, tx =>
        listDevices(tx, caller.hubIds, filter, asked),
      )
      return listed({ ...found, rows: await withLastSeen(caller.organizationId, found.rows) }, query)
    },
  )

  app.get(
    '/device/:id',
    {
      config: { access: 'view/device' },
      schema: {
        tags,
        summary: 'A device',
        description: 'With the vehicle that it is mounted on, and when it was last heard of.',
        params,
        response: { 200: success(device) },
      },
    },
    async ({ caller, params }) => {
      const found = await inDevice(caller, params.id, async (_tx, one) => one)
      return ok(await show(caller.organizationId, found))
    },
  )

  app.post(
    '/device',
    {
      config: { access: 'create/device' },
      schema: {
        tags,
        summary: 'Make a device',
        description: 'Answers the key that it publishes with, once.',
        body: newDevice,
        response: { 201: success(deviceWithKey) },
      },
    },
    async (request, reply) => {
      const { caller } = request
      const { organizationId } = caller
      const { name, vehicleId = null, hubId = null } = request.body
      const { key, hash } = createDeviceKey()
      const made = await db.tenant(organizationId, async tx => {
        await checkReferences(tx, caller, { vehicleId, hubId })
        const deviceId = await insertDevice(tx, { organizationId, name, hubId, keyHash: hash })
        if (vehicleId) await mountDevice(tx, organizationId, deviceId, vehicleId)
        const found = (await findDevice(tx, deviceId, null)) as Device
        await tell(tx, caller, 'create', null, found)
        return found
      })
      reply.code(201)
      return ok({ ...made, lastSeenAt: null, key }, 'Device made')
    },
  )

  app.patch(
    '/device/:id',
    {
      config: { access: 'update/device' },
      schema: {
        tags,
        summary: 'Change a device',
        description: 'Its name, its hub, or the vehicle that it is mounted on from now on.',
        params,
        body: deviceChange,
        response: { 200: success(device) },
      },
    },
    async request => {
      const { caller } = request
      const { organizationId } = caller
      const { vehicleId, ...change } = request.body
      const changed = await inDevice(caller, request.params.id, async (tx, found) => {
        await checkReferences(tx, caller, request.body)
        await updateDevice(tx, organizationId, found._id, change)
        if (vehicleId !== undefined && vehicleId !== found.vehicleId) {
          await mountDevice(tx, organizationId, found._id, vehicleId)
        }
        const after = (await findDevice(tx, found._id, null)) as Device
        await tell(tx, caller, 'update', found, after)
        return after
      })
      return ok(await show(organizationId, changed), 'Device changed')
    },
  )

  app.post(
    '/device/:id/rotate-key',
    {
      config: { access: 'update/device' },
      schema: {
        tags,
        summary: 'Replace the key of a device',
        description: 'Its connections are closed within a second. Answers the new key, once.',
        params,
        response: { 200: success(deviceWithKey) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const { key, hash } = createDeviceKey()
      const found = await inDevice(request.caller, request.params.id, async (tx, one) => {
        await updateDeviceKey(tx, organizationId, one._id, hash)
        await tell(tx, request.caller, 'rotate-key', one, one)
        return (await findDevice(tx, one._id, null)) as Device
      })
      return ok({ ...(await show(organizationId, found)), key }, 'Key replaced')
    },
  )

  app.delete(
    '/device/:id',
    {
      config: { access: 'delete/device' },
      schema: {
        tags,
        summary: 'End a device',
        description:
          'Its connections are closed within a second. Its history stays, and its identifier is not used again.',
        params,
        response: { 200: success(z.object({ _id: id })) },
      },
    },
    async request => {
      const { caller } = request
      const deleted = await inDevice(caller, request.params.id, async (tx, found) => {
        await deleteDevice(tx, caller.organizationId, found._id)
        await tell(tx, caller, 'delete', found, null)
        return found._id
      })
      return ok({ _id: deleted }, 'Device deleted')
    },
  )

  app.get(
    '/device/:id/rejections',
    {
      config: { access: 'view/device' },
      schema: {
        tags,
        summary: 'Points of the device that were refused',
        description:
          'The last 1,000 of 30 days, newest first, and how many there were by reason of all time.',
        params,
        querystring: pageQuery,
        response: { 200: rejections },
      },
    },
    async request => {
      const { limit, cursor } = request.query
      const before = readPageCursor(cursor, rejectionCursor)
      if (before === null) throw invalid('cursor', 'This is not a cursor of this list.')
      const found = await inDevice(request.caller, request.params.id, (tx, { _id }) =>
        listRejections(tx, _id, { limit, before: before ?? null }),
      )
      const nextCursor = found.next && writePageCursor(found.next)
      return { ...page(found.rejections as never[], { limit, nextCursor }), counts: found.counts }
    },
  )
}

async function checkReferences(
  tx: Queryable,
  caller: Caller,
  body: { vehicleId?: string | null; hubId?: string | null },
): Promise<void> {
  if (body.hubId && !(isUuid(body.hubId) && (await findHub(tx, body.hubId, caller.hubIds)))) {
    throw invalid('hubId', 'There is no such hub.')
  }
  if (body.vehicleId && !(isUuid(body.vehicleId) && (await findVehicle(tx, body.vehicleId, caller.hubIds)))) {
    throw invalid('vehicleId', 'There is no such vehicle.')
  }
}
