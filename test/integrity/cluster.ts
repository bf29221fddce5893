import type { TestDatabase } from '../support/database.ts'
import { isStored } from '../support/figures.ts'
import type { TestKafka } from '../support/kafka.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import type { Deployment, Victim } from './rounds.ts'

/** There are two writers, so that one takes over the partitions of the other. */
const PROCESSES = {
  api: 'api,jobs',
  ingest: 'ingest',
  'the first writer': 'writer',
  'the second writer': 'writer',
  live: 'live',
}
/** Takes over connections to brokers from the other process with this role. */
const SECOND_INGEST = 'the second ingest'
type Usual = keyof typeof PROCESSES
type Name = Usual | typeof SECOND_INGEST

/** The cluster tier: each role in its own process, and the services that it depends on. */
export interface Cluster extends Deployment {
  servers: Record<Usual, ServerProcess> & Partial<Record<typeof SECOND_INGEST, ServerProcess>>
  /** Restarts a killed process on its ports. */
  restart(name: Name): Promise<void>
}

/** The only broker of a cluster as a victim. */
export const toBroker = ({ control }: Pick<TestKafka, 'control'>): Victim => ({
  name: 'Kafka',
  async killAndRestart() {
    await control.kill9()
    await control.start()
  },
})

export function startProcess(
  database: TestDatabase,
  kafka: Pick<TestKafka, 'brokers'>,
  roles: string,
  ports: Record<string, string> = {},
): Promise<ServerProcess> {
  const env = {
    ROLES: roles,
    KAFKA_BROKERS: kafka.brokers.join(','),
    KAFKA_PARTITIONS: '4',
    KAFKA_REPLICATION: `${kafka.brokers.length}`,
    ...ports,
  }
  return startServer(database, env)
}

export async function deployCluster(
  database: TestDatabase,
  kafka: Pick<TestKafka, 'brokers'>,
  others: readonly Victim[] = [],
  { env = {}, hasSecondIngest = false }: { env?: Record<string, string>; hasSecondIngest?: boolean } = {},
): Promise<Cluster> {
  const servers = {} as Record<Name, ServerProcess>
  const start = async (name: Name, ports: Record<string, string> = {}) => {
    const roles = name === SECOND_INGEST ? 'ingest' : PROCESSES[name]
    servers[name] = await startProcess(database, kafka, roles, { ...env, ...ports })
  }
  const names: Name[] = [
    ...(Object.keys(PROCESSES) as Usual[]),
    ...(hasSecondIngest ? ([SECOND_INGEST] as const) : []),
  ]
  await Promise.all(names.map(name => start(name)))
  const restart = (name: Name) => {
    const { url, mqttPort } = servers[name]
    return start(name, { PORT: new URL(url).port, ...(mqttPort ? { MQTT_PORT: `${mqttPort}` } : {}) })
  }
  const toVictim = (name: Name): Victim => ({
    name,
    async killAndRestart() {
      await servers[name].kill9()
      await restart(name)
    },
  })
  return {
    servers,
    restart,
    url: servers.api.url,
    ingestUrl: servers.ingest.url,
    mqttPort: servers.ingest.mqttPort,
    mqttPorts: () => [servers.ingest, servers[SECOND_INGEST]].flatMap(server => server?.mqttPort ?? []),
    victims: [
      toVictim('ingest'),
      toVictim('the first writer'),
      toVictim('live'),
      toVictim('the second writer'),
      toVictim('api'),
      ...others,
    ],
    processes: () => names.map(name => ({ name, pid: servers[name].pid, url: servers[name].url })),
    settle: () => until('the writers have caught up', () => isStored(servers.ingest)),
    async stop() {
      for (const name of names.reverse()) {
        const code = await servers[name].stop()
        if (code !== 0) throw new Error(`${name} stopped with ${code}\n${servers[name].output.stderr}`)
      }
    },
  }
}
