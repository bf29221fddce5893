import { z } from 'zod'
import { isUuid, type Queryable } from '../../db/client.ts'
import {
  countDevices,
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
import { findVehicle } from '../../db/queries/vehicles.ts'
import { createDeviceKey } from '../../ingest/authenticate.ts'
import {
  failures,
  id,
  list,
  ok,
  page,
  pageQuery,
  readPageCursor,
  success,
  writePageCursor,
} from '../envelope.ts'
import { invalid, notFound } from '../errors.ts'
import type { App, Services } from '../services.ts'
import { device, deviceChange, deviceWithKey, newDevice, rejectionCursor, rejections } from './schemas.ts'

const tags = ['Devices']
const params = z.object({ id })

export function deviceRoutes(app: App, { db }: Services): void {
  /** The device in the tenant's own transaction; 404 where it is not there or another organization's. */
  const inDevice = <T>(
    organizationId: string,
    deviceId: string,
    work: (tx: Queryable, found: Device) => Promise<T>,
  ) =>
    db.tenant(organizationId, async tx => {
      const found = isUuid(deviceId) ? await findDevice(tx, deviceId) : null
      if (!found) throw notFound('device')
      return work(tx, found)
    })

  const withLastSeen = async (organizationId: string, devices: Device[]) => {
    const ids = devices.map(({ _id }) => _id)
    const lastSeen = await listLastSeen(db.autocommit, organizationId, ids)
    return devices.map(found => ({ ...found, lastSeenAt: lastSeen.get(found._id) ?? null }))
  }

  const checkReferences = async (
    tx: Queryable,
    body: { vehicleId?: string | null; hubId?: string | null },
  ) => {
    if (body.hubId && !(isUuid(body.hubId) && (await findHub(tx, body.hubId, null)))) {
      throw invalid('hubId', 'There is no such hub.')
    }
    if (body.vehicleId && !(isUuid(body.vehicleId) && (await findVehicle(tx, body.vehicleId)))) {
      throw invalid('vehicleId', 'There is no such vehicle.')
    }
  }

  app.get(
    '/devices',
    {
      config: { access: 'view/device' },
      schema: {
        tags,
        summary: 'The devices of the organization, newest first',
        querystring: pageQuery,
        response: { 200: list(device), ...failures(400, 401, 403, 503) },
      },
    },
    async request => {
      const { limit, cursor } = request.query
      const { organizationId } = request.caller
      const before = readPageCursor(cursor, z.uuid())
      if (before === null) throw invalid('cursor', 'This is not a cursor of this list.')
      const [found, total] = await db.tenant(organizationId, async tx => [
        await listDevices(tx, { limit: limit + 1, before }),
        await countDevices(tx),
      ])
      const shown = found.slice(0, limit)
      const nextCursor = found.length > limit ? writePageCursor(shown.at(-1)?._id) : null
      return page(await withLastSeen(organizationId, shown), { limit, nextCursor, total })
    },
  )

  app.get(
    '/device/:id',
    {
      config: { access: 'view/device' },
      schema: {
        tags,
        summary: 'A device',
        params,
        response: { 200: success(device), ...failures(401, 403, 404, 503) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const found = await inDevice(organizationId, request.params.id, async (_tx, one) => one)
      const [shown] = await withLastSeen(organizationId, [found])
      return ok(shown as NonNullable<typeof shown>)
    },
  )

  app.post(
    '/device',
    {
      config: { access: 'create/device' },
      schema: {
        tags,
        summary: 'Make a device, with the key that it publishes with',
        body: newDevice,
        response: { 201: success(deviceWithKey), ...failures(400, 401, 403, 503) },
      },
    },
    async (request, reply) => {
      const { organizationId } = request.caller
      const { name, vehicleId = null, hubId = null } = request.body
      const { key, hash } = createDeviceKey()
      const made = await db.tenant(organizationId, async tx => {
        await checkReferences(tx, { vehicleId, hubId })
        const deviceId = await insertDevice(tx, { organizationId, name, hubId, keyHash: hash })
        if (vehicleId) await mountDevice(tx, organizationId, deviceId, vehicleId)
        return (await findDevice(tx, deviceId)) as Device
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
        summary: 'Change a device: its name, hub, or the vehicle it is mounted on',
        params,
        body: deviceChange,
        response: { 200: success(device), ...failures(400, 401, 403, 404, 503) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const { vehicleId, ...change } = request.body
      const changed = await inDevice(organizationId, request.params.id, async (tx, found) => {
        await checkReferences(tx, request.body)
        await updateDevice(tx, organizationId, found._id, change)
        if (vehicleId !== undefined && vehicleId !== found.vehicleId) {
          await mountDevice(tx, organizationId, found._id, vehicleId)
        }
        return (await findDevice(tx, found._id)) as Device
      })
      const [shown] = await withLastSeen(organizationId, [changed])
      return ok(shown as NonNullable<typeof shown>, 'Device changed')
    },
  )

  app.post(
    '/device/:id/rotate-key',
    {
      config: { access: 'update/device' },
      schema: {
        tags,
        summary: 'Replace the key of a device; its connections are closed',
        params,
        response: { 200: success(deviceWithKey), ...failures(401, 403, 404, 503) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const { key, hash } = createDeviceKey()
      const found = await inDevice(organizationId, request.params.id, async (tx, one) => {
        await updateDeviceKey(tx, organizationId, one._id, hash)
        return (await findDevice(tx, one._id)) as Device
      })
      const [shown] = await withLastSeen(organizationId, [found])
      return ok({ ...(shown as NonNullable<typeof shown>), key }, 'Key replaced')
    },
  )

  app.delete(
    '/device/:id',
    {
      config: { access: 'delete/device' },
      schema: {
        tags,
        summary: 'End a device: its connections are closed, its history stays',
        params,
        response: { 200: success(z.object({ _id: id })), ...failures(401, 403, 404, 503) },
      },
    },
    async request => {
      const { organizationId } = request.caller
      const deleted = await inDevice(organizationId, request.params.id, async (tx, found) => {
        await deleteDevice(tx, organizationId, found._id)
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
        summary: 'Points of the device that were refused, newest first, and how many by reason',
        params,
        querystring: pageQuery,
        response: { 200: rejections, ...failures(400, 401, 403, 404, 503) },
      },
    },
    async request => {
      const { limit, cursor } = request.query
      const before = readPageCursor(cursor, rejectionCursor)
      if (before === null) throw invalid('cursor', 'This is not a cursor of this list.')
      const found = await inDevice(request.caller.organizationId, request.params.id, (tx, { _id }) =>
        listRejections(tx, _id, { limit, before: before ?? null }),
      )
      const nextCursor = found.next && writePageCursor(found.next)
      return { ...page(found.rejections as never[], { limit, nextCursor }), counts: found.counts }
    },
  )
}
