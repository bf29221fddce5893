import { setTimeout as sleep } from 'node:timers/promises'
import { quietMoment } from './cpu.ts'
import type { BareOrder } from './load/bare-ws.ts'
import { type Generator, startGenerator } from './load/orders.ts'
import { loadMqtt } from './load/publish.ts'
import type { Probed, ScreenOrder } from './load/screens.ts'
import type { Options } from './options.ts'
import { count, median, ms, progress, type Row } from './report.ts'
import { type Device, makeDevices, residentBytes, type Server, signIn, startFieldline } from './server.ts'
import type { Tier } from './tiers.ts'

const TICK_MS = 250
const SCREENS = 200
const PROBES = 10
/** More than two cores can send: 1,000 screens with 2,000 subjects that all move between two ticks. */
const MANY_SCREENS = 1_000
const MANY_SUBJECTS = 2_000
const MOVES_PER_SECOND = 8
const IDLE_SCREENS = 10_000
const WARM_UP_SCREENS = 500
const GOAL_BYTES = 20_000
const WARM_UP_SECONDS = 3
const SETTLE_MS = 30_000

/** Measures how soon a point appears on screens, how many positions can be sent, and the memory of a screen. */
export async function benchLive(tier: Tier, options: Options): Promise<Row[]> {
  const probed: (Probed & { rate: number })[] = []
  const delivered: { ours: number; bare: number }[] = []
  const memory: number[] = []
  for (let round = 1; round <= options.rounds; round++) {
    await quietMoment(options.patienceSeconds)
    probed.push(
      await withServer(tier, options, (server, screens) => measureLatency(tier, server, screens, options)),
    )
    await quietMoment(options.patienceSeconds)
    delivered.push(
      await withServer(tier, options, (server, screens) => measureDelivery(server, screens, options)),
    )
    memory.push(await withServer(tier, options, measureMemory))
  }
  const p99 = median(probed.map(({ latency }) => latency.p99))
  const rate = median(probed.map(({ rate }) => rate))
  return [
    {
      figure: `publish to screen, 99 %, at ${count(rate)} points/s (half of what MQTT takes) with ${SCREENS} screens, ${tier.name}`,
      ours: ms(p99),
      beside: `the tick, ${TICK_MS} ms`,
      ratio: p99 / TICK_MS,
      goal: '400 ms',
      note: `${ms(median(probed.map(({ latency }) => latency.p50)))} in the median; ${count(probed.reduce((sum, { missed }) => sum + missed, 0))} missed`,
    },
    {
      figure: `positions delivered a second to ${count(MANY_SCREENS)} screens, ${tier.name}`,
      ours: count(median(delivered.map(({ ours }) => ours))),
      beside: `${count(median(delivered.map(({ bare }) => bare)))}, bare ws`,
      ratio: median(delivered.map(({ ours, bare }) => ours / bare)),
      goal: '0.50',
    },
    {
      figure: `memory per watching screen (${count(IDLE_SCREENS)}), bytes, ${tier.name}`,
      ours: count(median(memory)),
      beside: '65,000, published by ThingsBoard for a connection',
      ratio: median(memory) / 65_000,
      goal: `${count(GOAL_BYTES)} bytes`,
    },
  ]
}

type Screens = Generator<ScreenOrder>

async function withServer<T>(
  tier: Tier,
  options: Options,
  work: (server: Server, screens: Screens) => Promise<T>,
): Promise<T> {
  const store = await tier.fresh()
  const server = await startFieldline(options, store)
  const screens = startScreens()
  try {
    return await work(server, screens)
  } finally {
    await screens.end()
    await server.stop().finally(() => store.remove())
  }
}

const startScreens = () => startGenerator<ScreenOrder>(new URL('load/screens.ts', import.meta.url))

