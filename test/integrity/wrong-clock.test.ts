import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findFaketime } from '../services/faketime.ts'
import { createClient, createDevice, readHistory, signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing, type TestDatabase } from '../support/database.ts'
import { readFigures } from '../support/figures.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { openServer, startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'
import { checkHistories } from './checker.ts'
import { countAcknowledged, startPublishers } from './publisher.ts'

const faketime = await findFaketime()
const HOUR_S = 3_600
/** The last step sets the clock right. */
const STEPS = [HOUR_S, 0, -HOUR_S, 0, -400, 0, 400, 0]
const STEP_EVERY_MS = 200

// The embedded database uses the process's own clock.
describe.each(['postgres', 'pglite'] as const)('A server on %s', kind => {
  const reason = faketime.available
    ? (kind === 'postgres' && postgresMissing()) || undefined
    : faketime.reason

  it('whose clock jumps back and forth loses no point, and keeps nobody out', async context => {
    if (!faketime.available || reason) {
      return context.skip(reason)
    }
    const database = await createTestDatabase(kind)
    const { env, setClock } = createClock(database, faketime.library)
    const server = await startServer(database, { ...env, RATE_LIMIT_PER_MINUTE: '1200' })
    const owner = await signIn(server)
    const publishers = await startPublishers(owner, () => server.mqttPort, 6, { rate: 400 })
    const count = () => countAcknowledged(publishers)
    await until('under load', () => count() > 200)
    for (const step of STEPS) {
      setClock(step)
      const before = count()
      await pause(STEP_EVERY_MS)
      await until('the server has seen the hour', async () => {
        const { status, headers } = await owner.get('/user')
        expect([step, status]).toEqual([step, 200])
        const aheadMs = Date.parse(headers.get('date') as string) - Date.now()
        return Math.round(aheadMs / 1000 / HOUR_S) === Math.trunc(step / HOUR_S)
      })
      await until('it goes on', () => count() > before)
    }
    const again = await signIn(server)
    expect((await createClient(server, again.token).get('/user')).status).toBe(200)
    expect(publishers.map(({ connections }) => connections)).toEqual(publishers.map(() => 1))
    await Promise.all(publishers.map(publisher => publisher.finish()))
    const report = await checkHistories(owner, publishers)
    expect(report).toMatchObject({ lost: 0, doubled: 0, altered: 0, invented: 0 })
    expect(report.stored).toBe(report.acknowledged)
    expect(await server.stop()).toBe(0)
    await database.remove()
  })

  it('whose clock is off from the start rejects nothing that is right, and says so', async context => {
    if (!faketime.available || reason) return context.skip(reason)
    const database = await createTestDatabase(kind)
    const { env, setClock } = createClock(database, faketime.library)
    // The database has seen the right time.
    const right = await openServer(database)
    const device = await createDevice(await signIn(right))
    // Two points of one time are the same point.
    let last = 0
    const point = (lng: number, ms = 0) => {
      last = Math.max(last + 1, Date.now())
      return { lat: 1, lng, timestamp: last + ms }
    }
    const client = await connectDevice(right, device)
    await publish(client, device, point(1))
    await client.endAsync()
    await right.stop()

    let [sent, rejected] = [1, 0]
    // A clock that restarts without its battery, and one that is an hour ahead.
    for (const seconds of [-30 * 365 * 24 * HOUR_S, HOUR_S]) {
      setClock(seconds)
      const server = await startServer(database, env)
      const owner = await signIn(server)
      const again = await connectDevice(server, device)
      for (let index = 0; index < 20; index++) await publish(again, device, point(2))
      await again.endAsync()
      const bulk = (points: object[]) =>
        createClient(server, device.key).post('/location-history/bulk', { points })
      expect((await bulk([point(3, -60_000)])).body.data).toMatchObject({ accepted: 1 })
      sent += 21
      await until('all are there', async () => (await readHistory(owner, device.id)).length >= sent)
      const { counts } = (await owner.get(`/device/${device.id}/rejections`)).body
      expect(counts.future ?? 0).toBe(rejected)

      // The point is two hours ahead. PostgreSQL has a clock of its own and notices; the embedded database shares the
      // wrong clock.
      const ahead = await bulk([point(3, 2_000 * HOUR_S)])
      const isUntrusted = kind === 'pglite' && seconds < 0
      expect([seconds, ahead.status]).toEqual([seconds, isUntrusted ? 503 : 400])
      if (!isUntrusted) {
        expect(JSON.stringify(ahead.body)).toContain('more than 10 minutes ahead')
        rejected++
      }

      const ready = await fetch(`${server.url}/ready`)
      const { data } = (await ready.json()) as { data: object }
      const isKnown = kind === 'postgres' || seconds < 0
      expect([seconds, ready.status, data]).toMatchObject([seconds, 200, { clock: !isKnown }])
      if (isKnown)
        await until('its log says so', () => /clock .* (behind|ahead of)/.test(server.output.stderr))
      const offset = (await readFigures(server)).get('fieldline_clock_offset_seconds') ?? 0
      expect(Math.round(offset)).toBe(kind === 'postgres' ? -seconds : 0)
      await server.stop()
    }
    await database.remove()
  })
})

function createClock({ dataDir }: TestDatabase, library: string) {
  const clock = join(dataDir, 'clock')
  const setClock = (seconds: number) => writeFileSync(clock, `${seconds < 0 ? '' : '+'}${seconds}`)
  setClock(0)
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clock,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  }
  return { env, setClock }
}
