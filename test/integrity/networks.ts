import type { TestDatabase } from '../support/database.ts'
import { startTestKafka, type TestKafka } from '../support/kafka.ts'
import { BAD_WEATHER, type NetworkProxy, startProxy } from '../support/proxy.ts'
import { until } from '../support/wait.ts'
import type { Outage } from './outages.ts'
import type { Deployment } from './rounds.ts'

/**
 * The kernel of the database is asked to notice a dead peer after this time, for a writer's session and for every
 * other.
 */
const NOTICED_AFTER_MS = 11_000

/** A network between two parts. It can fail in every way that `proxy.ts` knows. */
export interface Network {
  name: string
  proxy: NetworkProxy
  outages: Outage[]
}

export async function startNetwork(name: string, ...args: Parameters<typeof startProxy>): Promise<Network> {
  const proxy = await startProxy(...args)
  const outages = BAD_WEATHER.map(
    (weather): Outage => ({
      name: `${name}: ${weather}`,
      connections: () => proxy.connections,
      begin: () => proxy.set(weather),
      end: () => proxy.set('clear'),
    }),
  )
  return { name, proxy, outages }
}

/** Puts the same database behind a network. */
export async function startDatabaseNetwork(
  database: TestDatabase,
): Promise<{ network: Network; database: TestDatabase }> {
  const url = new URL(database.url as string)
  const port = Number(url.port)
  const network = await startNetwork('PostgreSQL', () => port, { noticedAfterMs: NOTICED_AFTER_MS })
  url.port = `${network.proxy.port}`
  return { network, database: { ...database, url: url.href } }
}

/** Starts a broker behind a network. */
export async function startKafkaNetwork(): Promise<{ network: Network; kafka: TestKafka }> {
  let port = 0
  const network = await startNetwork('Kafka', () => port, { noticedAfterMs: NOTICED_AFTER_MS })
  const kafka = await startTestKafka({ behind: network.proxy.port })
  port = Number(kafka.brokers[0]?.split(':')[1])
  return { network, kafka: { ...kafka, brokers: [`127.0.0.1:${network.proxy.port}`] } }
}

/** Puts the devices behind one network, and the deployment's parts behind others. */
export async function putBehindNetworks<D extends Deployment>(
  deployment: D,
  others: readonly Network[],
): Promise<{ deployment: D; networks: Network[] }> {
  const devices = await startNetwork('devices', () => deployment.mqttPort)
  const networks = [devices, ...others]
  const behind = {
    ...deployment,
    mqttPort: devices.proxy.port,
    async stop() {
      for (const { name, proxy } of networks)
        await until(
          `nobody believes in a lost connection to ${name}`,
          async () => {
            // Asks as a monitor does: a process that is not asked does not notice the outage.
            await Promise.all(deployment.processes().map(({ url }) => fetch(`${url}/ready`)))
            return proxy.believed === 0
          },
          120_000,
        )
      await deployment.stop()
      for (const { proxy } of networks) await proxy.close()
    },
  }
  return { deployment: behind, networks }
}
