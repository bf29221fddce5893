import { createDevice, signIn } from '../support/client.ts'
import type { TestDatabase } from '../support/database.ts'
import { startServer } from '../support/server.ts'
import { pause } from '../support/wait.ts'
import { checkHistories, type Report } from './checker.ts'
import { type Publisher, startPublisher } from './publisher.ts'

export interface RoundsOptions {
  database: TestDatabase
  rounds: number
  devices: number
  /** How long it runs before something is killed: at random, up to this. */
  killWithinMs: number
  /** What is killed in a round besides the server itself, and how it comes back. */
  victims?: { name: string; killAndRestart: () => Promise<void> }[]
  log?: (line: string) => void
}

/**
 * Publishers with QoS 1 go on while the server (or what else there is) is killed with -9 at a random moment and
 * started again, round after round. At the end every acknowledged point is looked for, by content.
 */
export async function runRounds(options: RoundsOptions): Promise<Report> {
  const { database, rounds, devices, killWithinMs, victims = [], log = () => {} } = options
  let server = await startServer(database)
  const ports = { PORT: new URL(server.url).port, MQTT_PORT: `${server.mqttPort}` }
  const owner = await signIn(server)
  const publishers: Publisher[] = []
  for (let seed = 1; seed <= devices; seed++) {
    const device = await createDevice(owner, `Publisher ${seed}`)
    publishers.push(startPublisher(() => Number(ports.MQTT_PORT), device, seed))
  }

  for (let round = 1; round <= rounds; round++) {
    await pause(Math.random() * killWithinMs)
    const before = count(publishers)
    const victim = victims[round % (victims.length + 1)]
    if (victim) await victim.killAndRestart()
    else {
      await server.kill9()
      server = await startServer(database, ports)
    }
    log(`round ${round}: ${before} acknowledged, then killed ${victim?.name ?? 'the server'}`)
  }
  const goOn = count(publishers)
  while (count(publishers) < goOn + devices * 20) await pause(50)
  await Promise.all(publishers.map(publisher => publisher.finish()))

  const report = await checkHistories(owner, publishers)
  const code = await server.stop()
  if (code !== 0) throw new Error(`The server stopped with ${code}\n${server.output.stderr}`)
  return report
}

const count = (publishers: Publisher[]) =>
  publishers.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0)
