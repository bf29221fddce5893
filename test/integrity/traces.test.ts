import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FenceShape } from '../../db/schema/geofences.ts'
import { type Client, createDevice, readHistory, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { byTime, expectedCrossings } from '../support/fences.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openScreen } from '../support/screen.ts'
import { type Server, startServer } from '../support/server.ts'
import { readTrace, shuffle, type TracePoint } from '../support/traces.ts'
import { until } from '../support/wait.ts'

const trace = readTrace('capmetro-2015-03-08')
const byDevice = new Map<string, TracePoint[]>()
for (const point of trace) byDevice.set(point.device, [...(byDevice.get(point.device) ?? []), point])

/** The expected history: one point for each time, in order. */
function expected(points: TracePoint[]): object[] {
  const unique = new Map(points.map(point => [point.timestamp, point]))
  return [...unique.values()]
    .sort((a, b) => a.timestamp - b.timestamp)
    .map(({ lat, lng, speed, heading, timestamp }) => ({
      timestamp: new Date(timestamp).toISOString(),
      lat,
      lng,
      speed: speed === null ? null : Math.fround(speed),
      heading,
    }))
}

/** Circles and squares where the buses drive; some overlap. */
const shapes = Array.from({ length: 24 }, (_, n): FenceShape => {
  const { lat, lng } = trace[Math.floor((n * trace.length) / 24)] as TracePoint
  if (n % 3 > 0) return { type: 'circle', center: { lat, lng }, radius: 150 + n * 50 }
  const half = 0.002 + n / 5_000
  const corners: [number, number][] = [[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]] // biome-ignore format: one ring
  return {
    type: 'polygon',
    coordinates: corners.map(([east, north]) => [lng + east * half, lat + north * half]),
  }
})

/** Every sixth bus is enough to test that the order of arrival changes nothing. */
const some = new Map([...byDevice].filter((_, index) => index % 6 === 0))

describe('A day of real buses', () => {
  let database: TestDatabase
  let server: Server
  let owner: Client
  const devices = new Map<string, TestDevice>()
  const fences: { _id: string; shape: FenceShape }[] = []

  beforeAll(async () => {
    database = await createTestDatabase('pglite')
    server = await startServer(database)
    owner = await signIn(server)
    for (const name of byDevice.keys()) devices.set(name, await createDevice(owner, name))
    for (const shape of shapes) {
      const { body } = await owner.post('/geofence', { name: 'Where they drive', shape })
      fences.push({ _id: body.data._id, shape })
    }
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  async function publishAll(
    change: (points: TracePoint[]) => TracePoint[],
    {
      buses = byDevice,
      by = devices,
    }: { buses?: typeof byDevice; by?: ReadonlyMap<string, TestDevice> } = {},
  ): Promise<void> {
    await Promise.all(
      [...buses].map(async ([name, points]) => {
        const device = by.get(name) as TestDevice
        const client = await connectDevice(server, device)
        await Promise.all(change(points).map(({ device: _, ...point }) => publish(client, device, point)))
        await client.endAsync()
      }),
    )
  }

  /** Resolves to the number of points. */
  async function expectWhole(buses = byDevice): Promise<number> {
    let count = 0
    for (const [name, points] of buses) {
      const history = await readHistory(owner, (devices.get(name) as TestDevice).id)
      count += history.length
      const shown = history.map(({ timestamp, lat, lng, speed, heading }) => ({
        timestamp,
        lat,
        lng,
        speed: speed === null ? null : Math.fround(speed),
        heading,
      }))
      expect(shown, name).toEqual(expected(points))
    }
    return count
  }

  it('comes out as it went in, by count and by content', async () => {
    const screen = await openScreen(server, owner.token)
    await publishAll(points => points)
    expect(await expectWhole()).toBe(12_348)
    await until('the newest of every bus is on the screen', () => screen.positions.size === byDevice.size)
    await until('each is the newest', () => newestOn(screen.positions))
    screen.cut()
  })

  it('shuffled and repeated it is the same, and live clients see the newest', async () => {
    const screen = await openScreen(server, owner.token)
    await publishAll(points => shuffle([...points, ...points]), { buses: some })
    await expectWhole(some)
    expect(newestOn(screen.positions)).toBe(true)
    screen.cut()
  })

  /**
   * Waits until the reported crossings are those of one ordered reading of the trace. Resolves to all reported
   * crossings.
   */
  async function untilCrossed(by: ReadonlyMap<string, TestDevice>): Promise<{ retracted: boolean }[]> {
    const expected = [...byDevice]
      .filter(([name]) => by.has(name))
      .flatMap(([name, points]) =>
        expectedCrossings(points, fences).map(crossing => ({
          subjectId: (by.get(name) as TestDevice).id,
          ...crossing,
        })),
      )
      .sort(bySubject)
    expect(expected.length).toBeGreaterThan(by.size * 2)
    const subjects = [...by.values()].map(({ id }) => id).join()
    let told: (ReturnType<typeof holding> & { retracted: boolean })[] = []
    await until(
      'it is told',
      async () => {
        told = []
        for (let cursor = ''; ; ) {
          const { body } = await owner.get(`/geofence-events?subjectId=${subjects}&limit=500${cursor}`)
          told.push(...body.data)
          if (body.pagination.nextCursor === null) break
          cursor = `&cursor=${body.pagination.nextCursor}`
        }
        const now = told.filter(({ retracted }) => !retracted).map(holding)
        return JSON.stringify(now.sort(bySubject)) === JSON.stringify(expected)
      },
      300_000,
    )
    return told
  }

  it('and their crossings are reported as they were', async () => {
    expect((await untilCrossed(devices)).filter(({ retracted }) => retracted)).toEqual([])
  })

  it('in any order, and however often it comes', async () => {
    const others = new Map<string, TestDevice>()
    for (const name of some.keys()) others.set(name, await createDevice(owner, `${name} shuffled`))
    await publishAll(points => shuffle([...points, ...points.slice(0, points.length / 4)]), {
      buses: some,
      by: others,
    })
    await untilCrossed(others)
  })

  function newestOn(positions: ReadonlyMap<string, { timestamp: string }>): boolean {
    return [...byDevice].every(([name, points]) => {
      const newest = Math.max(...points.map(point => point.timestamp))
      return positions.get((devices.get(name) as TestDevice).id)?.timestamp === new Date(newest).toISOString()
    })
  }
})

const holding = ({ subjectId, geofenceId, event, at, lat, lng }: Crossing) => ({
  subjectId,
  geofenceId,
  event,
  at,
  lat,
  lng,
})

type Crossing = ReturnType<typeof expectedCrossings>[number] & { subjectId: string }

const bySubject = (a: Crossing, b: Crossing) =>
  a.subjectId === b.subjectId ? byTime(a, b) : a.subjectId < b.subjectId ? -1 : 1
