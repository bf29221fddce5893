import { signIn } from '../support/client.ts'
import type { TestDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'
import { pause } from '../support/wait.ts'
import { checkHistories, type Report } from './checker.ts'
import { countAcknowledged, startPublishers } from './publisher.ts'
import { startWalker } from './walker.ts'

export interface RoundsOptions {
  rounds: number
  devices: number
  /** How long it runs before something is killed: at random, up to this. */
  killWithinMs: number
  /** Points a second of all devices together; as many as are acknowledged without. */
  rate?: number
  log?: (line: string) => void
}

/** What is killed in a round, and how it comes back. */
export interface Victim {
  name: string
  killAndRestart(): Promise<void>
}

/** What the rounds are run on. */
export interface Deployment {
  /** Where the interface answers. */
  url: string
  mqttPort: number
  /** In turn. */
  victims: readonly Victim[]
  /** Every process of ours, as it is now. */
  processes(): { name: string; pid: number; url: string }[]
  /** Resolves when everything that was acknowledged is stored. */
  settle(): Promise<void>
  stop(): Promise<void>
}

/** The same on one server, and what else there is to kill. */
export async function runRounds(
  options: RoundsOptions & { database: TestDatabase; victims?: readonly Victim[] },
): Promise<Report> {
  return runRoundsOn(await deployServer(options.database, options.victims), options)
}

/**
 * Publishers with QoS 1 go on while a victim is killed with -9 at a random moment and started again, round after
 * round. At the end every acknowledged point is looked for, by content, and what somebody crossed meanwhile is told once.
 */
export async function runRoundsOn(deployment: Deployment, options: RoundsOptions): Promise<Report> {
  const { rounds, devices, killWithinMs, rate, log = () => {} } = options
  const owner = await signIn(deployment)
  const publishers = await startPublishers(owner, () => deployment.mqttPort, devices, { rate })
  const walker = await startWalker(deployment, owner)

  for (let round = 1; round <= rounds; round++) {
    await pause(Math.random() * killWithinMs)
    const before = countAcknowledged(publishers)
    const victim = deployment.victims[round % deployment.victims.length] as Victim
    await victim.killAndRestart()
    log(`round ${round}: ${before} acknowledged, then killed ${victim.name}`)
  }
  const goOn = countAcknowledged(publishers)
  while (countAcknowledged(publishers) < goOn + devices * 20) await pause(50)
  await Promise.all([walker.finish(), ...publishers.map(publisher => publisher.finish())])

  await deployment.settle()
  log(`${await walker.countCrossings()} crossings of geofences, each told once`)
  const report = await checkHistories(owner, publishers)
  await deployment.stop()
  return report
}

/** One server in a process of its own, which is a victim itself. */
export async function deployServer(
  database: TestDatabase,
  others: readonly Victim[] = [],
): Promise<Deployment> {
  let server = await startServer(database)
  const ports = { PORT: new URL(server.url).port, MQTT_PORT: `${server.mqttPort}` }
  const victim: Victim = {
    name: 'the server',
    async killAndRestart() {
      await server.kill9()
      server = await startServer(database, ports)
    },
  }
  return {
    url: server.url,
    mqttPort: server.mqttPort,
    victims: [victim, ...others],
    processes: () => [{ name: 'the server', pid: server.pid, url: server.url }],
    // Acknowledged is stored.
    settle: async () => {},
    async stop() {
      const code = await server.stop()
      if (code !== 0) throw new Error(`The server stopped with ${code}\n${server.output.stderr}`)
    },
  }
}
