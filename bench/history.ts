import { setTimeout as sleep } from 'node:timers/promises'
import { quietMoment } from './cpu.ts'
import { fillPoints } from './fill.ts'
import { openDumper } from './limit/dump.ts'
import { bulkBody } from './load/frames.ts'
import type { Options } from './options.ts'
import { count, median, ms, progress, type Row } from './report.ts'
import { type Server, signIn, startFieldline } from './server.ts'
import type { Store, Tier } from './tiers.ts'

const DAY_POINTS = 86_400
const REQUEST_POINTS = 4_800
const DAY_MS = 24 * 3600_000
const PAGE = 1_000
const READS_PER_ROUND = 5
const PAGES_PER_ROUND = 20

/** Measures one subject's day as JSON against COPY of the same rows, and its first page while the table grows. */
export async function benchHistory(tier: Tier, options: Options): Promise<Row[]> {
  return [await benchDay(tier, options), await benchGrowth(tier, options)]
}

async function benchDay(tier: Tier, options: Options): Promise<Row> {
  const store = await tier.fresh()
  try {
    const from = await sendDay(tier, options, store)
    const day = { from, to: from + DAY_MS }
    const ours: number[] = []
    const theirs: number[] = []
    const ratios: number[] = []
    for (let round = 1; round <= options.rounds; round++) {
      const server = await startFieldline(options, store)
      const token = await signIn(server)
      const query = `deviceId=${tier.devices[0]?.id}&from=${day.from}&to=${day.to}&limit=100000`
      const read = () => get(server, token, query, DAY_POINTS)
      await quietMoment(options.patienceSeconds)
      await read()
      const reading = await repeat(READS_PER_ROUND, read)
      await server.stop()
      const dumper = await openDumper(store, day, DAY_POINTS)
      await quietMoment(options.patienceSeconds)
      await dumper.dump()
      const dumping = await repeat(READS_PER_ROUND, dumper.dump)
      await dumper.close()
      progress(`round ${round}: a day as JSON in ${ms(reading)}, by ${dumper.name} in ${ms(dumping)}`)
      ours.push(reading)
      theirs.push(dumping)
      ratios.push(dumping / reading)
      if (round === options.rounds) {
        return {
          figure: `history, a day of ${count(DAY_POINTS)} points as JSON, ${tier.name}`,
          ours: `${ms(median(ours))}, ${count((DAY_POINTS / median(ours)) * 1000)} points/s`,
          beside: `${ms(median(theirs))}, ${dumper.name}`,
          ratio: median(ratios),
          goal: '0.30, and 300,000 points/s',
        }
      }
    }
    throw new Error('There has to be a round')
  } finally {
    await store.remove()
  }
}

/**
 * Sends a point per second for the first device through the API. Returns the beginning of the day, in milliseconds since
 * 1970.
 */
async function sendDay(tier: Tier, options: Options, store: Store): Promise<number> {
  const server = await startFieldline(options, store)
  const from = Math.floor(Date.now() / DAY_MS) * DAY_MS - 10 * DAY_MS
  const body = bulkBody(REQUEST_POINTS)
  for (let sent = 0; sent < DAY_POINTS; sent += REQUEST_POINTS) {
    for (let index = 0; index < REQUEST_POINTS; index++) body.patch(index, from + (sent + index) * 1000)
    const response = await fetch(`${server.ingestUrl}/api/v3/location-history/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tier.devices[0]?.key}`, 'content-type': 'application/json' },
      body: new Uint8Array(body.bytes),
    })
    if (!response.ok) throw new Error(`bulk: ${response.status} ${await response.text()}`)
  }
  await server.stop()
  return from
}

/** Measures the same page with ten or twenty times the rows, on two servers in turn. */
async function benchGrowth(tier: Tier, options: Options): Promise<Row> {
  const [less, more] = options.full ? [1e6, 20e6] : [2e5, 2e6]
  const from = Math.floor(Date.now() / DAY_MS) * DAY_MS - 10 * DAY_MS
  const open = async (rows: number) => {
    const store = await tier.fresh()
    progress(`filling ${count(rows)} rows`)
    await fillPoints(store, { rows, dayFrom: from, dayPoints: DAY_POINTS })
    const server = await startFieldline(options, store)
    return { store, server, token: await signIn(server) }
  }
  const small = await open(less)
  const large = await open(more)
  try {
    // Waits, so that autovacuum and the checkpoint of filling are not measured.
    await sleep(5_000)
    const query = `deviceId=${tier.devices[0]?.id}&from=${from}&to=${from + DAY_MS}&limit=${PAGE}`
    const read = (place: typeof small) => () => get(place.server, place.token, query, PAGE)
    const inSmall: number[] = []
    const inLarge: number[] = []
    const ratios: number[] = []
    for (let round = 0; round <= options.rounds; round++) {
      await quietMoment(options.patienceSeconds)
      const one = await repeat(PAGES_PER_ROUND, read(small))
      const other = await repeat(PAGES_PER_ROUND, read(large))
      // The first round warms up both.
      if (round === 0) continue
      inSmall.push(one)
      inLarge.push(other)
      ratios.push(other / one)
    }
    return {
      figure: `growth, first page of ${count(PAGE)} with ${count(more)} rows stored, ${tier.name}`,
      ours: ms(median(inLarge)),
      beside: `${ms(median(inSmall))} with ${count(less)}`,
      ratio: median(ratios),
      goal: 'at most 1.3',
    }
  } finally {
    for (const { server, store } of [small, large]) {
      await server.stop()
      await store.remove()
    }
  }
}

/** Reads the answer as bytes to its end, and only checks its length and end, so that JSON.parse is not measured. */
async function get(server: Server, token: string, query: string, points: number): Promise<void> {
  const response = await fetch(`${server.url}/api/v3/location-histories?${query}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const body = Buffer.from(await response.arrayBuffer())
  if (!response.ok) throw new Error(`${response.status} ${body}`)
  let found = 0
  for (let at = body.indexOf('{"_id"'); at >= 0; at = body.indexOf('{"_id"', at + 100)) found++
  if (found !== points) throw new Error(`${found} points instead of ${points}`)
}

/** The median time of several runs in milliseconds. */
async function repeat(times: number, work: () => Promise<void>): Promise<number> {
  const taken: number[] = []
  for (let time = 0; time < times; time++) {
    const begun = performance.now()
    await work()
    taken.push(performance.now() - begun)
  }
  return median(taken)
}
