import { signIn } from '../support/client.ts'
import type { TestDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'
import { pause } from '../support/wait.ts'
import { startBulkPublisher } from './bulk-publisher.ts'
import { checkHistories, type Report } from './checker.ts'
import { countAcknowledged, startPublishers } from './publisher.ts'
import { startWalker } from './walker.ts'

export interface RoundsOptions {
  rounds: number
  devices: number
  /** The maximum time until something is killed; the moment is random. */
  killWithinMs: number
  /** Points a second of all devices together; unset, as many as are acknowledged. */
  rate?: number
  log?: (line: string) => void
}

/** A part that is killed in a round, and how it is restarted. */
export interface Victim {
  name: string
  killAndRestart(): Promise<void>
}

/** The system under test. */
export interface Deployment {
  /** The address of the interface. */
  url: string
  /** The address at which points are taken over HTTP. */
  ingestUrl: string
  mqttPort: number
  /** The ports of all that take MQTT, if there are several. */
  mqttPorts?: () => number[]
  /** The parts that are killed in turn. */
  victims: readonly Victim[]
  /** All of our processes at this moment. */
  processes(): { name: string; pid: number; url: string }[]
  /** Resolves when everything that was acknowledged is stored. */
  settle(): Promise<void>
  stop(): Promise<void>
}

/** The rate of the publisher that sends over HTTP. */
const BULK_PER_SECOND = 100

/** Runs the rounds on one server and its other victims. */
export async function runRounds(
  options: RoundsOptions & { database: TestDatabase; victims?: readonly Victim[] },
): Promise<Report> {
  return runRoundsOn(await deployServer(options.database, options.victims), options)
}

/**
 * Publishers send with QoS 1, and one of them over HTTP, while, round after round, a victim is killed with -9 at a random moment and restarted.
 * At the end every acknowledged point and its content is looked for, and each crossing of a geofence has to be
 * reported exactly once.
 */
export async function runRoundsOn(deployment: Deployment, options: RoundsOptions): Promise<Report> {
  const { rounds, devices, killWithinMs, rate, log = () => {} } = options
  const owner = await signIn(deployment)
  const publishers = await startPublishers(owner, () => deployment.mqttPort, devices, { rate })
  const bulk = { seed: devices + 1, rate: BULK_PER_SECOND }
  publishers.push(await startBulkPublisher(owner, deployment.ingestUrl, bulk))
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

/** Starts one server in its own process. It is a victim itself. */
export async function deployServer(
  database: TestDatabase,
  others: readonly Victim[] = [],
  env: Record<string, string> = {},
): Promise<Deployment> {
  let server = await startServer(database, env)
  const ports = { ...env, PORT: new URL(server.url).port, MQTT_PORT: `${server.mqttPort}` }
  const victim: Victim = {
    name: 'the server',
    async killAndRestart() {
      await server.kill9()
      server = await startServer(database, ports)
    },
  }
  return {
    url: server.url,
    ingestUrl: server.url,
    mqttPort: server.mqttPort,
    victims: [victim, ...others],
    processes: () => [{ name: 'the server', pid: server.pid, url: server.url }],
    // In this tier every acknowledged point is stored already.
    settle: async () => {},
    async stop() {
      const code = await server.stop()
      if (code !== 0) throw new Error(`The server stopped with ${code}\n${server.output.stderr}`)
    },
  }
}
