import { Registry } from 'prom-client'
import { beforeAll, describe, expect, it } from 'vitest'
import { writeSamples } from '../../db/queries/health-history.ts'
import { createIngestMetrics } from '../../ingest/metrics.ts'
import { mergeFigures, NO_FIGURES } from '../../src/resources/health-history/figures.ts'
import { sampleHealth } from '../../src/resources/health-history/job.ts'
import { startReports } from '../../src/resources/health-history/reports.ts'
import { createWriterMetrics } from '../../stream/metrics.ts'
import type { Point } from '../../stream/point.ts'
import { addApiKey } from '../support/api-keys.ts'
import { type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { openTestDatabase } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { OWNER } from '../support/server.ts'
import { until } from '../support/wait.ts'

describe('How the server is doing', () => {
  const { server } = useServer()
  let owner: Client
  let first: string

  beforeAll(async () => {
    owner = await signIn(server)
    first = (await owner.get('/user')).body.data.organizationId
  })

  it('is told to the Owner of the first organization alone', async () => {
    const { status, body } = await owner.get('/health-history')
    expect([status, body.data.period, body.data.sampleSeconds]).toEqual([200, 'day', 60])
    const admin = await addPerson(server, owner, { role: 'Admin' })
    const other = (await addOrganization(server, admin.client)).client
    const device = await createDevice(owner, 'Van')
    for (const client of [admin.client, other, createClient(server, device.key), createClient(server, '')]) {
      const refused = await client.get('/health-history')
      expect([401, 403]).toContain(refused.status)
      expect(refused.body.data).toBeUndefined()
    }
    const runs = async (client: Client) => (await client.get('/user')).body.data.runsServer
    const [ofOwner, ofAdmin] = [
      (await addApiKey(server, owner, { role: 'Owner' })).client,
      (await addApiKey(server, owner, { role: 'Admin' })).client,
    ]
    const told = [await runs(owner), await runs(other), await runs(ofOwner), await runs(ofAdmin)]
    expect(told).toEqual([true, false, true, false])
    expect((await ofOwner.get('/health-history')).status).toBe(200)
    expect((await ofAdmin.get('/health-history')).status).toBe(403)
    expect((await owner.get('/health-history?period=century')).status).toBe(400)
  })

  it('has the first figures within two minutes of the start, and its disk among them', async () => {
    owner = await signIn(server, { ...OWNER, organizationId: first })
    const read = async () => (await owner.get('/health-history')).body.data
    await until('a sample', async () => (await read()).samples.length > 0, 120_000)
    const { samples, verdicts } = await read()
    expect(samples.at(-1)).toMatchObject({ jobsFailed: 0, waitingSeconds: 0 })
    expect(samples.at(-1).diskFreeBytes).toBeGreaterThan(0)
    expect(verdicts.map(({ figure }: { figure: string }) => figure)).toEqual([
      ...['points', 'online', 'stored', 'shown', 'waiting', 'jobs', 'rejections', 'disk'],
    ])
    for (const { state, message } of verdicts) {
      expect(['good', 'warning', 'bad', 'unknown']).toContain(state)
      expect(message).toMatch(/^[A-Z].*\.$/)
    }
    for (const period of ['month', 'year']) {
      const { body } = await owner.get(`/health-history?period=${period}`)
      // The next hour, or day, may have begun meanwhile.
      expect([1, 2]).toContain(body.data.samples.length)
      expect(body.data.samples[0].databaseBytes).toBeGreaterThan(0)
    }
  })
})

/** A server without jobs, which would write samples of their own. */
describe('Reports and samples', () => {
  const { server, database } = useServer({ ROLES: 'api' })
  const point = { kind: 'point' } as Point
  const fail = (error: unknown) => {
    throw error
  }

  it('count each point once, however many processes report and however often they are added up', async () => {
    const db = await openTestDatabase(database)
    const sample = () => db.system.transaction(sampleHealth)
    await db.system.query('DELETE FROM health_reports')
    const processes = [new Registry(), new Registry()].map(registry => ({
      ingest: createIngestMetrics(registry),
      writer: createWriterMetrics(registry),
      reports: startReports({ db: db.system, registry, onError: fail }),
    }))
    const stored = { points: 2, duplicates: 0, rejections: 1, seconds: 0.1, delaySeconds: 0.2 }
    for (const { ingest, writer, reports } of processes) {
      await reports.report()
      ingest.received('mqtt', [point, point])
      ingest.rejected('mqtt', 'future')
      writer.onStored(stored)
      await reports.report()
      await Promise.all([sample(), sample()])
      // Nothing has happened since.
      await reports.report()
      await reports.stop()
    }
    await sample()
    const rows = await db.system.query<{
      resolution: string
      received: number
      future: number
      minutes: number
    }>(
      `SELECT resolution, sum((figures ->> 'received')::int)::int AS received,
         sum((figures -> 'rejections' ->> 'future')::int)::int AS future,
         sum((figures ->> 'minutes')::int)::int AS minutes
       FROM health_samples WHERE at > now() - interval '2 days' GROUP BY resolution ORDER BY resolution`,
    )
    const of = (name: string) => rows.find(({ resolution }) => resolution === name)
    for (const resolution of ['minute', 'hour', 'day'])
      expect(of(resolution)).toMatchObject({ received: 4, future: 2, minutes: of('minute')?.minutes })
    // Two days, if the next has begun meanwhile.
    const days = await db.system.query<{ figures: { storedDelays: number[] } }>(
      `SELECT figures FROM health_samples WHERE resolution = 'day'`,
    )
    const delays = days.flatMap(({ figures }) => figures.storedDelays)
    expect(delays.reduce((sum, count) => sum + count, 0)).toBe(2)
    await db.close()
  })

  it('say when the disk will be full, and what to do', async () => {
    const owner = await signIn(server)
    const db = await openTestDatabase(database)
    const now = Date.now()
    const size = 100e9
    // It loses 1 GB an hour, and 60 are left: two and a half days.
    const hours = Array.from({ length: 48 }, (_, index) => ({
      resolution: 'hour' as const,
      at: new Date(Math.floor(now / 3_600_000) * 3_600_000 - index * 3_600_000 - 3_600_000),
      figures: { ...NO_FIGURES, diskSizeBytes: size, diskFreeBytes: 60e9 + index * 1e9 },
    }))
    const figures = { ...NO_FIGURES, minutes: 1, diskSizeBytes: size, diskFreeBytes: 60e9 }
    await db.system.query('DELETE FROM health_samples')
    await writeSamples(db.system, [
      ...hours,
      { resolution: 'minute', at: new Date(Math.floor(now / 60_000) * 60_000), figures },
    ])
    const { diskFullAt, verdicts } = (await owner.get('/health-history')).body.data
    expect((Date.parse(diskFullAt) - now) / 86_400_000).toBeCloseTo(2.5, 0)
    const disk = verdicts.find(({ figure }: { figure: string }) => figure === 'disk')
    expect(disk).toMatchObject({ state: 'bad', cause: 'disk-full' })
    await db.close()
  })

  it('keep the worst of gauges and the sum of counts, in any order', () => {
    const one = {
      ...NO_FIGURES,
      received: 2,
      jobsDue: 3,
      diskFreeBytes: 10,
      storedDelays: [1, 0],
      rejections: { future: 1 },
    }
    const other = {
      received: 5,
      jobsDue: 1,
      diskFreeBytes: 4,
      storedDelays: [0, 2, 1],
      rejections: { future: 1, conflict: 2 },
    }
    const merged = mergeFigures(one, other)
    expect(merged).toEqual(mergeFigures(other, one))
    expect(merged).toMatchObject({
      ...{ received: 7, jobsDue: 3, diskFreeBytes: 4, storedDelays: [1, 2, 1], online: null },
      rejections: { future: 2, conflict: 2 },
    })
  })
})
