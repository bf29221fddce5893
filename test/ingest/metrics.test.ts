import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createDevice, signIn } from '../support/client.ts'
import { readFigures } from '../support/figures.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { useServer } from '../support/own-server.ts'
import { until } from '../support/wait.ts'

describe('The figures of what comes in', () => {
  const { server } = useServer()
  let owner: Client

  beforeAll(async () => {
    owner = await signIn(server)
  })

  it('count received, acknowledged, rejected and waiting points by protocol', async () => {
    const device = await createDevice(owner)
    const client = await connectDevice(server, device)
    expect((await readFigures(server)).get('fieldline_mqtt_connections')).toBe(1)
    const timestamp = Date.now() - 1000
    const points = [
      { lat: 1, lng: 1, timestamp },
      { lat: 2, lng: 2, timestamp },
      { lat: 0, lng: 0, timestamp },
      'x',
    ]
    await publish(client, device, points)
    const bulk = {
      points: [
        { lat: 3, lng: 3, timestamp },
        { lat: 4, lng: 4, timestamp: timestamp - 1 },
      ],
    }
    await owner.post('/location-history/bulk', bulk, { authorization: `Bearer ${device.key}` })

    const figures = await readFigures(server)
    const expected = {
      'fieldline_ingest_points_total{protocol="mqtt"}': 2,
      'fieldline_ingest_points_total{protocol="http"}': 2,
      'fieldline_ingest_acknowledged_total{protocol="mqtt"}': 4,
      'fieldline_ingest_acknowledged_total{protocol="http"}': 2,
      'fieldline_ingest_rejected_total{protocol="mqtt",reason="conflict"}': 1,
      'fieldline_ingest_rejected_total{protocol="mqtt",reason="no-fix"}': 1,
      'fieldline_ingest_rejected_total{protocol="mqtt",reason="bad-shape"}': 1,
      'fieldline_ingest_rejected_total{protocol="http",reason="conflict"}': 1,
      'fieldline_ingest_waiting{protocol="mqtt"}': 0,
      'fieldline_ingest_waiting{protocol="http"}': 0,
      'fieldline_ingest_acknowledge_seconds_count{protocol="mqtt"}': 1,
      'fieldline_ingest_acknowledge_seconds_count{protocol="http"}': 1,
    }
    expect(Object.fromEntries(figures)).toMatchObject(expected)
    await client.endAsync()
  })

  it('count the connections that are closed or not accepted, by kind', async () => {
    const device = await createDevice(owner)
    await expect(connectDevice(server, { ...device, key: 'wrong' })).rejects.toThrow()
    await expect(connectDevice(server, device, { clientId: 'x'.repeat(300) })).rejects.toThrow()
    const client = await connectDevice(server, device)
    client.publish('elsewhere', '', { qos: 1 }, () => {})
    await until(
      'counted',
      async () => (await readFigures(server)).get('fieldline_mqtt_closed_total{kind="topic"}') === 1,
    )
    const figures = await readFigures(server)
    expect(figures.get('fieldline_mqtt_closed_total{kind="credentials"}')).toBe(1)
    expect(figures.get('fieldline_mqtt_closed_total{kind="limit"}')).toBe(1)
    await until('closed', async () => (await readFigures(server)).get('fieldline_mqtt_connections') === 0)
  })
})
