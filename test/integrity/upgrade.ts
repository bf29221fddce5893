import type { TestDatabase } from '../support/database.ts'
import { pause } from '../support/wait.ts'
import { type LoadReport, startLoad } from './load.ts'
import { PLACES, type Place, type Processes, startProcesses } from './processes.ts'
import { countAcknowledged } from './publisher.ts'
import { type Release, THIS_RELEASE } from './releases.ts'

export interface UpgradeOptions {
  tier: string
  database: TestDatabase
  from: Release
  devices: number
  /** Points a second of all devices together. */
  rate: number
  /** The environment of the processes, such as the brokers. */
  env?: Record<string, string>
  log: (line: string) => void
}

export interface UpgradeReport extends LoadReport {
  /** Answers to the Idempotency-Key of the first request that were others. */
  forgotten: number
  /** Starts that were refused, with their sentences: a release that cannot work with a newer database. */
  refused: string[]
}

const REQUESTS_PER_SECOND = 25
const SCREENS = 3
const SETTLE_MS = 3_000

/**
 * Replaces the processes of one release by those of this one, back, and forth again, one place after the other, while
 * devices publish, requests change and read, and screens watch.
 */
export async function runUpgrade(options: UpgradeOptions): Promise<UpgradeReport> {
  const { tier, database, from, log } = options
  const places = PLACES[tier] as readonly Place[]
  const env = { WEBHOOK_ALLOW_PRIVATE: 'true', ...options.env }
  const processes = await startProcesses(database, places, from, env)
  const { devices, rate } = options
  const load = await startLoad(processes, {
    ...{ devices, rate, screens: SCREENS, requestsPerSecond: REQUESTS_PER_SECOND },
    isCluster: tier === 'cluster',
  })
  const report = { forgotten: 0, refused: [] as string[] }

  for (const [phase, release] of [
    ['forward', THIS_RELEASE],
    ['back', from],
    ['forward again', THIS_RELEASE],
  ] as const) {
    for (const place of places) {
      await pause(SETTLE_MS)
      log(
        `${phase}: ${place.name} becomes ${release.name}, ${countAcknowledged(load.publishers)} acknowledged`,
      )
      const refusal = await replaceOrStay(processes, place, release)
      if (refusal) {
        log(`refused: ${refusal}`)
        report.refused.push(refusal)
        break
      }
      if (!(await load.requests.repeatFirst())) report.forgotten++
    }
  }
  await pause(SETTLE_MS)
  const kept = { ...report, ...(await load.finish()) }
  await processes.stop()
  return kept
}

/** Resolves to the sentence with which the start was refused; this release keeps the place then. */
async function replaceOrStay(processes: Processes, place: Place, release: Release): Promise<string | null> {
  try {
    await processes.replace(place, release)
    return null
  } catch (error) {
    const sentence = /fieldline cannot start: (.*)/.exec(String(error))?.[1]
    if (!sentence || release === THIS_RELEASE) throw error
    if (place.isAlone) await processes.restart(place, THIS_RELEASE)
    return sentence
  }
}
