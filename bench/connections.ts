import { setTimeout as sleep } from 'node:timers/promises'
import { startMosquitto } from '../test/services/mosquitto.ts'
import type { ConnectionOrder } from './load/connections.ts'
import { type Generator, startGenerator } from './load/orders.ts'
import type { Options } from './options.ts'
import { count, median, ms, progress, type Row } from './report.ts'
import { makeDevices, residentBytes, type Server, startFieldline } from './server.ts'
import type { Tier } from './tiers.ts'

type Load = Generator<ConnectionOrder>

const startLoad = () => startGenerator<ConnectionOrder>(new URL('load/connections.ts', import.meta.url))

const CONNECTIONS = 10_000
/** Excludes the memory that a server takes once (code, caches, a grown heap) from that of the connections. */
const WARM_UP_CONNECTIONS = 500
/** The time until V8 has collected the garbage of connecting. */
const SETTLE_MS = 30_000
const GOAL_BYTES = 20_000
const DEFAULT_PER_SECOND = '1000'

/** Measures the memory of an idle MQTT connection, and how long all take to reconnect at once. */
export async function benchConnections(tier: Tier, options: Options): Promise<Row[]> {
  const memory: number[] = []
  const storms: Storm[] = []
  const limited: Storm[] = []
  const mosquitto: number[] = []
  for (let round = 1; round <= options.rounds; round++) {
    memory.push(await measureMemory(tier, options))
    storms.push(await measureStorm(tier, options, '0'))
    limited.push(await measureStorm(tier, options, DEFAULT_PER_SECOND))
    const other = await measureMosquitto(tier)
    if (other !== undefined) mosquitto.push(other)
  }
  const seconds = median(storms.map(storm => storm.seconds))
  const toNote = (rounds: readonly Storm[]) =>
    `a device that publishes meanwhile is acknowledged within ${ms(median(rounds.map(({ p50 }) => p50)))} (median), ` +
    `${ms(median(rounds.map(({ p99 }) => p99)))} (99 %)`
  return [
    {
      figure: `memory per idle MQTT connection (${count(CONNECTIONS)}), bytes, ${tier.name}`,
      ours: count(median(memory)),
      beside: '65,000, published by ThingsBoard',
      ratio: median(memory) / 65_000,
      goal: `${count(GOAL_BYTES)} bytes`,
    },
    {
      figure: `${count(CONNECTIONS)} reconnect at once, seconds until the last is accepted, ${tier.name}`,
      ours: seconds.toFixed(1),
      beside:
        mosquitto.length > 0 ? `${median(mosquitto).toFixed(1)} Mosquitto, which asks nobody for a key` : '',
      ratio: mosquitto.length > 0 ? seconds / median(mosquitto) : undefined,
      goal: '',
      note: toNote(storms),
    },
    {
      figure: `the same with the default of ${DEFAULT_PER_SECOND} connections a second, ${tier.name}`,
      ours: median(limited.map(storm => storm.seconds)).toFixed(1),
      beside: '',
      goal: '',
      note: toNote(limited),
    },
  ]
}

interface Storm {
  seconds: number
  /** Milliseconds to the acknowledgement of a point during the storm. */
  p50: number
  p99: number
}

/** Starts a server with load generators in processes of their own: one holds connections, and one publishes. */
async function withServer<T>(
  tier: Tier,
  options: Options,
  perSecond: string,
  work: (server: Server, load: Load, publisher: Load) => Promise<T>,
): Promise<T> {
  const store = await tier.fresh()
  const env = { ...store.env, MQTT_CONNECTIONS_PER_SECOND: perSecond }
  const server = await startFieldline(options, { ...store, env })
  const [load, publisher] = [startLoad(), startLoad()]
  try {
    return await work(server, load, publisher)
  } finally {
    await Promise.all([load.end(), publisher.end()])
    await server.stop().finally(() => store.remove())
  }
}

const open = ({ mqtt }: { mqtt: { host: string; port: number } }, load: Load, tier: Tier, number: number) =>
  load.ask<{ seconds: number }>({ do: 'open', ...mqtt, devices: tier.devices, count: number })

async function measureMemory(tier: Tier, options: Options): Promise<number> {
  return withServer(tier, options, '0', async (server, load) => {
    await open(server, load, tier, WARM_UP_CONNECTIONS)
    await load.ask({ do: 'drop' })
    await sleep(SETTLE_MS)
    const before = residentBytes(server)
    await open(server, load, tier, CONNECTIONS)
    await sleep(SETTLE_MS)
    const bytes = (residentBytes(server) - before) / CONNECTIONS
    progress(`${count(CONNECTIONS)} idle connections, ${count(bytes)} bytes each after ${SETTLE_MS / 1000} s`)
    return bytes
  })
}

async function measureStorm(tier: Tier, options: Options, perSecond: string): Promise<Storm> {
  return withServer(tier, options, perSecond, async (server, load, publisher) => {
    await open(server, load, tier, CONNECTIONS)
    const [device] = await makeDevices(server, 1)
    if (!device) throw new Error('There is no device to publish with')
    await publisher.ask({ do: 'publish', ...server.mqtt, device, everyMs: 5 })
    const { held } = await load.ask<{ held: number }>({ do: 'drop' })
    if (held !== CONNECTIONS) throw new Error(`${held} connections of ${CONNECTIONS} were still open`)
    const { seconds } = await open(server, load, tier, CONNECTIONS)
    const { latencies } = await publisher.ask<{ latencies: number[] }>({ do: 'latencies' })
    const sorted = latencies.sort((a, b) => a - b)
    const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN
    const limit = perSecond === '0' ? 'no limit' : `at most ${perSecond} a second`
    progress(
      `${count(CONNECTIONS)} back after ${seconds.toFixed(1)} s (${limit}), a point within ${ms(at(0.99))} (99 %)`,
    )
    return { seconds, p50: at(0.5), p99: at(0.99) }
  })
}

async function measureMosquitto(tier: Tier): Promise<number | undefined> {
  const mosquitto = await startMosquitto({ config: 'max_connections -1' })
  if (!mosquitto.available) {
    progress(mosquitto.reason)
    return undefined
  }
  const load = startLoad()
  try {
    const at = { host: '127.0.0.1', port: mosquitto.port }
    await open({ mqtt: at }, load, tier, CONNECTIONS)
    await load.ask({ do: 'drop' })
    return (await open({ mqtt: at }, load, tier, CONNECTIONS)).seconds
  } finally {
    await load.end()
    await mosquitto.stop()
  }
}
