import { describe, expect, it } from 'vitest'
import { type Client, createClient, readHistory, type TestDevice } from '../support/client.ts'
import { connectDevice } from '../support/mqtt.ts'
import { useOrganization } from '../support/shared-server.ts'
import { readTrackerPayloads } from '../support/trackers.ts'
import { until } from '../support/wait.ts'

const payloadOf = (name: string) => {
  const found = readTrackerPayloads().find(({ file }) => file === `trackers/${name}.json`)
  if (!found) throw new Error(`There is no ${name}`)
  return found
}
const plain = (from: string, more: object = {}) => ({ from: [from], ...more })
const profileOf = (topic: string, lat: string) => ({
  name: 'Pallets',
  topic,
  device: plain('$.topic[1]'),
  fields: { lat: plain(lat), lng: plain('$.payload.x'), timestamp: plain('$.payload.t') },
})

describe('A tracker with a format of its own, over MQTT with its own key', () => {
  const { server, owner } = useOrganization()

  async function addTracker(client: Client, profileId: string | null): Promise<TestDevice> {
    const answer = await client.post('/device', { name: 'Tracker', profileId })
    expect([answer.status, answer.body.errors]).toEqual([201, undefined])
    return { id: answer.body.data._id, key: answer.body.data.key }
  }
  const rejectionsOf = async (device: TestDevice) =>
    (await owner.get(`/device/${device.id}/rejections`)).body.counts as { [reason: string]: number }
  /** The same message, newer: points in the future are rejected. */
  const shifted = (payload: Uint8Array, from: number | null, ms: number) =>
    Buffer.from(payload).toString('utf8').replace(String(from), String(ms))

  it('is in the history: Teltonika, with what it answers and what it cannot mean', async () => {
    const device = await addTracker(owner, 'teltonika')
    const client = await connectDevice(server, device)
    const now = Date.now() - 5_000
    for (const [name, time] of [
      ['teltonika-fix', 1795164850000],
      ['teltonika-text-numbers', 1795164910000],
      ['teltonika-no-fix', 1795164790000],
      ['teltonika-response', null],
      ['teltonika-clock-2004', null],
    ] as const) {
      const { message } = payloadOf(name)
      const at = name === 'teltonika-fix' ? now - 1_000 : now
      await client.publishAsync(String(message.topic), shifted(message.payload, time, at), {
        qos: 1,
        retain: true,
      })
    }
    expect(client.connected).toBe(true)
    expect(await readHistory(owner, device.id)).toMatchObject([
      { lat: 54.687157, lng: 25.279652, speed: 15, heading: 271, altitude: 112, battery: 98 },
      { lat: 54.6868, lng: 25.2812, speed: 10, heading: 88, altitude: 110 },
    ])
    expect(await rejectionsOf(device)).toEqual({ 'too-old': 1 })
    await client.endAsync()
  })

  it('is one point, however many gateways hear it: Meshtastic', async () => {
    const device = await addTracker(owner, 'meshtastic')
    const client = await connectDevice(server, device)
    const now = Math.floor(Date.now() / 1000) - 5
    for (const name of [
      'position',
      'position-again',
      'position',
      'waypoint',
      'text',
      'telemetry',
      'zero',
      'no-longitude',
    ]) {
      const { message } = payloadOf(`meshtastic-${name}`)
      await client.publishAsync(String(message.topic), shifted(message.payload, 1795166058, now), { qos: 1 })
    }
    await client.publishAsync('msh/EU_868/2/e/LongFast/!7a1c90e2', Buffer.from([8, 1, 0xff]), { qos: 1 })
    const points = await readHistory(owner, device.id)
    expect(points).toMatchObject([
      { lat: 46.8182188, lng: 8.2275123, speed: 5, heading: 133.5, altitude: 612 },
    ])
    expect(points).toHaveLength(1)
    expect(await rejectionsOf(device)).toEqual({})
    await client.endAsync()
  })

  it('keeps its own topics, and may not use others', async () => {
    const device = await addTracker(owner, 'meshtastic')
    const client = await connectDevice(server, device)
    await client.publishAsync(
      `devices/${device.id}/location`,
      JSON.stringify({ lat: 1, lng: 2, timestamp: Date.now() }),
      {
        qos: 1,
      },
    )
    expect(await readHistory(owner, device.id)).toHaveLength(1)
    client.publish('trackers/other', '{}', { qos: 1 })
    await until('it is closed', () => !client.connected)
    client.end(true)
  })

  it('ends nothing by a message that no reader expects, as a will either', async () => {
    const device = await addTracker(owner, 'ttn')
    const topic = 'v3/a@b/devices/c/up'
    const odd = [
      { latitude: 1, longitude: 2, fix: { toString: 1 } },
      { latitude: { valueOf: 1 }, longitude: { toString: null } },
    ].map(payload => JSON.stringify(payload))
    const deep = `{"latitude":1,"longitude":2,"fix":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
    const payloads = [...odd, deep].map(
      payload => `{"end_device_ids":{"device_id":"c"},"uplink_message":{"decoded_payload":${payload}}}`,
    )
    const client = await connectDevice(server, device)
    for (const payload of payloads) await client.publishAsync(topic, payload, { qos: 1 })
    await client.endAsync()
    // A CONNECT has no room for the deep one.
    for (const payload of payloads.slice(0, odd.length)) {
      const will = { topic, payload: Buffer.from(payload), qos: 1 as const, retain: false }
      const willing = await connectDevice(server, device, { will })
      willing.stream.destroy()
      willing.end(true)
    }
    // The server is there, and takes what comes next.
    const next = await connectDevice(server, device)
    await next.publishAsync(topic, payloads[0] as string, { qos: 1 })
    await next.endAsync()
  })

  it('has no unit for its time that every object has', async () => {
    const profile = profileOf('pallets/+', '$.payload.y')
    const timestamp = plain('$.payload.t', { unit: 'valueOf' })
    const answer = await owner.post('/tracker-profile', {
      ...profile,
      fields: { ...profile.fields, timestamp },
    })
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, 'fields.timestamp.unit'])
  })

  it('without a profile may not use a profile’s topics, and with one has a will there', async () => {
    const device = await addTracker(owner, null)
    const client = await connectDevice(server, device)
    client.publish('msh/EU_868/2/json/LongFast/!7a1c90e2', '{}', { qos: 1 })
    await until('it is closed', () => !client.connected)
    client.end(true)
    const payload = Buffer.from(
      JSON.stringify({
        type: 'position',
        from: 1,
        payload: { latitude_i: 10, longitude_i: 20, time: Math.floor(Date.now() / 1000) },
      }),
    )
    const will = { topic: 'msh/x/json/y', payload, qos: 1 as const, retain: false }
    await expect(connectDevice(server, device, { will })).rejects.toThrow(/Not authorized/)
    await owner.patch(`/device/${device.id}`, { profileId: 'meshtastic' })
    const willing = await connectDevice(server, device, { will })
    willing.stream.destroy()
    await until('the will is stored', async () => (await readHistory(owner, device.id)).length === 1)
    willing.end(true)
  })

  it('follows its profile when that changes, and when the device gets another one', async () => {
    const { _id } = (await owner.post('/tracker-profile', profileOf('p/+', '$.payload.y'))).body.data
    const device = await addTracker(owner, _id)
    const client = await connectDevice(server, device)
    let t = Date.now() - 60_000
    const send = (topic: string) =>
      client.publishAsync(topic, JSON.stringify({ y: 1, z: 2, x: 3, t: t++ }), { qos: 1 })
    const latitudes = async () => (await readHistory(owner, device.id)).map(({ lat }) => lat)
    await send('p/1')
    expect(await latitudes()).toEqual([1])
    expect((await owner.put(`/tracker-profile/${_id}`, profileOf('p/+', '$.payload.z'))).status).toBe(200)
    await until('it reads by the change', async () => {
      await send('p/1')
      return (await latitudes()).at(-1) === 2
    })
    const other = (await owner.post('/tracker-profile', profileOf('p/#', '$.payload.x'))).body.data
    await owner.patch(`/device/${device.id}`, { profileId: other._id })
    await until('it reads by the other', async () => {
      await send('p/1')
      return (await latitudes()).at(-1) === 3
    })
    await send('p/1/2')
    expect(client.connected).toBe(true)
    await owner.patch(`/device/${device.id}`, { profileId: null })
    await until('it is closed', () => {
      if (client.connected) client.publish('p/1', '{}', { qos: 0 })
      return !client.connected
    })
    client.end(true)
  })

  it('has rejections with their reasons: what is no JSON, too many positions, too many steps', async () => {
    const profile = {
      ...profileOf('q/+', '$.item.y'),
      each: '$.payload.all',
      fields: {
        lat: plain('$.item.y'),
        lng: plain('$.item.x[*,*,*,*][*,*,*,*][*,*,*,*][*,*,*,*].v'),
        timestamp: plain('$.item.t'),
      },
    }
    const { _id } = (await owner.post('/tracker-profile', profile)).body.data
    const device = await addTracker(owner, _id)
    const client = await connectDevice(server, device)
    const rejections: { reason: string; index: number | null }[] = []
    client.on('message', (_topic, payload) => rejections.push(JSON.parse(payload.toString())))
    await client.subscribeAsync(`devices/${device.id}/rejections`, { qos: 1 })
    await client.publishAsync('q/1', 'no JSON', { qos: 1 })
    await client.publishAsync('q/1', JSON.stringify({ all: new Array(1001).fill({}) }), { qos: 1 })
    const nested = new Array(8).fill(new Array(8).fill(new Array(8).fill(new Array(8).fill(1))))
    await client.publishAsync('q/1', JSON.stringify({ all: [{ y: 1, x: nested }] }), { qos: 1 })
    await client.publishAsync(
      'q/1',
      JSON.stringify({ all: [{ y: 1, x: [[[[{ v: 91.5 }]]]], t: Date.now() }, { y: 'north' }] }),
      { qos: 1 },
    )
    await until('all are told', () => rejections.length === 4)
    expect(rejections.map(({ reason, index }) => [reason, index])).toEqual([
      ['not-json', null],
      ['too-many', null],
      ['bad-shape', null],
      ['bad-coordinates', 1],
    ])
    expect(await readHistory(owner, device.id)).toMatchObject([{ lat: 1, lng: 91.5 }])
    await client.endAsync()
  })

  it('has a profile that stays while it is used, and references that nobody else has', async () => {
    const { _id } = (await owner.post('/tracker-profile', profileOf('r/+', '$.payload.y'))).body.data
    const references = ['352093081452251', 'AA-bb ']
    const device = (await owner.post('/device', { name: 'One', profileId: _id, references })).body.data
    expect(device).toMatchObject({ profileId: _id, references: ['352093081452251', 'AA-bb'] })
    expect((await owner.get(`/device/${device._id}`)).body.data).toMatchObject({
      profileId: _id,
      references: device.references,
    })
    expect((await owner.post('/device', { name: 'Two', references: ['aa-BB'] })).body.code).toBe('not-unique')
    const wrong: [string, object][] = [
      ['references', { references: ['x', 'X'] }],
      ['references.0', { references: [''] }],
      ['references.0', { references: ['x'.repeat(129)] }],
      ['references', { references: ['1', '2', '3', '4', '5', '6', '7', '8', '9'] }],
      ['profileId', { profileId: 'unheard-of' }],
      ['profileId', { profileId: crypto.randomUUID() }],
    ]
    for (const [path, body] of wrong) {
      const answer = await owner.post('/device', { name: 'Wrong', ...body })
      expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path])
    }
    expect((await owner.delete(`/tracker-profile/${_id}`)).body.code).toBe('in-use')
    const changed = await owner.patch(`/device/${device._id}`, { references: ['new'] })
    expect(changed.body.data.references).toEqual(['new'])
    // A deleted device uses nothing, and others may have its references.
    await owner.delete(`/device/${device._id}`)
    expect((await owner.post('/device', { name: 'Two', references: ['NEW'] })).status).toBe(201)
    expect((await owner.delete(`/tracker-profile/${_id}`)).status).toBe(200)
    expect((await createClient(server, 'none').get('/tracker-profiles')).status).toBe(401)
  })
})
