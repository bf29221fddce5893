import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, inject, it } from 'vitest'
import { createDevice, readHistory } from '../support/client.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until, untilTold } from '../support/wait.ts'

const run = promisify(execFile)

describe('A device over MQTT', () => {
  const { server, owner } = useOrganization()

  it.each([0, 1, 2] as const)('publishes with QoS %d, and the point is in the history', async qos => {
    const device = await createDevice(owner)
    const client = await connectDevice(server, device)
    const timestamp = new Date(Date.now() - 1000).toISOString()
    await publish(
      client,
      device,
      { lat: 52.5, lng: 13.4, timestamp, speed: 3.5, heading: 360, battery: 140 },
      qos,
    )
    if (qos === 0) await until('stored', async () => (await readHistory(owner, device.id)).length === 1)
    expect(await readHistory(owner, device.id)).toMatchObject([
      { lat: 52.5, lng: 13.4, timestamp, speed: 3.5, heading: 0, battery: null, subjectId: device.id },
    ])
    await client.endAsync()
  })

  it('may be OwnTracks: each type on its topic is acknowledged, the location is stored, and only encrypted messages are rejected', async () => {
    const device = await createDevice(owner)
    const client = await connectDevice(server, device)
    const tst = Math.floor(Date.now() / 1000) - 10
    const base = 'owntracks/jane/phone'
    const sent: [topic: string, type: string, more?: object][] = [
      [base, 'location', { lat: 52, lon: 13, t: 'c' }],
      [base, 'lwt'],
      [`${base}/event`, 'transition', { lat: 52, lon: 13, event: 'enter', wtst: tst - 100, desc: 'Depot' }],
      [`${base}/waypoint`, 'waypoint', { lat: 52, lon: 13, rad: 100, desc: 'Depot' }],
      [
        `${base}/waypoints`,
        'waypoints',
        { waypoints: [{ _type: 'waypoint', lat: 52, lon: 13, tst, desc: 'Depot' }] },
      ],
      [`${base}/status`, 'status', { iOS: { version: '17.0' } }],
      [`${base}/info`, 'card', { name: 'Jane', tid: 'JA' }],
      [`${base}/step`, 'steps', { steps: 100, from: tst - 60, to: tst }],
      [`${base}/beacon`, 'beacon', { uuid: 'x', rssi: -60 }],
      [`${base}/dump`, 'dump', { configuration: {} }],
      [base, 'encrypted', { data: 'xyz' }],
    ]
    for (const [topic, _type, more] of sent)
      await client.publishAsync(topic, JSON.stringify({ _type, tst, ...more }), { qos: 1, retain: true })
    await client.publishAsync(`${base}/waypoint`, '', { qos: 1, retain: true })
    expect(client.connected).toBe(true)
    expect(await readHistory(owner, device.id)).toMatchObject([{ lat: 52, lng: 13 }])
    expect((await owner.get(`/device/${device.id}/rejections`)).body.counts).toEqual({ encrypted: 1 })
    await client.endAsync()
  })

  it('publishes an array, and a bad point in it takes nothing with it', async () => {
    const device = await createDevice(owner)
    const client = await connectDevice(server, device)
    const now = Date.now()
    await publish(client, device, [
      { lat: 1, lng: 1, timestamp: now - 3000 },
      { lat: 0, lng: 0, timestamp: now - 2000 },
      'no point',
      { lat: 2, lng: 2, timestamp: now - 1000 },
    ])
    expect((await readHistory(owner, device.id)).map(point => point.lat)).toEqual([1, 2])
    const { body } = await owner.get(`/device/${device.id}/rejections`)
    expect(body.counts).toEqual({ 'no-fix': 1, 'bad-shape': 1 })
    expect(body.data.map((rejection: { index: number }) => rejection.index).sort()).toEqual([1, 2])
    await client.endAsync()
  })

  it('hears why a point was rejected', async () => {
    const device = await createDevice(owner)
    const client = await connectDevice(server, device)
    await client.subscribeAsync(`devices/${device.id}/#`)
    const heard: { topic: string; message: { reason: string } }[] = []
    client.on('message', (topic, payload) => heard.push({ topic, message: JSON.parse(String(payload)) }))
    await publish(client, device, 'not json')
    await publish(client, device, { lat: 1, lng: 1, timestamp: Date.now() - 1000 })
    await until('heard', () => heard.length > 0)
    expect(heard).toMatchObject([
      { topic: `devices/${device.id}/rejections`, message: { reason: 'not-json', index: null } },
    ])
    await client.endAsync()
  })

  it('may subscribe to its own topics alone', async () => {
    const device = await createDevice(owner)
    const other = await createDevice(owner)
    const client = await connectDevice(server, device)
    for (const topic of [`devices/${other.id}/#`, '#', '$SYS/#', 'devices/+/rejections']) {
      // 128 is the failure code of SUBACK; this client turns it into an error.
      await expect(client.subscribeAsync(topic), topic).rejects.toThrow()
    }
    await client.endAsync()
  })

  it.each(['devices/OTHER/location', 'elsewhere', 'devices/ID/rejections'])(
    'is disconnected when it publishes to %s',
    async topic => {
      const device = await createDevice(owner)
      const other = await createDevice(owner)
      const client = await connectDevice(server, device)
      const closed = new Promise<void>(resolve => client.once('close', () => resolve()))
      client.publish(topic.replace('OTHER', other.id).replace('ID', device.id), '{}', { qos: 1 }, () => {})
      await closed
      expect(await readHistory(owner, other.id)).toEqual([])
    },
  )

  it('gets CONNACK 5 for a wrong key, and is accepted under the identifier of another device', async () => {
    const device = await createDevice(owner)
    const other = await createDevice(owner)
    await expect(connectDevice(server, { ...device, key: other.key })).rejects.toMatchObject({ code: 5 })
    const client = await connectDevice(server, device, { clientId: 'mine' })
    const second = await connectDevice(server, other, { clientId: 'mine' })
    await publish(second, other, { lat: 1, lng: 1, timestamp: Date.now() - 1000 })
    await publish(client, device, { lat: 1, lng: 1, timestamp: Date.now() - 1000 })
    await Promise.all([client.endAsync(), second.endAsync()])
  })

  it('is disconnected at once when its key is rotated or it is deleted', async () => {
    for (const end of ['rotate', 'delete']) {
      const device = await createDevice(owner)
      const client = await connectDevice(server, device)
      const closed = new Promise<void>(resolve => client.once('close', () => resolve()))
      await untilTold(async () => {
        if (end === 'rotate') await owner.post(`/device/${device.id}/rotate-key`)
        else await owner.delete(`/device/${device.id}`)
        await closed
      })
      await expect(connectDevice(server, device)).rejects.toMatchObject({ code: 5 })
    }
  })

  it('a user publishes as itself with its token', async () => {
    const { body } = await owner.get('/user')
    const user = { id: body.data._id, key: owner.token }
    const client = await connectDevice(server, user, { username: 'token' })
    const timestamp = Date.now() - 1000
    await client.publishAsync(`users/${user.id}/location`, JSON.stringify({ lat: 5, lng: 6, timestamp }), {
      qos: 1,
    })
    const history = await owner.get(`/location-histories?userId=${user.id}`)
    expect(history.body.data).toMatchObject([{ lat: 5, lng: 6, subjectType: 'user', subjectId: user.id }])
    await client.endAsync()
  })

  it('publishes with mosquitto_pub', async context => {
    const mosquitto = inject('mosquitto')
    if ('reason' in mosquitto) return context.skip(mosquitto.reason)
    const device = await createDevice(owner)
    const point = { lat: 48.1, lng: 11.5, timestamp: Math.floor(Date.now() / 1000) }
    const connection = ['-h', '127.0.0.1', '-p', `${server.mqttPort}`, '-u', device.id, '-P', device.key]
    for (const qos of ['1', '2']) {
      const message = JSON.stringify({ ...point, timestamp: point.timestamp - Number(qos) })
      await run('mosquitto_pub', [
        ...connection,
        '-q',
        qos,
        '-t',
        `devices/${device.id}/location`,
        '-m',
        message,
      ])
    }
    expect(await readHistory(owner, device.id)).toHaveLength(2)
  })
})
