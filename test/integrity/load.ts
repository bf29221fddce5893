import { createClient, readNewest, signIn } from '../support/client.ts'
import { isStored } from '../support/figures.ts'
import { shows } from '../support/screen.ts'
import { until } from '../support/wait.ts'
import { checkHistories, type Report } from './checker.ts'
import { type Publisher, startPublishers } from './publisher.ts'
import { type RequestReport, type Requests, startRequests } from './requests.ts'
import { startWatcher, type Watcher } from './watcher.ts'

/** Where clients find the roles at this moment: processes, or a balancer. */
export interface Access {
  /** Null while nobody with the role serves. */
  urlOf(role: string): string | null
  mqttPort(): number
}

export interface LoadOptions {
  devices: number
  /** Points a second of all devices together. */
  rate: number
  screens: number
  requestsPerSecond: number
  /** Points are acknowledged before they are stored. */
  isCluster: boolean
}

export interface LoadReport {
  points: Report
  requests: RequestReport
  /** Screens that do not show the newest point of each device, or showed an older one after a newer one. */
  wrongScreens: number
  /** How often a screen came back with its cursor. */
  resumed: number
  /** Screens that had to begin anew, because their cursor was worth nothing. */
  snapshots: number
  longestWaitMs: number
}

/** Devices that publish, callers of the interface and screens, and at the end what became of all that they did. */
export interface Load {
  publishers: Publisher[]
  requests: Requests
  finish(): Promise<LoadReport>
}

export async function startLoad(access: Access, options: LoadOptions): Promise<Load> {
  const urlOf = (role: string) => access.urlOf(role) ?? 'http://127.0.0.1:1'
  const owner = await signIn({ url: urlOf('api') })
  let longestWaitMs = 0
  const onAcknowledged = (ms: number) => {
    longestWaitMs = Math.max(longestWaitMs, ms)
  }
  const { devices, rate, screens, requestsPerSecond, isCluster } = options
  const publishers = await startPublishers(owner, access.mqttPort, devices, { rate, onAcknowledged })
  const requests = await startRequests(owner, () => access.urlOf('api'), requestsPerSecond)
  const watchers: Watcher[] = []
  for (let n = 0; n < screens; n++) watchers.push(await startWatcher(() => urlOf('live'), owner))
  return {
    publishers,
    requests,
    async finish() {
      const answered = await requests.finish()
      await Promise.all(publishers.map(publisher => publisher.finish()))
      if (isCluster) await until('everything is stored', () => isStored({ url: urlOf('ingest') }))
      const client = createClient({ url: urlOf('api') }, owner.token)
      const points = await checkHistories(client, publishers)
      const newest = await readNewest(client)
      const isRight = (watcher: Watcher) => watcher.backwards === 0 && shows(watcher.screen, newest)
      await until('the screens show it', () => watchers.every(isRight), 30_000).catch(() => {})
      const sum = (of: (watcher: Watcher) => number) =>
        watchers.reduce((total, watcher) => total + of(watcher), 0)
      const report = {
        points,
        requests: answered,
        wrongScreens: watchers.filter(watcher => !isRight(watcher)).length,
        resumed: sum(({ resumed }) => resumed),
        snapshots: sum(({ snapshots }) => snapshots),
        longestWaitMs: Math.round(longestWaitMs),
      }
      await Promise.all(watchers.map(watcher => watcher.stop()))
      return report
    },
  }
}
