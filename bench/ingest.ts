import { startMosquitto } from '../test/services/mosquitto.ts'
import { quietMoment } from './cpu.ts'
import { describeWay, findLimit, type Limit, measureLimit, type Way } from './limit/find-limit.ts'
import type { HttpLoad } from './load/http.ts'
import { loadMqtt } from './load/publish.ts'
import { inProcess } from './load/run-process.ts'
import type { LoadResult } from './load/window.ts'
import type { Options } from './options.ts'
import { count, median, ms, progress, type Row } from './report.ts'
import type { Server } from './server.ts'
import { type Sustained, sustain } from './sustain.ts'
import type { Tier } from './tiers.ts'

const WARM_UP_SECONDS = 3
const FIRST_TIME_AGO_MS = 30 * 24 * 3600_000
const BULK_POINTS = 5_000
const GOALS = {
  embedded: { mqtt: '0.60', http: '0.70' },
  'one-machine': { mqtt: '0.70', http: '0.85' },
  cluster: { mqtt: '0.60', http: '0.60' },
}

/** A round of one measurement, with the limit measured next to it. */
type Round = Sustained & { limit: Limit }

/** Measures the points per second that MQTT and HTTP bulk acknowledge and store, against the database without a service. */
export async function benchIngest(tier: Tier, options: Options): Promise<Row[]> {
  const times = { warmUpSeconds: WARM_UP_SECONDS, seconds: options.seconds }
  const way = options.limit ?? (await findLimit(tier, options.patienceSeconds))
  const mqtt: Round[] = []
  const http: Round[] = []
  const mosquitto: number[] = []
  for (let round = 1; round <= options.rounds; round++) {
    await quietMoment(options.patienceSeconds)
    const limit = await measureLimit(tier, way, times)
    progress(
      `round ${round}: the limit, ${describeWay(way)}: ${count(limit.rate)} rows/s, ${cpu(limit.cpuMicroseconds)}`,
    )
    mqtt.push(
      await measureService(tier, options, 'MQTT', limit, server =>
        loadMqtt(server.mqtt, tier.devices, times),
      ),
    )
    await quietMoment(options.patienceSeconds)
    const other = await measureMosquitto(tier, times)
    if (other) mosquitto.push(other)
    http.push(await measureService(tier, options, 'HTTP', limit, server => loadHttp(tier, server, times)))
  }
  return [
    toRow(`MQTT QoS 1, points/s acknowledged and stored, ${tier.name}`, mqtt, way, GOALS[tier.name].mqtt),
    ...(mosquitto.length > 0 ? [mosquittoRow(tier, mqtt, mosquitto)] : []),
    toRow(`HTTP bulk of ${count(BULK_POINTS)}, points/s, ${tier.name}`, http, way, GOALS[tier.name].http),
  ]
}

async function measureService(
  tier: Tier,
  options: Options,
  name: string,
  limit: Limit,
  load: (server: Server) => Promise<LoadResult>,
): Promise<Round> {
  const sustained = await sustain(tier, options, { load })
  const { rate, cpuMicroseconds, lateSeconds } = sustained
  const { latency, cpuSeconds, seconds, total } = sustained.load
  progress(
    `${name}: ${count(rate)} points/s, ${(rate / limit.rate).toFixed(2)} of the limit, ${cpu(cpuMicroseconds)}, ` +
      (tier.name === 'cluster'
        ? `stored ${lateSeconds.toFixed(1)} s after the last was acknowledged, `
        : '') +
      `50 % within ${ms(latency.p50)}, 99 % within ${ms(latency.p99)}; ` +
      `the generator used ${(cpuSeconds / seconds).toFixed(2)} of a core; ${count(total)} stored`,
  )
  return { ...sustained, limit }
}

/** The same load on a broker that stores nothing. */
async function measureMosquitto(
  tier: Tier,
  times: { warmUpSeconds: number; seconds: number },
): Promise<number | undefined> {
  const mosquitto = await startMosquitto()
  if (!mosquitto.available) {
    progress(mosquitto.reason)
    return undefined
  }
  try {
    const { acknowledged, seconds } = await loadMqtt(
      { host: '127.0.0.1', port: mosquitto.port },
      tier.devices,
      times,
    )
    progress(`Mosquitto, storing nothing: ${count(acknowledged / seconds)} points/s`)
    return acknowledged / seconds
  } finally {
    await mosquitto.stop()
  }
}

function loadHttp(
  tier: Tier,
  server: Server,
  times: { warmUpSeconds: number; seconds: number },
): Promise<LoadResult> {
  const load: HttpLoad = {
    url: server.ingestUrl,
    ...times,
    devices: tier.devices,
    requests: 8,
    points: BULK_POINTS,
    firstTimeMs: Date.now() - FIRST_TIME_AGO_MS,
  }
  return inProcess(new URL('load/http.ts', import.meta.url), load)
}

function toRow(figure: string, rounds: readonly Round[], way: Way, goal: string): Row {
  const p50 = median(rounds.map(round => round.load.latency.p50))
  const p99 = median(rounds.map(round => round.load.latency.p99))
  const ours = median(rounds.map(round => round.cpuMicroseconds))
  const theirs = median(rounds.map(round => round.limit.cpuMicroseconds))
  return {
    figure,
    ours: count(median(rounds.map(round => round.rate))),
    beside: `${count(median(rounds.map(round => round.limit.rate)))} rows/s inserted (${describeWay(way)})`,
    ratio: median(rounds.map(round => round.rate / round.limit.rate)),
    goal,
    note:
      `${cpu(ours)} against ${cpu(theirs)}: ${(theirs / ours).toFixed(2)}; ` +
      `acknowledged within ${ms(p50)} (median), ${ms(p99)} (99 %)`,
  }
}

const cpu = (microseconds: number) => `${microseconds.toFixed(1)} µs of processor`

function mosquittoRow(tier: Tier, mqtt: readonly Round[], mosquitto: readonly number[]): Row {
  return {
    figure: `the same against Mosquitto, ${tier.name}`,
    ours: count(median(mqtt.map(round => round.rate))),
    beside: `${count(median(mosquitto))} acknowledged/s, nothing stored`,
    ratio: median(mosquitto.map((other, index) => (mqtt[index] as Round).rate / other)),
    goal: '',
  }
}
