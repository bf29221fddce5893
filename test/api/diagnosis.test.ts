import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import mqtt, { type IClientOptions } from 'mqtt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { CAUSES } from '../../src/resources/devices/causes.ts'
import { connectPacket, openRaw } from '../ingest/raw.ts'
import { type Client, createClient, createDevice, type TestDevice } from '../support/client.ts'
import { addConnection, connectGateway, traccarFix } from '../support/connections.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { addHub, addPerson, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { letBeSilent } from '../support/silent-device.ts'
import { until } from '../support/wait.ts'

const CERTIFICATE = resolve(import.meta.dirname, '../data/tls/first-cert.pem')
const MINUTE_MS = 60_000

describe.runIf(usualKind() === 'postgres')('Why a device is not on the map', () => {
  const { server, database, owner, organization } = useOrganization()
  let db: Database
  beforeAll(async () => {
    db = await openTestDatabase(database)
  })
  afterAll(() => db.close())

  const diagnose = async (device: { id: string }, query = '', client: Client = owner) => {
    const { status, body } = await client.get(`/device/${device.id}/diagnosis${query}`)
    expect(status).toBe(200)
    return body.data
  }
  const first = async (device: { id: string }, query = '', client?: Client) =>
    (await diagnose(device, query, client)).causes[0]
  const named = async (device: { id: string }, query = '', client?: Client): Promise<string> =>
    (await first(device, query, client))?.cause

  const signInAs = async (options: IClientOptions) => {
    const url = `mqtt://127.0.0.1:${server.mqttPort}`
    const usual = { protocolVersion: 4, reconnectPeriod: 0, connectTimeout: 60_000 } as const
    await expect(mqtt.connectAsync(url, { ...usual, ...options }, false)).rejects.toThrow()
  }
  const send = async (device: TestDevice, point: unknown) => {
    const client = await connectDevice(server, device)
    await publish(client, device, point)
    await client.endAsync()
  }
  /** Lets a connection end by what it publishes. */
  const publishUntilClosed = async (device: TestDevice, topic: string, payload: Buffer | string = '{}') => {
    const client = await connectDevice(server, device)
    const closed = new Promise<void>(resolve => client.on('close', () => resolve()))
    client.publish(topic, payload, { qos: 1 }, () => {})
    await closed
  }
  const now = () => new Date().toISOString()
  const agoMs = (ms: number) => new Date(Date.now() - ms).toISOString()
  it('is nothing for one that reports', async () => {
    const device = await createDevice(owner)
    await send(device, { lat: 52, lng: 13, timestamp: now() })
    await until('it is stored', async () => (await diagnose(device)).isOnMap)
    expect(await diagnose(device)).toEqual({ isOnMap: true, causes: [] })
  })

  it('is that it has never connected', async () => {
    const device = await createDevice(owner)
    expect(await first(device)).toMatchObject({ cause: 'never-connected', at: null })
  })

  it.each<[cause: string, with_: (device: TestDevice, other: TestDevice) => Promise<unknown>]>([
    ['wrong-key', ({ id }) => signInAs({ username: id, password: 'fld_wrong' })],
    [
      'replaced-key',
      async ({ id, key }) => {
        await owner.post(`/device/${id}/rotate-key`)
        await signInAs({ username: id, password: key })
      },
    ],
    [
      // An app names no device: the key alone tells.
      'replaced-key',
      async ({ id, key }) => {
        await owner.post(`/device/${id}/rotate-key`)
        expect((await createClient(server, key).post('/ingest/overland', { locations: [] })).status).toBe(401)
      },
    ],
    ['other-key', ({ id }, other) => signInAs({ username: id, password: other.key })],
    ['wrong-name', ({ key }) => signInAs({ username: 'van-12', password: key })],
    [
      'wrong-will',
      device => {
        const will = { topic: 'elsewhere', payload: Buffer.from('x'), qos: 0, retain: false } as const
        return signInAs({ username: device.id, password: device.key, will })
      },
    ],
    ['wrong-topic', device => publishUntilClosed(device, 'trackers/van-12')],
    ['too-large', device => publishUntilClosed(device, 'x', Buffer.alloc(300 * 1024))],
    [
      'broken-rule',
      async ({ id, key }) => {
        const client = openRaw(server.mqttPort)
        client.send(connectPacket({ clientId: 'one', username: id, password: key }))
        await client.next('connack')
        // A second CONNECT is one too many.
        client.send(connectPacket({ clientId: 'one', username: id, password: key }))
        await client.closed
      },
    ],
    ['not-json', device => send(device, '<xml/>')],
    ['bad-shape', device => send(device, '7')],
    ['bad-coordinates', device => send(device, { lat: 91, lng: 13, timestamp: now() })],
    ['no-fix', device => send(device, { lat: 0, lng: 0, timestamp: now() })],
    ['bad-timestamp', device => send(device, { lat: 52, lng: 13, timestamp: 'noon' })],
    ['clock-ahead', device => send(device, { lat: 52, lng: 13, timestamp: agoMs(-60 * MINUTE_MS) })],
    ['clock-behind', device => send(device, { lat: 52, lng: 13, timestamp: '2001-01-01T00:00:00Z' })],
    ['too-many', device => send(device, Array(1_001).fill({ lat: 52, lng: 13, timestamp: 1_700_000_000 }))],
    ['clock-late', device => send(device, { lat: 52, lng: 13, timestamp: agoMs(60 * MINUTE_MS) })],
    [
      'encrypted',
      async device => {
        const client = await connectDevice(server, device)
        const sealed = JSON.stringify({ _type: 'encrypted', data: 'c2VjcmV0' })
        await client.publishAsync('owntracks/me/phone', sealed, { qos: 1 })
        await client.endAsync()
      },
    ],
    [
      'conflict',
      async device => {
        const timestamp = agoMs(30 * MINUTE_MS)
        await send(device, { lat: 52, lng: 13, timestamp })
        await send(device, { lat: 53, lng: 13, timestamp })
      },
    ],
    ['no-points', async device => (await connectDevice(server, device)).endAsync()],
    [
      'certificate-expired',
      async ({ id }) => {
        await owner.patch(`/device/${id}`, { certificate: readFileSync(CERTIFICATE, 'utf8') })
        const set = `UPDATE devices SET certificate_expires_at = now() - interval '1 day' WHERE id = $1`
        await db.system.query(set, [id])
      },
    ],
    [
      'silent',
      async device => {
        await send(device, { lat: 52, lng: 13, timestamp: now() })
        await until('it is stored', async () => (await diagnose(device)).isOnMap)
        await letBeSilent(db, device.id, async () => (await named(device)) !== 'no-points')
      },
    ],
    [
      'battery-empty',
      async device => {
        await send(device, { lat: 52, lng: 13, timestamp: now(), battery: 3 })
        await until('it is stored', async () => (await diagnose(device)).isOnMap)
        await letBeSilent(db, device.id, async () => (await named(device)) !== 'no-points')
      },
    ],
    ['deleted', ({ id }) => owner.delete(`/device/${id}`)],
  ])('is %s', async (cause, inject) => {
    const [device, other] = [await createDevice(owner), await createDevice(owner)]
    await inject(device, other)
    await until(`${cause} is named`, async () => (await named(device)) === cause)
    const { message, at } = await first(device)
    expect(message).toBe(CAUSES[cause as keyof typeof CAUSES])
    expect(at).not.toBeNull()
  })

  it('tells from where and how often a wrong key came, and forgets it at the next right one', async () => {
    const device = await createDevice(owner)
    for (let n = 0; n < 3; n++) await signInAs({ username: device.id, password: 'fld_wrong' })
    await until('all are counted', async () => (await first(device)).count === 3)
    expect(await first(device)).toMatchObject({ cause: 'wrong-key', address: '127.0.0.1' })
    await send(device, { lat: 52, lng: 13, timestamp: now() })
    await until('it is on the map', async () => (await diagnose(device)).isOnMap)
  })

  it('shows what was rejected, to those who see positions', async () => {
    const device = await createDevice(owner)
    await send(device, { lat: 91, lng: 13, timestamp: now() })
    await until('it is named', async () => (await named(device)) === 'bad-coordinates')
    expect((await first(device)).payload).toContain('91')
    const role = await owner.post('/role', {
      name: 'Sees devices',
      permissionDetails: [{ permissionName: 'view/device', scope: 'all' }],
    })
    const person = await addPerson(server, owner, { roleId: role.body.data._id, hubId: organization.hubIds })
    const { causes } = await diagnose(device, '', person.client)
    expect(causes.map(({ cause }: { cause: string }) => cause)).toEqual([
      'role-without-positions',
      'bad-coordinates',
    ])
    expect(causes[1].payload).toBeNull()
  })

  it('is the role or hub of a user whom one may see', async () => {
    const [north, south] = [await addHub(owner, 'North'), await addHub(owner, 'South')]
    const [device, mounted] = [await createDevice(owner), await createDevice(owner)]
    await owner.patch(`/device/${device.id}`, { hubId: north })
    const van = await owner.post('/vehicle', { name: 'Van', hubId: north, deviceId: mounted.id })
    const planner = await addPerson(server, owner, { hubId: [south] })
    const field = await addPerson(server, owner, {
      roleId: await roleId(owner, 'Field user'),
      hubId: [north],
    })
    expect(await named(device, `?userId=${planner.userId}`)).toBe('hub-out-of-sight')
    expect(await first(mounted, `?userId=${planner.userId}`)).toMatchObject({
      cause: 'vehicle-out-of-sight',
      detail: 'Van',
    })
    expect(await named(device, `?userId=${field.userId}`)).toBe('role-with-few-positions')
    await owner.patch(`/user/${field.userId}`, { status: 'suspended' })
    expect(await named(device, `?userId=${field.userId}`)).toBe('user-not-active')

    await send(mounted, { lat: 52, lng: 13, timestamp: now() })
    await until('it is stored', async () => (await diagnose(mounted)).isOnMap)
    await owner.patch(`/vehicle/${van.body.data._id}`, { deviceId: null })
    expect(await named(mounted, `?userId=${planner.userId}`)).toBe('fix-out-of-sight')

    // A planner sees no users, and no device of another hub.
    const asked = await planner.client.get(`/device/${mounted.id}/diagnosis?userId=${field.userId}`)
    expect(asked.status).toBe(403)
    expect((await planner.client.get(`/device/${device.id}/diagnosis`)).status).toBe(404)
  })

  it('is that nobody is bound to the hub of its vehicle', async () => {
    const hubId = await addHub(owner, 'Nobody’s')
    const device = await createDevice(owner)
    await owner.post('/vehicle', { name: 'Van', hubId, deviceId: device.id })
    const { causes } = await diagnose(device)
    expect(causes.at(-1).cause).toBe('hub-without-users')
  })

  it('is a profile that does not fit, or says that there is no position', async () => {
    const device = await createDevice(owner)
    await owner.patch(`/device/${device.id}`, { profileId: 'traccar' })
    const client = await connectDevice(server, device)
    await client.publishAsync('traccar/positions', '{"position":{"latitude":91}}', { qos: 1 }).catch(() => {})
    await until('it is named', async () => (await named(device)) === 'profile-does-not-read')
    await client.endAsync()

    const other = await createDevice(owner)
    await owner.patch(`/device/${other.id}`, { profileId: 'ttn' })
    const gateway = await connectDevice(server, other)
    const join = JSON.stringify({ end_device_ids: { device_id: 'a' }, join_accept: { session_key_id: 'x' } })
    await gateway.publishAsync('v3/app@ttn/devices/a/join', join, { qos: 1 }).catch(() => {})
    await until('it is named', async () => (await named(other)) === 'no-position')
    await gateway.endAsync()
  })

  it('is the connection that carries it', async () => {
    const carried = async (reference: string) => {
      const connection = await addConnection(owner, { kind: 'mqtt' })
      const device = await createDevice(owner)
      await owner.patch(`/device/${device.id}`, { references: [reference] })
      return { connection, device }
    }
    const { connection, device } = await carried('imei-1')
    const gateway = await connectGateway(server, connection)
    const topic = 'traccar/positions'
    await gateway.publishAsync(topic, traccarFix('imei-1', Date.now() - 60 * MINUTE_MS), { qos: 1 })
    await until('it came late', async () => (await named(device)) === 'clock-late')
    await owner.patch(`/connection/${connection._id}`, { isActive: false })
    expect(await first(device)).toMatchObject({ cause: 'connection-stopped', connectionId: connection._id })
    await owner.delete(`/connection/${connection._id}`)
    expect(await named(device)).toBe('connection-deleted')
    gateway.end(true)

    const lost = await createDevice(owner)
    await owner.patch(`/device/${lost.id}`, { references: ['imei-2'] })
    expect(await named(lost)).toBe('no-connection')
    const other = await addConnection(owner, { kind: 'mqtt' })
    const sender = await connectGateway(server, other)
    await sender.publishAsync(topic, traccarFix('imei-3', Date.now()), { qos: 1 })
    await until('it is named', async () => (await named(lost)) === 'reference-unknown')
    expect((await first(lost)).detail).toContain('imei-3')
    await sender.endAsync()
    await owner.delete(`/connection/${other._id}`)

    const broker = { url: 'mqtt://203.0.113.1:1883', topics: ['#'] }
    const away = await addConnection(owner, { kind: 'broker', broker })
    const set = `UPDATE connection_states SET state = $2, last_error = 'Refused.' WHERE connection_id = $1`
    const name = async (state: string) => {
      await db.system.query(set, [away._id, state])
      return (await named(lost)) === (state === 'failed' ? 'connection-failed' : 'connection-waiting')
    }
    await until('it has failed', () => name('failed'))
    await until('it waits', () => name('connecting'))
    await owner.delete(`/connection/${away._id}`)
  })

  it('is the accuracy of its last points', async () => {
    await owner.patch('/organization', { settings: { maxAccuracy: 50 } })
    const inaccurate = await createDevice(owner)
    // Points sent at the same moment may still be judged by the previous settings, and are fixes then.
    await until('a point is judged', async () => {
      const probe = await createDevice(owner)
      await send(probe, { lat: 52, lng: 13, timestamp: agoMs(30 * MINUTE_MS), accuracy: 900 })
      const read = `/location-histories?deviceId=${probe.id}&includeAnomalies=true`
      return (await owner.get(read)).body.data[0]?.anomaly === 'accuracy'
    })
    await send(inaccurate, { lat: 52, lng: 13, timestamp: agoMs(30 * MINUTE_MS), accuracy: 900 })
    await until('it is named', async () => (await named(inaccurate)) === 'inaccurate')
  })

  it('knows where a device was mounted since when, and how regularly it reports', async () => {
    const device = await createDevice(owner)
    const van = await owner.post('/vehicle', { name: 'Van', deviceId: device.id })
    await owner.delete(`/vehicle/${van.body.data._id}`)
    const truck = await owner.post('/vehicle', { name: 'Truck', deviceId: device.id })
    const mounts = (await owner.get(`/device/${device.id}/mounts`)).body.data
    expect(mounts).toMatchObject([
      { vehicleId: truck.body.data._id, vehicleName: 'Truck', unmountedAt: null },
      { vehicleId: null, vehicleName: null },
    ])
    const hour = Date.now() - (Date.now() % (60 * MINUTE_MS)) - 120 * MINUTE_MS
    const at = (seconds: number, battery: number) => ({
      ...{ lat: 52, lng: 13, battery },
      timestamp: new Date(hour + seconds * 1_000).toISOString(),
    })
    await send(device, [at(0, 80), at(10, 79), at(610, 70)])
    const read = async () => (await owner.get(`/device/${device.id}/activity`)).body.data
    await until('they are stored', async () => (await read()).length > 0)
    expect(await read()).toEqual([
      { from: new Date(hour).toISOString(), points: 3, battery: 70, longestGapS: 600 },
    ])
    const planner = await addPerson(server, owner, { hubId: [await addHub(owner)] })
    const hubId = await addHub(owner)
    await owner.patch(`/vehicle/${truck.body.data._id}`, { hubId })
    const within = await addPerson(server, owner, { hubId: [hubId] })
    // A fix from before it was mounted belongs to no hub.
    expect((await within.client.get(`/device/${device.id}/activity`)).body.data).toEqual(await read())
    expect((await within.client.get(`/device/${device.id}/mounts`)).body.data).toHaveLength(2)
    for (const what of ['mounts', 'activity'])
      expect((await planner.client.get(`/device/${device.id}/${what}`)).status).toBe(404)
  })
})