async function measureLatency(tier: Tier, server: Server, screens: Screens, options: Options) {
  const most = await publish(server, tier.devices, { seconds: options.seconds })
  const probes = await makeDevices(server, PROBES)
  await screens.ask({ do: 'open', url: server.liveUrl, token: await signIn(server), count: SCREENS })
  const load = publish(server, tier.devices, {
    seconds: options.seconds + WARM_UP_SECONDS,
    perSecond: most.acknowledged / most.seconds / 2,
  })
  await sleep(2 * WARM_UP_SECONDS * 1000)
  await screens.ask({ do: 'probe', ...server.mqtt, devices: probes })
  await sleep(options.seconds * 1000)
  const probed = await screens.ask<Probed>({ do: 'probed' })
  const { acknowledged, seconds } = await load
  const rate = acknowledged / seconds
  progress(
    `${count(rate)} points/s: ${count(probed.points)} points on ${SCREENS} screens, ` +
      `50 % within ${ms(probed.latency.p50)}, 99 % within ${ms(probed.latency.p99)}, ${probed.missed} missed`,
  )
  return { ...probed, rate }
}

async function measureDelivery(
  server: Server,
  screens: Screens,
  { seconds }: Options,
): Promise<{ ours: number; bare: number }> {
  const devices = await makeDevices(server, MANY_SUBJECTS)
  const frame = JSON.stringify({
    type: 'positions',
    cursor: 'c'.repeat(64),
    positions: devices.map(toPosition),
  })
  const open = (generator: Screens, url: string, token?: string) =>
    generator.ask({ do: 'open', url, token, count: MANY_SCREENS })
  const rateOf = async (generator: Screens): Promise<number> => {
    const { bytes } = await generator.ask<{ bytes: number }>({ do: 'count', seconds })
    await generator.end()
    return bytes / (frame.length / MANY_SUBJECTS) / seconds
  }
  await open(screens, server.liveUrl, await signIn(server))
  const load = publish(server, devices, {
    seconds: seconds + 2 * WARM_UP_SECONDS,
    perSecond: MANY_SUBJECTS * MOVES_PER_SECOND,
  })
  await sleep(3 * WARM_UP_SECONDS * 1000)
  const ours = await rateOf(screens)
  await load

  const peer = startGenerator<BareOrder>(new URL('load/bare-ws.ts', import.meta.url))
  const { port } = await peer.ask<{ port: number }>({ frame })
  const others = startScreens()
  await open(others, `ws://127.0.0.1:${port}`)
  await sleep(WARM_UP_SECONDS * 1000)
  const bare = await rateOf(others)
  await peer.end()
  progress(`${count(ours)} positions/s to ${count(MANY_SCREENS)} screens, bare ws ${count(bare)}`)
  return { ours, bare }
}

/** A position in the form of the live stream. */
const toPosition = ({ id }: Device, index: number) => ({
  subjectId: id,
  subjectType: 'device',
  name: `Tracker ${index + 1}`,
  lat: 52.520_123_4,
  lng: 13.404_954,
  timestamp: new Date().toISOString(),
  speed: 12.25,
  heading: 270.5,
  accuracy: 5.5,
  battery: 87,
  state: 'moving',
})

async function measureMemory(server: Server, screens: Screens): Promise<number> {
  const token = await signIn(server)
  const open = (howMany: number) => screens.ask({ do: 'open', url: server.liveUrl, token, count: howMany })
  await open(WARM_UP_SCREENS)
  await sleep(SETTLE_MS)
  const before = residentBytes(server)
  await open(IDLE_SCREENS)
  await sleep(SETTLE_MS)
  const bytes = (residentBytes(server) - before) / IDLE_SCREENS
  progress(`${count(IDLE_SCREENS)} watching screens, ${count(bytes)} bytes each after ${SETTLE_MS / 1000} s`)
  return bytes
}

const publish = ({ mqtt }: Server, devices: Device[], pace: { seconds: number; perSecond?: number }) =>
  loadMqtt(mqtt, devices, {
    warmUpSeconds: WARM_UP_SECONDS,
    // Later than all points sent before at full speed, so that every point moves its subject.
    ...(pace.perSecond ? { firstTimeMs: Date.now() - 15 * 24 * 3600_000 } : {}),
    ...pace,
  })
