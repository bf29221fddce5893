import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadMqtt } from './load/publish.ts'
import type { Options } from './options.ts'
import { count, median, ms, progress, type Row } from './report.ts'
import { type Sustained, sustain } from './sustain.ts'
import { openTier, type Tier, type TierName } from './tiers.ts'

const WARM_UP_SECONDS = 3
/** A rate that every tier takes easily, so that devices wait for the safety measure and not in a queue. */
const EVEN_PER_SECOND = 1_000
const NO_SYNC = fileURLToPath(new URL('no-sync.mjs', import.meta.url))

interface Way {
  name: string
  tier: Tier
}

/** A measure that keeps points safe, and the same tier without it. */
interface Safety {
  figure: string
  having: Way
  without: Way
}

/** Both at full speed and at an even load. */
interface Measured {
  full: Sustained
  even: Sustained
}

/**
 * Measures MQTT with and without each safety measure of a tier, in turn: points per second, processor time, and latency.
 */
export async function benchSafety(name: TierName, options: Options): Promise<Row[]> {
  const { safeties, close } = await openSafeties(name, options)
  try {
    const ways = [...new Set(safeties.flatMap(({ having, without }) => [having, without]))]
    const rounds = new Map(ways.map(way => [way, [] as Measured[]]))
    for (let round = 1; round <= options.rounds; round++) {
      // The order alternates, so that none is always the first.
      for (const way of round % 2 === 0 ? [...ways].reverse() : ways)
        rounds.get(way)?.push(await measure(way, options))
    }
    const roundsOf = (way: Way) => rounds.get(way) as Measured[]
    const disk = ` a sync of the disk takes ${ms(syncMs())}`
    return safeties.map(({ figure, having, without }) =>
      toRow(`MQTT QoS 1, points/s, ${name}, ${figure}`, roundsOf(having), roundsOf(without), disk),
    )
  } finally {
    await close()
  }
}

async function openSafeties(
  name: TierName,
  options: Options,
): Promise<{ safeties: Safety[]; close(): Promise<void> }> {
  const opened: Tier[] = []
  const open = async (what: string, services: Parameters<typeof openTier>[2]): Promise<Way> => {
    const tier = await openTier(name, options, services)
    opened.push(tier)
    return { name: `${name}, ${what}`, tier }
  }
  const close = async () => {
    for (const tier of opened) await tier.close()
  }
  try {
    if (name === 'embedded') {
      const having = await open('synced', {})
      const without = { name: 'embedded, not synced', tier: unsynced(having.tier) }
      return { safeties: [{ figure: 'synced to the disk', having, without }], close }
    }
    const alone = await open('as it is', {})
    const standby = await open('with a standby', { standby: true })
    const second =
      name === 'cluster'
        ? {
            figure: 'three brokers, two of them waited for',
            having: await open('with three brokers', { threeBrokers: true }),
            without: alone,
          }
        : {
            figure: 'synced to the disk',
            having: alone,
            without: await open('not synced', { fsync: false }),
          }
    return {
      safeties: [second, { figure: 'a standby that commits too', having: standby, without: alone }],
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The database's worker thread takes over the environment, but no arguments. */
function unsynced(tier: Tier): Tier {
  return {
    ...tier,
    async fresh() {
      const store = await tier.fresh()
      return { ...store, env: { ...store.env, NODE_OPTIONS: `--import=${NO_SYNC}` } }
    },
  }
}

async function measure({ name, tier }: Way, options: Options): Promise<Measured> {
  const times = { warmUpSeconds: WARM_UP_SECONDS, seconds: options.seconds }
  const load = (perSecond?: number) =>
    sustain(tier, options, { load: server => loadMqtt(server.mqtt, tier.devices, { ...times, perSecond }) })
  const full = await load()
  const even = await load(EVEN_PER_SECOND)
  progress(
    `${name}: ${count(full.rate)} points/s, ${full.cpuMicroseconds.toFixed(1)} µs of processor; at ${count(EVEN_PER_SECOND)} ` +
      `a second 50 % acknowledged within ${ms(even.load.latency.p50)}, 99 % within ${ms(even.load.latency.p99)}`,
  )
  return { full, even }
}

function toRow(figure: string, having: readonly Measured[], without: readonly Measured[], disk: string): Row {
  const rate = (rounds: readonly Measured[]) => median(rounds.map(({ full }) => full.rate))
  const cpu = (rounds: readonly Measured[]) => median(rounds.map(({ full }) => full.cpuMicroseconds))
  const waited = (rounds: readonly Measured[], part: 'p50' | 'p99') =>
    ms(median(rounds.map(({ even }) => even.load.latency[part])))
  return {
    figure,
    ours: count(rate(having)),
    beside: `${count(rate(without))} without`,
    ratio: median(having.map(({ full }, index) => full.rate / (without[index] as Measured).full.rate)),
    goal: '',
    note:
      `${cpu(having).toFixed(1)} µs of processor a point, ${cpu(without).toFixed(1)} without; at ${count(EVEN_PER_SECOND)} a second ` +
      `acknowledged within ${waited(having, 'p50')} (median) and ${waited(having, 'p99')} (99 %), ` +
      `${waited(without, 'p50')} and ${waited(without, 'p99')} without;${disk}`,
  }
}

/** The time the disk takes to sync 8 KiB: the median of a hundred. */
function syncMs(): number {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-bench-'))
  const file = openSync(join(folder, 'sync'), 'w')
  try {
    const times = Array.from({ length: 100 }, () => {
      const begun = performance.now()
      writeSync(file, Buffer.alloc(8192, 1), 0, 8192, 0)
      fdatasyncSync(file)
      return performance.now() - begun
    })
    return median(times)
  } finally {
    closeSync(file)
    rmSync(folder, { recursive: true })
  }
}
