import { describe, expect, it } from 'vitest'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { openScreen } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

const HOUR_MS = 3_600_000

describe('An anomaly', () => {
  const { server, owner } = useOrganization()
  // A full hour, so that no time in a file looks like a latitude.
  const begin = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 2 * HOUR_MS
  const at = (second: number) => begin + second * 1000

  const send = async (device: TestDevice, points: [second: number, north: number, more?: object][]) => {
    const body = {
      points: points.map(([second, north, more]) => ({
        lat: 50 + north,
        lng: 8,
        timestamp: at(second),
        ...more,
      })),
    }
    const answer = await createClient(server, device.key).post('/location-history/bulk', body)
    expect(answer.body.data).toMatchObject({ accepted: points.length, rejected: [] })
  }
  const read = async (query: string) => {
    const { status, body } = await owner.get(`/location-histories?${query}`)
    expect(status).toBe(200)
    return body.data as {
      subjectId: string
      timestamp: string
      lat: number
      anomaly: string | null
      _id: string
    }[]
  }
  const latitudes = async (device: TestDevice, query = '') =>
    (await read(`deviceId=${device.id}${query}`)).map(({ lat }) => lat)
  const newestOf = async (device: TestDevice, query = '') =>
    (await read(`limit=1000${query}`)).filter(({ subjectId }) => subjectId === device.id)

  it('is kept, and is out of the history in every shape unless it is asked for', async () => {
    const device = await createDevice(owner)
    await send(device, [
      [0, 0],
      [10, 0.001],
      [20, 1],
      [30, 0.002],
    ])
    expect(await latitudes(device)).toEqual([50, 50.001, 50.002])
    expect(await latitudes(device, '&includeAnomalies=true')).toEqual([50, 50.001, 51, 50.002])
    expect(await latitudes(device, '&order=desc&limit=2')).toEqual([50.002, 50.001])
    expect(await latitudes(device, '&bbox=7,50.5,9,52')).toEqual([])
    expect(await latitudes(device, '&bbox=7,50.5,9,52&includeAnomalies=true')).toEqual([51])
    expect(await latitudes(device, '&maxPoints=10')).toEqual([50, 50.001, 50.002])
    for (const fewer of ['simplify=0', 'simplify=40000000', 'maxPoints=4'])
      expect(await latitudes(device, `&${fewer}&includeAnomalies=true`)).toContain(51)
    const all = await read(`deviceId=${device.id}&includeAnomalies=true`)
    expect(all.map(({ anomaly }) => anomaly)).toEqual([null, null, 'speed', null])
    expect((await owner.get(`/location-history/${all[2]?._id}`)).body.data).toEqual(all[2])
    for (const format of ['csv', 'gpx', 'geojson'])
      for (const include of [false, true]) {
        const response = await fetch(
          `${server.url}/api/v3/location-histories?deviceId=${device.id}&format=${format}&includeAnomalies=${include}`,
          { headers: { authorization: `Bearer ${owner.token}` } },
        )
        const text = await response.text()
        expect([format, include, /[,"]51[,"\]]/.test(text)]).toEqual([format, include, include])
        if (format === 'csv')
          expect([text.split('\r\n')[0]?.endsWith(',anomaly'), text.includes(',speed\r\n')]).toEqual([
            true,
            include,
          ])
      }
  })

  it('is on no page of the history, however many stand in a row', async () => {
    const device = await createDevice(owner)
    const jumping = Array.from({ length: 900 }, (_, n): [number, number] => [n, n % 2])
    await send(device, [[-10, 0.3], ...jumping, [2_000, 0.4]])
    const first = await owner.get(`/location-histories?deviceId=${device.id}&limit=2`)
    expect(first.body.data.map(({ lat }: { lat: number }) => lat)).toEqual([50.3, 51])
    const { nextCursor } = first.body.pagination
    const next = await owner.get(`/location-histories?deviceId=${device.id}&limit=2&cursor=${nextCursor}`)
    expect(next.body.data.map(({ lat }: { lat: number }) => lat)).toEqual([50.4])
    expect(next.body.pagination.nextCursor).toBeNull()
  })

  it('is in no trip: a jump there and back is no way that was gone', async () => {
    const device = await createDevice(owner)
    // Ten minutes along the road at 10 m/s, with a jump of a hundred kilometres in it.
    const road = Array.from({ length: 60 }, (_, n): [number, number] => [n * 10, n === 30 ? 1 : n * 0.0009])
    await send(device, road)
    const { body } = await owner.get(
      `/location-histories/trips?deviceId=${device.id}&from=${at(-60)}&to=${at(3_600)}`,
    )
    expect(body.data.trips).toHaveLength(1)
    expect(body.data.trips[0].distance).toBeLessThan(6_500)
    expect(body.data.trips[0].points).toBe(59)
  })

  it('is the newest until the next shows it, is none any more where a late point fills the gap, and locks nobody out', async () => {
    const device = await createDevice(owner)
    await send(device, [[0, 0]])
    await send(device, [[10, 1]])
    expect(await newestOf(device)).toMatchObject([{ lat: 51 }])
    await send(device, [[20, 0.001]])
    expect(await newestOf(device)).toMatchObject([{ lat: 50.001 }])
    expect(await latitudes(device)).toEqual([50, 50.001])
    expect(await newestOf(device, `&to=${at(15)}`)).toMatchObject([{ lat: 50 }])
    expect(await newestOf(device, `&to=${at(15)}&includeAnomalies=true`)).toMatchObject([
      { lat: 51, anomaly: 'speed' },
    ])
    await send(device, [[10.1, 1]])
    expect(await latitudes(device)).toEqual([50, 51, 51, 50.001])
    await send(device, [
      [30, 3],
      [40, 3.001],
    ])
    expect(await newestOf(device)).toMatchObject([{ lat: 53.001 }])
  })

  it('by its accuracy is no newest fix, on no screen and on no tracking link; both follow what is judged again', async () => {
    const [device, other] = [await createDevice(owner, 'Coarse'), await createDevice(owner, 'Never')]
    await send(device, [[0, 0, { accuracy: 500 }]])
    await owner.patch('/organization', { settings: { maxAccuracy: 100 } })
    const screen = await openScreen(server, owner.token, { filter: { subjectIds: [device.id, other.id] } })
    const shown = () => screen.positions.get(device.id)?.lat
    let second = 0
    // Points sent at the same moment may still be judged by the previous settings.
    await until('it counts', async () => {
      second++
      await send(other, [[second, 0, { accuracy: 101 }]])
      const [point] = await read(`deviceId=${other.id}&includeAnomalies=true&order=desc&limit=1`)
      return point?.anomaly === 'accuracy'
    })
    await owner.delete(`/device/${other.id}`)
    const never = await createDevice(owner)
    const link = await owner.post('/tracking-link', {
      subjectId: device.id,
      subjectType: 'device',
      expiresAt: new Date(Date.now() + HOUR_MS),
    })
    const tracked = async () =>
      (await createClient(server, '').get(`/location-history/tracking/${link.body.data.token}`)).body.data
        .position?.lat

    await send(device, [
      [10, 0.001, { accuracy: 100 }],
      [20, 0.002, { accuracy: 101 }],
    ])
    await send(never, [[20, 0.002, { accuracy: 101 }]])
    await until('the accurate one', () => shown() === 50.001)
    // It jumps; the next fix is inaccurate, and proves the jump all the same.
    await send(device, [[30, 1]])
    await until('the jump', () => shown() === 51)
    await send(device, [[40, 0.003, { accuracy: 900 }]])
    await until('the one before the jump', () => shown() === 50.001)
    expect(await newestOf(device)).toMatchObject([{ lat: 50.001 }])
    expect(await tracked()).toBe(50.001)
    expect(await newestOf(device, '&includeAnomalies=true')).toMatchObject([
      { lat: 50.003, anomaly: 'accuracy' },
    ])
    // A late point shows that the jump was real.
    screen.cut()
    await send(device, [[30.1, 1.00001]])
    const after = await openScreen(server, owner.token, {
      filter: { subjectIds: [device.id, never.id] },
      resume: screen,
    })
    await until('there again', () => after.positions.get(device.id)?.lat === 51.00001)
    expect(after.positions.has(never.id)).toBe(false)
    expect(await newestOf(never)).toEqual([])
    await send(never, [[50, 0.5]])
    await until('its first', () => after.positions.get(never.id)?.lat === 50.5)
    after.cut()
    await owner.patch('/organization', { settings: { maxAccuracy: null } })
  })
})
