import { quietMoment } from './cpu.ts'
import { loadMqtt } from './load/publish.ts'
import type { Options } from './options.ts'
import { count, median, progress, type Row } from './report.ts'
import { type Server, startFieldline } from './server.ts'
import type { Store, Tier } from './tiers.ts'

const WARM_UP_SECONDS = 3
const FIRST_DAYS_AGO = 30

/** Measures the points per second that MQTT takes during other work, and without it. */
export async function ingestBeside(
  tier: Tier,
  options: Options,
  beside: string,
  prepare: (store: Store) => Promise<(server: Server) => Promise<{ isDone(): Promise<boolean> }>>,
): Promise<Row> {
  const rates: number[] = []
  const alone: number[] = []
  for (let round = 1; round <= options.rounds; round++) {
    const store = await tier.fresh()
    try {
      const begin = await prepare(store)
      const server = await startFieldline(options, store)
      const measure = async (daysAgo: number) => {
        const firstTimeMs = Date.now() - daysAgo * 24 * 3600_000
        const load = { warmUpSeconds: WARM_UP_SECONDS, seconds: options.seconds, firstTimeMs }
        const { acknowledged, seconds } = await loadMqtt(server.mqtt, tier.devices, load)
        return acknowledged / seconds
      }
      await quietMoment(options.patienceSeconds)
      const without = await measure(FIRST_DAYS_AGO)
      const work = await begin(server)
      // Points older than the ones before would be late, and late points take longer.
      const rate = await measure(FIRST_DAYS_AGO / 2)
      if (await work.isDone())
        throw new Error(`The ${beside} ended before the window did: take more --records`)
      await server.stop()
      progress(`round ${round}: ${count(rate)} points/s beside an ${beside}, ${count(without)} without`)
      rates.push(rate)
      alone.push(without)
    } finally {
      await store.remove()
    }
  }
  return {
    figure: `MQTT QoS 1, points/s beside an ${beside}, ${tier.name}`,
    ours: count(median(rates)),
    beside: `${count(median(alone))} without`,
    ratio: median(rates.map((rate, at) => rate / (alone[at] as number))),
    goal: '0.90',
  }
}
