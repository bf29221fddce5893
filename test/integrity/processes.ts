import type { TestDatabase } from '../support/database.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import type { Release } from './releases.ts'

/** A place in a deployment, which one process after the other takes. */
export interface Place {
  name: string
  roles: string
  /** Two processes cannot be there at once: the next one starts when this one has ended, on its ports. */
  isAlone?: boolean
}

export const PLACES: { [tier: string]: readonly Place[] } = {
  embedded: [{ name: 'the server', roles: 'all', isAlone: true }],
  'one-machine': [
    { name: 'a second process', roles: 'api,jobs' },
    { name: 'the server', roles: 'all', isAlone: true },
  ],
  cluster: [
    { name: 'the first writer', roles: 'writer' },
    { name: 'the second writer', roles: 'writer' },
    { name: 'live', roles: 'live' },
    { name: 'ingest', roles: 'ingest' },
    { name: 'jobs', roles: 'jobs' },
    { name: 'the first api', roles: 'api' },
    { name: 'the second api', roles: 'api' },
  ],
}

/** Two of each role behind a balancer, each with an address that stays. */
export const BEHIND_BALANCER: readonly Place[] = ['writer', 'live', 'ingest', 'jobs', 'api'].flatMap(roles =>
  ['first', 'second'].map(nth => ({ name: `the ${nth} ${roles}`, roles, isAlone: true })),
)

/** Processes that are replaced while clients call them. */
export interface Processes {
  /** Starts a process of the release in the place of another one, which ends in order. Throws if it does not start. */
  replace(place: Place, release: Release): Promise<void>
  /** Starts a process of the release in a place that is empty. */
  restart(place: Place, release: Release): Promise<void>
  /** The address of the next process with a role, in turn; null while there is none. */
  urlOf(role: string): string | null
  mqttPort(): number
  /** All that have a role. */
  withRole(role: string): ServerProcess[]
  /** Outputs of all processes, those that have ended too. */
  outputs(): { name: string; stderr: string }[]
  stop(): Promise<void>
}

export async function startProcesses(
  database: TestDatabase,
  places: readonly Place[],
  release: Release,
  env: Record<string, string> = {},
): Promise<Processes> {
  const serving = new Map<Place, ServerProcess>()
  const outputs: { name: string; stderr: string }[] = []
  const ports = new Map<Place, Record<string, string>>()
  let turn = 0
  let lastMqttPort = 0
  const hasRole = ({ roles }: Place, role: string) => roles === 'all' || roles.split(',').includes(role)
  const withRole = (role: string) =>
    [...serving].filter(([place]) => hasRole(place, role)).map(([, server]) => server)

  async function start(
    place: Place,
    { name, main }: Release,
    ports: Record<string, string> = {},
  ): Promise<ServerProcess> {
    const server = await startServer(database, { ...env, ROLES: place.roles, ...ports }, { main })
    outputs.push({
      name: `${place.name} of ${name}`,
      get stderr() {
        return server.output.stderr
      },
    })
    return server
  }
  async function end(place: Place, server: ServerProcess): Promise<void> {
    const code = await server.stop()
    if (code !== 0)
      throw new Error(`${place.name} stopped with ${code}\n${server.output.stderr.slice(-2_000)}`)
  }

  // The first one sets up the database, and the others start together.
  const [last, ...others] = [...places].reverse()
  if (last) serving.set(last, await start(last, release))
  const started = await Promise.all(others.map(place => start(place, release)))
  for (const [index, place] of others.entries()) serving.set(place, started[index] as ServerProcess)
  return {
    async replace(place, next) {
      const before = serving.get(place) as ServerProcess
      if (!place.isAlone) {
        const started = await start(place, next)
        serving.set(place, started)
        return end(place, before)
      }
      const { url, mqttPort } = before
      ports.set(place, { PORT: new URL(url).port, ...(mqttPort ? { MQTT_PORT: `${mqttPort}` } : {}) })
      // As a balancer, which asks /ready, sends it nothing any more.
      serving.delete(place)
      await end(place, before)
      serving.set(place, await start(place, next, ports.get(place)))
    },
    async restart(place, release) {
      serving.set(place, await start(place, release, ports.get(place)))
    },
    urlOf(role) {
      const servers = withRole(role)
      return servers[turn++ % Math.max(1, servers.length)]?.url ?? null
    },
    mqttPort() {
      lastMqttPort = withRole('ingest')[0]?.mqttPort ?? lastMqttPort
      return lastMqttPort
    },
    withRole,
    outputs: () => outputs,
    async stop() {
      for (const [place, server] of [...serving].reverse()) await end(place, server)
    },
  }
}
