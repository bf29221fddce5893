import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, createDevice, readHistory, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openScreen } from '../support/screen.ts'
import { type Server, startServer } from '../support/server.ts'
import { readTrace, shuffle, type TracePoint } from '../support/traces.ts'
import { until } from '../support/wait.ts'

const trace = readTrace('capmetro-2015-03-08')
const byDevice = new Map<string, TracePoint[]>()
for (const point of trace) byDevice.set(point.device, [...(byDevice.get(point.device) ?? []), point])

/** What the history has to hold: one point a time, in order of time. */
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

describe('A day of real buses', () => {
  let database: TestDatabase
  let server: Server
  let owner: Client
  const devices = new Map<string, TestDevice>()

  beforeAll(async () => {
    database = await createTestDatabase('pglite')
    server = await startServer(database)
    owner = await signIn(server)
    for (const name of byDevice.keys()) devices.set(name, await createDevice(owner, name))
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  async function publishAll(change: (points: TracePoint[]) => TracePoint[]): Promise<void> {
    await Promise.all(
      [...byDevice].map(async ([name, points]) => {
        const device = devices.get(name) as TestDevice
        const client = await connectDevice(server, device)
        await Promise.all(change(points).map(({ device: _, ...point }) => publish(client, device, point)))
        await client.endAsync()
      }),
    )
  }

  async function expectWhole(): Promise<void> {
    let count = 0
    for (const [name, points] of byDevice) {
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
    expect(count).toBe(12_348)
  }

  it('comes out as it went in, by count and by content', async () => {
    const screen = await openScreen(server, owner.token)
    await publishAll(points => points)
    await expectWhole()
    await until('the newest of every bus is on the screen', () => screen.positions.size === byDevice.size)
    await until('each is the newest', () => newestOn(screen.positions))
    screen.cut()
  })

  it('shuffled and repeated it is the same, and live clients see the newest', async () => {
    const screen = await openScreen(server, owner.token)
    await publishAll(points => shuffle([...points, ...points]))
    await expectWhole()
    expect(newestOn(screen.positions)).toBe(true)
    screen.cut()
  })

  function newestOn(positions: ReadonlyMap<string, { timestamp: string }>): boolean {
    return [...byDevice].every(([name, points]) => {
      const newest = Math.max(...points.map(point => point.timestamp))
      return positions.get((devices.get(name) as TestDevice).id)?.timestamp === new Date(newest).toISOString()
    })
  }
})
