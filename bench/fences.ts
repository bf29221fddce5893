import { setTimeout as sleep } from 'node:timers/promises'
import { loadMqtt } from './load/publish.ts'
import type { Options } from './options.ts'
import { count, median, progress, type Row } from './report.ts'
import { call, type Server, signIn } from './server.ts'
import { sustain } from './sustain.ts'
import type { Tier } from './tiers.ts'

const WARM_UP_SECONDS = 3
/**
 * Circles of 150 m every 900 m in the square degree in which the devices drive, so that each device crosses some of
 * them.
 */
const ROW = 32
const SPACING_DEGREES = 0.008
const FIRST = { lat: 52.4, lng: 13.405 - (ROW / 2) * SPACING_DEGREES }
const RADIUS_M = 150
/** How long to wait for the remaining crossings. */
const JUDGED_WITHIN_MS = 60_000

interface Measured {
  rate: number
  cpuMicroseconds: number
  /** The number of recorded crossings. */
  crossings: number
}

/** Compares MQTT with and without geofences: points acknowledged and stored per second. */
export async function benchFences(tier: Tier, options: Options): Promise<Row[]> {
  const without: Measured[] = []
  const having: Measured[] = []
  for (let round = 1; round <= options.rounds; round++) {
    // The order alternates, so that neither is always the first.
    const both = [
      async () => without.push(await measure(tier, options, 0)),
      async () => having.push(await measure(tier, options, options.fences)),
    ]
    for (const one of round % 2 === 0 ? both.reverse() : both) await one()
  }
  const of = (key: keyof Measured, all: readonly Measured[]) => median(all.map(one => one[key]))
  return [
    {
      figure: `MQTT QoS 1 with ${count(options.fences)} geofences, points/s acknowledged and stored, ${tier.name}`,
      ours: count(of('rate', having)),
      beside: `${count(of('rate', without))} without`,
      ratio: median(having.map(({ rate }, index) => rate / (without[index] as Measured).rate)),
      goal: '0.90',
      note:
        `${of('cpuMicroseconds', having).toFixed(1)} µs of processor against ${of('cpuMicroseconds', without).toFixed(1)}; ` +
        `${count(of('crossings', having))} crossings recorded`,
    },
  ]
}

async function measure(tier: Tier, options: Options, fences: number): Promise<Measured> {
  let crossings = 0
  const times = { warmUpSeconds: WARM_UP_SECONDS, seconds: options.seconds }
  const sustained = await sustain(tier, options, {
    before: server => makeFences(server, fences),
    load: server => loadMqtt(server.mqtt, tier.devices, times),
    async after(server) {
      if (fences > 0) crossings = await countCrossings(server)
    },
  })
  const { rate, cpuMicroseconds } = sustained
  progress(
    `${count(fences)} geofences: ${count(rate)} points/s, ${cpuMicroseconds.toFixed(1)} µs of processor, ${count(crossings)} crossings`,
  )
  return { rate, cpuMicroseconds, crossings }
}

async function makeFences(server: Server, fences: number): Promise<void> {
  const token = await signIn(server)
  for (let index = 0; index < fences; index++) {
    const lat = FIRST.lat + Math.floor(index / ROW) * SPACING_DEGREES
    const center = { lat, lng: FIRST.lng + (index % ROW) * SPACING_DEGREES }
    await call(server, '/geofence', { name: `Fence ${index}`, shape: { type: 'circle', center, radius: RADIUS_M } }, token) // biome-ignore format: one line
  }
}

/** Returns the number of crossings once it no longer grows. */
async function countCrossings(server: Server): Promise<number> {
  const token = await signIn(server)
  const deadline = performance.now() + JUDGED_WITHIN_MS
  for (let last = -1; performance.now() < deadline; ) {
    let recorded = 0
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path = `/api/v3/geofence-events?limit=500${cursor && `&cursor=${cursor}`}`
      const answer = await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } })
      const page = (await answer.json()) as { data: unknown[]; pagination: { nextCursor: string | null } }
      recorded += page.data.length
      cursor = page.pagination.nextCursor
    }
    if (recorded === last) return recorded
    last = recorded
    await sleep(1_000)
  }
  throw new Error('The number of crossings still grows')
}
