import { residentMiB } from '../services/processes.ts'
import type { Control } from '../services/services.ts'
import { type Client, readNewest, signIn } from '../support/client.ts'
import { pause, until } from '../support/wait.ts'
import { checkHistories, type Report } from './checker.ts'
import { countAcknowledged, type Publisher, startPublishers } from './publisher.ts'
import type { Deployment } from './rounds.ts'

/** A service that is unavailable for a while and comes back. */
export interface Outage {
  name: string
  /** Returns the number of connections to it so far, if they are counted. */
  connections?(): number
  begin(): void | Promise<void>
  end(): void | Promise<void>
}

/** Two outages: the service stops answering, as behind a dead network; and the service is killed. */
export function outagesOf(service: string, control: Control): Outage[] {
  return [
    { name: `${service} frozen`, begin: control.freeze, end: control.thaw },
    { name: `${service} killed`, begin: control.kill9, end: control.start },
  ]
}

export interface OutagesOptions {
  seconds: number
  devices: number
  /** The deployment runs this long under load before each outage. Growth is measured from the memory that it uses then. */
  settleSeconds: number
  /** The keepalive of the devices, in seconds. */
  keepalive?: number
  /** Points a second of all devices together; unset, as many as are acknowledged. */
  rate?: number
  log?: (line: string) => void
}

export interface OutageReport {
  outage: string
  /** Points that were acknowledged while it settled, before the outage. */
  acknowledgedBefore: number
  /** Points that were acknowledged during the outage. */
  acknowledgedMeanwhile: number
  /** Seconds from its end until a device gets an acknowledgement again. */
  goesOnAfter: number
  /** Seconds from its end until the history has everything that was acknowledged up to two seconds before. */
  caughtUpAfter: number
  /** New connections to it a second during the outage, on average; NaN if they are not counted. */
  connectionsASecond: number
  /** The growth of the process that grew most: its resident memory, minus the memory that it used under load before. */
  grownMiB: number
  grownMost: string
}

const LOOK_MS = 250
/** A point that is under way from its acknowledgement to the table does not count as late. */
const ON_ITS_WAY_MS = 2_000

/**
 * Puts a deployment under load and takes one service after the other away for a while. Measures memory and
 * connections during the outage, and the time until the history has caught up. At the end it looks for every
 * acknowledged point and its content; `closed` counts the connections that the server did not keep.
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
    const atBegin = countAcknowledged(publishers)
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
      acknowledgedBefore: before - atBegin,
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

/**
 * Samples the resident memory of each of our processes (proc(5)). Keeps the maximum before `startCounting` and the
 * maximum after it.
 */
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

/** Remembers when each point was acknowledged, to compare this with the history. */
function watchHistory(owner: Client, publishers: readonly Publisher[]) {
  const seen: { at: number; newest: Map<string, string> }[] = []
  const looking = setInterval(() => {
    const newest = new Map(publishers.map(({ device, newest }) => [device.id, newest]))
    seen.push({ at: Date.now(), newest })
    if (seen.length > 1 + ON_ITS_WAY_MS / LOOK_MS) seen.shift()
  }, LOOK_MS)
  return {
    /** Asks for the newest point of every device. Each partition is stored in order, so all older points are there too. */
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
