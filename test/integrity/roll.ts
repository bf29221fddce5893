import { startNginx } from '../services/nginx.ts'
import type { TestDatabase } from '../support/database.ts'
import { pause } from '../support/wait.ts'
import { type LoadReport, startLoad } from './load.ts'
import { BEHIND_BALANCER, startProcesses } from './processes.ts'
import { countAcknowledged } from './publisher.ts'
import { THIS_RELEASE } from './releases.ts'

export interface RollOptions {
  database: TestDatabase
  env: Record<string, string>
  devices: number
  screens: number
  requestsPerSecond: number
  rate: number
  log: (line: string) => void
}

const SETTLE_MS = 2_000

/**
 * Replaces every process of a cluster in turn: it is told to stop, ends, and starts again with its address, while devices,
 * screens and callers come through nginx, which learns of it only by what it gets.
 */
export async function runRoll(options: RollOptions): Promise<LoadReport> {
  const { database, log, ...load } = options
  const behindNginx = { TRUSTED_PROXIES: '127.0.0.1', MQTT_PROXY_PROTOCOL: 'true' }
  const env = { WEBHOOK_ALLOW_PRIVATE: 'true', ...behindNginx, ...options.env }
  const processes = await startProcesses(database, BEHIND_BALANCER, THIS_RELEASE, env)
  const portsOf = (role: string) => processes.withRole(role).map(({ url }) => Number(new URL(url).port))
  const nginx = await startNginx({
    ...{ api: portsOf('api'), live: portsOf('live'), ingest: portsOf('ingest') },
    mqtt: processes.withRole('ingest').map(({ mqttPort }) => mqttPort),
  })
  if (!nginx.available) throw new Error(nginx.reason)
  // The figures of the log are those of a process, which nginx does not show.
  const urlOf = (role: string) => (role === 'ingest' ? processes.urlOf(role) : nginx.url)
  try {
    const running = await startLoad({ urlOf, mqttPort: () => nginx.mqttPort }, { ...load, isCluster: true })
    for (const place of BEHIND_BALANCER) {
      await pause(SETTLE_MS)
      const begun = performance.now()
      await processes.replace(place, THIS_RELEASE)
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      log(`${place.name} replaced in ${seconds} s, ${countAcknowledged(running.publishers)} acknowledged`)
    }
    await pause(SETTLE_MS)
    return await running.finish()
  } finally {
    await nginx.stop()
    await processes.stop()
  }
}
