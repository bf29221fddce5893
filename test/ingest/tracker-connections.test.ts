import { describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { createDevice, readHistory } from '../support/client.ts'
import {
  addConnection,
  connectGateway,
  readConnection,
  readUnknown,
  type TestConnection,
  traccarFix,
} from '../support/connections.ts'
import { openTestDatabase } from '../support/database.ts'
import { hold } from '../support/hold.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { addHub, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until, untilTold } from '../support/wait.ts'

/** Whether a statement like this waits for a lock. */
const isWaiting = async (db: Database, statement: string) =>
  (
    await db.system.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`,
      [statement],
    )
  ).length > 0

const basic = (password: string) => `Basic ${Buffer.from(`any:${password}`).toString('base64')}`

describe('A connection for trackers', () => {
  const { server, database, owner, organization } = useOrganization()

  const send = (
    { _id }: { _id: string },
    body: string,
    headers: Record<string, string> = {},
    query = '',
  ): Promise<Response> =>
    fetch(`${server.url}/api/v3/ingest/connection/${_id}${query}`, { method: 'POST', headers, body })
  const bearer = ({ key }: TestConnection) => ({ authorization: `Bearer ${key}` })
  const adopt = (connection: { _id: string }, ...references: string[]) =>
    owner.post(`/connection/${connection._id}/adopt`, { references })

  it('takes requests under its key, wherever the sender can put it, and nobody else’s', async () => {
    const connection = await addConnection(owner, { kind: 'http', headerName: 'X-Our-Key' })
    const other = await addConnection(owner, { kind: 'http' })
    const { key } = connection
    const body = traccarFix('ways-in', Date.now())
    const ways: [Record<string, string>, string][] = [
      [{ authorization: `Bearer ${key}` }, ''],
      [{ authorization: basic(key) }, ''],
      [{}, `?key=${key}&more=1`],
      [{ 'x-our-key': key }, ''],
    ]
    for (const [headers, query] of ways) {
      const answer = await send(connection, body, headers, query)
      expect([answer.status, await answer.text()]).toEqual([200, '{}'])
      expect((await send(other, body, headers, query)).status).toBe(401)
    }
    expect((await send(connection, body, { authorization: `Bearer ${owner.token}` })).status).toBe(404)
    const got = await fetch(
      `${server.url}/api/v3/ingest/connection/${connection._id}?key=${key}&id=by-address&lat=52&lon=13&timestamp=${Math.floor(Date.now() / 1000)}`,
    )
    expect([got.status, await got.text()]).toEqual([200, '{}'])
    await until(
      'all are counted',
      async () => (await readConnection(owner, connection)).counts.messages === 5,
    )
    const messages = await owner.get(`/connection/${connection._id}/messages`)
    expect(messages.body.data[0].outcome).toEqual({
      points: 0,
      skipped: null,
      rejected: [{ reason: 'unknown-device', message: 'No device has the reference by-address.' }],
    })
    expect(JSON.stringify(messages.body)).not.toContain(key)
    expect(JSON.stringify(messages.body)).toContain('"more":"1"')
    const [entry] = (await owner.get('/audit-log?limit=1')).body.data
    expect(entry).toMatchObject({ action: 'create', resource: 'connection' })
  })

  it('keeps what comes from references that no device has, and adoption stores each point once', async () => {
    const hubId = await addHub(owner, 'Depot')
    const connection = await addConnection(owner, { kind: 'http', hubId })
    const begin = Date.now() - 3_600_000
    const sent = Array.from({ length: 120 }, (_, n) => traccarFix('ABC-1', begin + n * 1_000, 50 + n / 100))
    // Twice, as after an answer that was lost.
    await Promise.all([...sent, ...sent.slice(-5)].map(body => send(connection, body, bearer(connection))))
    await send(connection, traccarFix('other', begin), bearer(connection))
    const unknown = await readUnknown(owner, connection)
    expect(unknown.get('ABC-1')).toMatchObject({ messages: 125, lastPoint: { lat: 51.19 } })
    expect((await adopt(connection, 'nobody')).body).toMatchObject({
      code: 'invalid-input',
      errors: [{ path: 'references.0', code: 'not-found' }],
    })
    // One that dropped out of the list meanwhile keeps nobody else from being adopted.
    const [first, second] = await Promise.all([
      adopt(connection, 'nobody', 'abc-1'),
      adopt(connection, 'ABC-1'),
    ])
    expect([first.body.data.length, second.body.data.length]).toEqual([1, 1])
    const [one, two] = [first.body.data[0], second.body.data[0]]
    expect(one.deviceId).toBe(two.deviceId)
    expect(one.points + two.points).toBe(100)
    const device = (await owner.get(`/device/${one.deviceId}`)).body.data
    expect(device).toMatchObject({ name: 'ABC-1', hubId })
    // Messages that come now are the device's, in any case.
    await send(connection, traccarFix('abc-1', begin + 200_000), bearer(connection))
    await until('all is in the history', async () => (await readHistory(owner, one.deviceId)).length === 101)
    const lats = (await readHistory(owner, one.deviceId)).map(({ lat }) => lat)
    expect(lats).toEqual([...Array.from({ length: 100 }, (_, n) => 50 + (n + 20) / 100), 52])
    expect([...(await readUnknown(owner, connection)).keys()]).toEqual(['other'])
  })

  it('adopts a reference that somebody else gives a device at the same moment', async () => {
    const db = await openTestDatabase(database)
    const connection = await addConnection(owner, { kind: 'http' })
    const begin = Date.now() - 3_600_000
    for (const reference of ['meeting', 'beside'])
      await send(connection, traccarFix(reference, begin), bearer(connection))
    const device = await createDevice(owner)
    const release = await hold(
      db,
      `INSERT INTO device_references (organization_id, folded, reference, device_id, place) VALUES ($1, $2, $2, $3, 0)`,
      [organization.organizationId, 'meeting', device.id],
    )
    const answering = adopt(connection, 'beside', 'meeting')
    await until('they meet', () => isWaiting(db, 'INSERT INTO device_references%'))
    await release()
    const { status, body } = await answering
    expect([status, body.data]).toEqual([
      200,
      [
        { reference: 'beside', deviceId: expect.any(String), points: 1 },
        { reference: 'meeting', deviceId: device.id, points: 1 },
      ],
    ])
    for (const { deviceId } of body.data)
      await until('it is in the history', async () => (await readHistory(owner, deviceId)).length === 1)
    // The first attempt has left nothing behind.
    expect((await owner.get('/devices?search=beside')).body.data).toHaveLength(1)
    expect((await owner.get('/devices?search=meeting')).body.data).toEqual([])
    await db.close()
  })

  /** Deletes a connection, which answers 503 as long as its points are on their way. */
  const untilDeleted = ({ _id }: { _id: string }) =>
    until('it is deleted', async () => {
      const { status } = await owner.delete(`/connection/${_id}`)
      expect([200, 503]).toContain(status)
      return status === 200
    })

  it('is deleted when what it keeps of a device is in the history', async () => {
    const connection = await addConnection(owner, { kind: 'http' })
    const begin = Date.now() - 3_600_000
    for (const at of [0, 1_000, 2_000])
      await send(connection, traccarFix('registered', begin + at), bearer(connection))
    const device = await owner.post('/device', { name: 'Registered', references: ['registered'] })
    await untilDeleted(connection)
    expect(await readHistory(owner, device.body.data._id)).toHaveLength(3)
  })

  it('is not deleted while adopted points cannot be stored', async () => {
    const db = await openTestDatabase(database)
    const connection = await addConnection(owner, { kind: 'http' })
    const path = `/connection/${connection._id}`
    const begin = Date.now() - 3_600_000
    for (const reference of ['stuck', 'behind', 'of nobody'])
      await send(connection, traccarFix(reference, begin), bearer(connection))
    const release = await hold(db, 'LOCK TABLE points IN ACCESS EXCLUSIVE MODE')
    const first = (await adopt(connection, 'stuck')).body.data
    await until('its point is on its way', () => isWaiting(db, '%points%'))
    const second = (await adopt(connection, 'behind')).body.data
    const refused = await owner.delete(path)
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
      ...[503, 'unavailable', '5'],
    ])
    expect([...(await readUnknown(owner, connection)).keys()]).toEqual(['of nobody'])
    await release()
    await untilDeleted(connection)
    expect((await owner.get(path)).status).toBe(404)
    for (const { deviceId } of [...first, ...second])
      expect(await readHistory(owner, deviceId)).toHaveLength(1)
    await db.close()
  })

  it('creates devices itself where it is told to, and says what is wrong with their points there', async () => {
    const connection = await addConnection(owner, { kind: 'http', createDevices: true })
    await send(connection, traccarFix('made', Date.now()), bearer(connection))
    await send(connection, traccarFix('made', Date.now() + 3_600_000), bearer(connection))
    const [device] = (await owner.get('/devices?search=made')).body.data
    expect(await readHistory(owner, device._id)).toHaveLength(1)
    expect((await owner.get(`/device/${device._id}/rejections`)).body.counts).toEqual({ future: 1 })
    expect((await readUnknown(owner, connection)).size).toBe(0)
  })

  it('shows parameters as they came, whatever they hold, but for what cannot be stored', async () => {
    const connection = await addConnection(owner, { kind: 'http' })
    const values = ['\\u0000', '\\ud800', 'a\0b', '"\\"', '\ufffd']
    for (const value of values)
      expect(
        (await send(connection, '{}', bearer(connection), `?x=${encodeURIComponent(value)}`)).status,
      ).toBe(200)
    await until(
      'all are counted',
      async () => (await readConnection(owner, connection)).counts.messages === values.length,
    )
    const { data } = (await owner.get(`/connection/${connection._id}/messages`)).body
    const shown = data.map(({ query }: { query: { x: string } }) => query.x)
    expect(new Set(shown)).toEqual(new Set(values.map(value => value.replace('\0', ''))))
  })

  it('names a device by its reference without what hides or turns letters, and still finds it by all of it', async () => {
    const connection = await addConnection(owner, { kind: 'http', createDevices: true })
    const references = ['spoken \u202ebackwards\u2069\n', 'zero\u200bwidth', '\u200b\u2060']
    const now = Date.now()
    for (const reference of references)
      for (const at of [1_000, 2_000])
        await send(connection, traccarFix(reference, now - at), bearer(connection))
    const devices: { _id: string; name: string; references: string[] }[] = (
      await owner.get('/devices?limit=500')
    ).body.data
    const made = devices.filter(device => references.some(one => device.references.includes(one.trim())))
    expect(made.map(({ name }) => name).sort()).toEqual([
      '%E2%80%8B%E2%81%A0',
      'spoken backwards',
      'zerowidth',
    ])
    for (const { _id, name } of made) {
      expect((await owner.patch(`/device/${_id}`, { name })).status).toBe(200)
      expect(await readHistory(owner, _id)).toHaveLength(2)
    }
  })

  it('takes MQTT under its key, acknowledges what is stored, and lets it subscribe to nothing', async () => {
    const connection = await addConnection(owner, { kind: 'mqtt', profileId: 'traccar', createDevices: true })
    const client = await connectGateway(server, connection)
    const begin = Date.now() - 1_000_000
    await Promise.all(
      Array.from({ length: 200 }, (_, n) =>
        client.publishAsync(`site/${n}`, traccarFix(`mqtt-${n % 4}`, begin + n * 1_000), { qos: 1 }),
      ),
    )
    const { body } = await owner.get('/devices?search=mqtt-&sort=name')
    const found = await Promise.all(body.data.map(({ _id }: { _id: string }) => readHistory(owner, _id)))
    expect(found.map(points => points.length)).toEqual([50, 50, 50, 50])
    expect(await client.subscribeAsync('#').catch(error => error.message)).toMatch(/Unspecified|128/)
    await client.publishAsync('$SYS/broker/connection/bridge/state', '1', { qos: 1, retain: true })
    const closed = new Promise<void>(resolve => client.once('close', resolve))
    await untilTold(async () => {
      await owner.post(`/connection/${connection._id}/rotate-key`)
      await closed
    })
    await expect(connectGateway(server, connection)).rejects.toThrow(/Not authorized/)
  })

  it('closes its clients when it is stopped or deleted, and a client that publishes elsewhere', async () => {
    const connection = await addConnection(owner, { kind: 'mqtt', profileId: 'flespi' })
    const closedAfter = async (work: (client: Awaited<ReturnType<typeof connectGateway>>) => unknown) => {
      const client = await connectGateway(server, connection)
      const closed = new Promise<void>(resolve => client.once('close', resolve))
      await untilTold(async () => {
        await work(client)
        await closed
      })
    }
    await closedAfter(client => void client.publish('elsewhere', '{}', { qos: 1 }))
    await until('it says so', async () =>
      /published to elsewhere/.test((await readConnection(owner, connection)).lastError ?? ''),
    )
    await closedAfter(() => owner.patch(`/connection/${connection._id}`, { isActive: false }))
    expect((await readConnection(owner, connection)).state).toBe('stopped')
    await owner.patch(`/connection/${connection._id}`, { isActive: true })
    await closedAfter(() => owner.delete(`/connection/${connection._id}`))
  })

  it('is seen by those of its hub alone, and lets nobody create devices who may not', async () => {
    const [here, there] = [await addHub(owner, 'Here'), await addHub(owner, 'There')]
    const connection = await addConnection(owner, { kind: 'http', hubId: there })
    const permissionDetails = ['view', 'create', 'update'].map(action => ({
      permissionName: `${action}/connection`,
    }))
    const role = await owner.post('/role', { name: 'Connections', permissionDetails })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id, hubId: [here] })
    expect((await client.get(`/connection/${connection._id}`)).status).toBe(404)
    for (const path of ['unknown', 'messages'])
      expect((await client.get(`/connection/${connection._id}/${path}`)).status).toBe(404)
    const given = { name: 'Mine', kind: 'http', profileId: 'traccar', hubId: here }
    expect((await client.post('/connection', { ...given, createDevices: true })).status).toBe(403)
    expect((await client.post('/connection', { ...given, hubId: there })).status).toBe(400)
    const own = (await client.post('/connection', given)).body.data
    expect((await client.post(`/connection/${own._id}/adopt`, { references: ['any'] })).status).toBe(403)
  })

  it('shows no position to a role that sees the connection and no positions', async () => {
    const connection = await addConnection(owner, { kind: 'http' })
    await send(connection, traccarFix('hidden', Date.now()), bearer(connection))
    await until('it is counted', async () => (await readConnection(owner, connection)).counts.messages === 1)
    const permissionDetails = [{ permissionName: 'view/connection' }]
    const role = await owner.post('/role', { name: 'Network', permissionDetails })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
    // Somebody of one hub sees the positions of that hub alone.
    const hubId = [await addHub(owner, 'Of one')]
    const bound = [...permissionDetails, { permissionName: 'view/location' }]
    const ofHub = await owner.post('/role', { name: 'Network of a hub', permissionDetails: bound })
    const local = (await addPerson(server, owner, { roleId: ofHub.body.data._id, hubId })).client
    expect((await local.get(`/connection/${connection._id}/messages`)).body.data[0].payload).toBeNull()
    const { body: messages } = await client.get(`/connection/${connection._id}/messages`)
    expect(messages.data).toMatchObject([{ payload: null, query: null, outcome: { points: 0 } }])
    const { body: unknown } = await client.get(`/connection/${connection._id}/unknown`)
    expect(unknown.data).toMatchObject([{ reference: 'hidden', messages: 1, lastPoint: null }])
  })

  it('holds up no native device with 10,000 messages of 5,000 unknown references', async () => {
    const connection = await addConnection(owner, { kind: 'mqtt' })
    const gateway = await connectGateway(server, connection)
    const device = await createDevice(owner)
    const native = await connectDevice(server, device)
    const begin = Date.now() - 1_000_000
    let sending = true
    const sent = Promise.all(
      Array.from({ length: 10_000 }, (_, n) =>
        gateway.publishAsync('any', traccarFix(`ref-${n % 5_000}`, begin + n), { qos: 1 }),
      ),
    ).finally(() => {
      sending = false
    })
    let acknowledged = 0
    for (; sending; acknowledged++)
      await publish(native, device, { lat: 52, lng: 13, timestamp: begin + acknowledged })
    await sent
    // One after the other, each in its turn between the others.
    expect(acknowledged).toBeGreaterThan(100)
    expect((await readUnknown(owner, connection)).size).toBe(1_000)
  })
})
