import { residentMiB } from '../services/processes.ts'
import type { Control } from '../services/services.ts'
import { type Client, readNewest, signIn } from '../support/client.ts'
import { pause, until } from '../support/wait.ts'
import { checkHistories, type Report } from './checker.ts'
import { countAcknowledged, type Publisher, startPublishers } from './publisher.ts'
import type { Deployment } from './rounds.ts'

/** What is away for a while, and comes back. */
export interface Outage {
  name: string
  /** Connections to it so far, where they are counted. */
  connections?(): number
  begin(): void | Promise<void>
  end(): void | Promise<void>
}

/** A service that stops answering, as behind a dead network, and one that is killed. */
export function outagesOf(service: string, control: Control): Outage[] {
  return [
    { name: `${service} frozen`, begin: control.freeze, end: control.thaw },
    { name: `${service} killed`, begin: control.kill9, end: control.start },
  ]
}

export interface OutagesOptions {
  seconds: number
  devices: number
  /** How long it runs under load before each outage: what memory it takes then is what growth is counted from. */
  settleSeconds: number
  /** Of the devices. */
  keepalive?: number
  /** Points a second of all of them together; as many as are acknowledged without. */
  rate?: number
  log?: (line: string) => void
}

export interface OutageReport {
  outage: string
  /** Points acknowledged while it lasted. */
  acknowledgedMeanwhile: number
  /** Seconds after its end until a device is acknowledged again. */
  goesOnAfter: number
  /** Seconds after its end until everything is in the history that was acknowledged up to two seconds before. */
  caughtUpAfter: number
  /** Connections to it that were opened in a second of it, in the mean; NaN where nobody counts them. */
  connectionsASecond: number
  /** By how much the resident memory of the process that grew most exceeded what it had been under load before. */
  grownMiB: number
  grownMost: string
}

const LOOK_MS = 250
/** What is on its way from the acknowledgement to the table is not behind. */
const ON_ITS_WAY_MS = 2_000

/**
 * Under load, takes one service after the other away for a while, and looks at what piles up meanwhile and how long it
 * takes until the history is at the present again. At the end every acknowledged point is looked for, by content, and
 * `closed` counts the connections that the server did not hold.
 */
export async function runOutagesOn(
  deployment: Deployment,
  outages: readonly Outage[],
  options: OutagesOptions,
): Promise<{ outages: OutageReport[]; report: Report & { closed: number } }> {
  const { log = () => {} } = options
  const owner = await signIn(deployment)
  const publishers = await startPublishers(owner, () => deployment.mqttPort, options.devices, {
    keepalive: options.keepalive,
    rate: options.rate,
  })
  const reports: OutageReport[] = []
  for (const outage of outages) {
    const report = await runOutage(deployment, outage, owner, publishers, options)
    log(
      `${report.outage} for ${options.seconds} s: ${report.acknowledgedMeanwhile} acknowledged meanwhile, again ` +
        `after ${report.goesOnAfter.toFixed(1)} s, caught up after ${report.caughtUpAfter.toFixed(1)} s; ` +
        `${report.grownMost} grew most, by ${report.grownMiB.toFixed(0)} MiB`,
    )
    reports.push(report)
  }
  const closed = publishers.reduce((sum, { connections }) => sum + connections - 1, 0)
  await Promise.all(publishers.map(publisher => publisher.finish()))
  await deployment.settle()
  const report = await checkHistories(owner, publishers)
  await deployment.stop()
  return { outages: reports, report: { ...report, closed } }
}

async function runOutage(
  deployment: Deployment,
  outage: Outage,
  owner: Client,
  publishers: readonly Publisher[],
  { seconds, settleSeconds }: OutagesOptions,
): Promise<OutageReport> {
  const memory = watchMemory(deployment)
  const history = watchHistory(owner, publishers)
  try {
    await pause(settleSeconds * 1000)
    memory.startCounting()
    const before = countAcknowledged(publishers)
    const connectionsBefore = outage.connections?.() ?? Number.NaN
    await outage.begin()
    await pause(seconds * 1000)
    const acknowledgedMeanwhile = countAcknowledged(publishers) - before
    const connectionsASecond = ((outage.connections?.() ?? Number.NaN) - connectionsBefore) / seconds
    await outage.end()
    const back = Date.now()
    const atBack = countAcknowledged(publishers)
    await until('devices are acknowledged again', () => countAcknowledged(publishers) > atBack, 120_000)
    const goesOnAfter = (Date.now() - back) / 1000
    await until('the history is at the present', history.isAtPresentSince(Date.now()), 10 * 60_000)
    const caughtUpAfter = (Date.now() - back) / 1000
    return {
      outage: outage.name,
      acknowledgedMeanwhile,
      goesOnAfter,
      caughtUpAfter,
      connectionsASecond,
      ...memory.grown(),
    }
  } finally {
    memory.end()
    history.end()
  }
}

/** Resident memory of every process of ours (proc(5)): the most before and the most after `startCounting`. */
function watchMemory(deployment: Deployment) {
  const before = new Map<string, number>()
  const after = new Map<string, number>()
  let most = before
  const look = () => {
    for (const { name, pid } of deployment.processes())
      most.set(name, Math.max(most.get(name) ?? 0, residentMiB(pid)))
  }
  const looking = setInterval(look, LOOK_MS)
  return {
    startCounting() {
      most = after
    },
    grown(): Pick<OutageReport, 'grownMiB' | 'grownMost'> {
      const grown = [...after].map(([name, mebibytes]) => ({
        grownMost: name,
        grownMiB: mebibytes - (before.get(name) as number),
      }))
      return grown.reduce((most, one) => (one.grownMiB > most.grownMiB ? one : most))
    },
    end: () => clearInterval(looking),
  }
}

/** Remembers what was acknowledged when, so that the history can be held against it. */
function watchHistory(owner: Client, publishers: readonly Publisher[]) {
  const seen: { at: number; newest: Map<string, string> }[] = []
  const looking = setInterval(() => {
    const newest = new Map(publishers.map(({ device, newest }) => [device.id, newest]))
    seen.push({ at: Date.now(), newest })
    if (seen.length > 1 + ON_ITS_WAY_MS / LOOK_MS) seen.shift()
  }, LOOK_MS)
  return {
    /** Asks for the newest point of every device; each partition is stored in order, so what is older is there too. */
    isAtPresentSince: (since: number) => async (): Promise<boolean> => {
      const [expected] = seen
      if (!expected || expected.at < since) return false
      const stored = await readNewest(owner).catch(() => null)
      if (!stored) return false
      return [...expected.newest].every(([id, timestamp]) => (stored.get(id)?.timestamp ?? '') >= timestamp)
    },
    end: () => clearInterval(looking),
  }
}
