import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Mosquitto, startMosquitto } from '../services/mosquitto.ts'
import { ownsPort } from '../services/processes.ts'
import { type Client, createDevice, signIn } from '../support/client.ts'
import { addConnection } from '../support/connections.ts'
import { pause, until } from '../support/wait.ts'
import { checkHistories, type Report } from './checker.ts'
import type { Cluster } from './cluster.ts'
import { type Publisher, startPublisher } from './publisher.ts'
import type { Deployment, RoundsOptions, Victim } from './rounds.ts'
import { startTap, type Tap } from './tap.ts'

/**
 * Publishers send to Mosquitto, which has persistence and a session of ours, and Fieldline is its client. Round after round
 * the process that holds the connection, Mosquitto, or another part is killed with -9; in some rounds Mosquitto loses its disk
 * as well, and with it our session.
 *
 * Mosquitto acknowledges a message before it is on its disk, which it writes every second. So a killed Mosquitto forgets messages that
 * it has acknowledged. It owes them no more, and they count as `forgotten`, unless Fieldline has acknowledged them: `tap.ts` knows.
 * Everything else that Mosquitto has acknowledged, it still has to deliver, and it has to be in the history exactly once.
 */
export interface ForeignReport extends Report {
  /** Messages that Fieldline has acknowledged to Mosquitto, and deliveries of Mosquitto beyond the first of each. */
  taken: number
  redelivered: number
  forgotten: number
  /** Seconds from the death of the process that held the connection to the subscription of another one; null if none took over. */
  slowestTakeOver: number | null
}

export type ForeignOptions = Omit<RoundsOptions, 'rate'> & { rate: number }

/** Allows a broker on this machine. */
export const FOREIGN_ENV = { CONNECTIONS_ALLOW_PRIVATE: 'true' }
/** Sockets of a killed process are closed by then, and their last bytes read. */
const AFTER_DEATH_MS = 200
/** In every one of so many rounds the next part is killed while Fieldline may still be away. */
const AWAY_EVERY = 5
const STALLED_MS = 60_000

export async function runForeignBrokerOn(
  deployment: Deployment | Cluster,
  { rounds, devices, killWithinMs, rate, log = () => {} }: ForeignOptions,
): Promise<ForeignReport> {
  const { mosquitto, stop, forgetSessions } = await startPersistentMosquitto()
  const tap = await startTap(mosquitto.port)
  const owner = await signIn(deployment)
  await connect(owner, tap)
  const publishers = await startDevices(owner, mosquitto.port, devices, rate)
  const memory = rememberOwed(publishers, tap)
  const takeOvers: number[] = []
  const ours = 'servers' in deployment ? withTakeOver(deployment, tap, takeOvers) : deployment.victims
  const [broker, brokerWithSessions] = killMosquitto(mosquitto, memory, forgetSessions)
  const victims = [...ours, brokerWithSessions, ...ours, broker, ...ours, broker]

  for (let round = 1; round <= rounds; round++) {
    const since = tap.acknowledged
    if (round % AWAY_EVERY > 0)
      await until('messages are taken', () => tap.isSubscribed && tap.acknowledged > since + devices)
    await pause(Math.random() * killWithinMs)
    const victim = victims[(round - 1) % victims.length] as Victim
    const before = tap.acknowledged
    await victim.killAndRestart()
    const sent = publishers.reduce((sum, one) => sum + one.sent, 0)
    log(`round ${round}: ${before} of ${sent} taken, then killed ${victim.name}`)
  }
  const goOn = tap.acknowledged
  await until('messages are taken', () => tap.isSubscribed && tap.acknowledged > goOn + devices * 10)
  await Promise.all(publishers.map(publisher => publisher.finish()))
  await untilDelivered(publishers, tap, memory, log)
  await deployment.settle()

  let forgotten = 0
  const report = await checkHistories(owner, publishers, ({ device }, n) => {
    const isTaken = tap.hasAcknowledged(device.id, n)
    const isForgotten = !isTaken && memory.mayForget(device.id, n)
    if (isForgotten) forgotten++
    else log(`lost ${device.id} ${n}, ${isTaken ? '' : 'not '}acknowledged by Fieldline`)
    return isForgotten
  })
  const { acknowledged: taken, redelivered } = tap
  await tap.close()
  await deployment.stop()
  await stop()
  return { ...report, taken, redelivered, forgotten, slowestTakeOver: maxOf(takeOvers) }
}

const maxOf = (seconds: readonly number[]) =>
  seconds.length === 0 ? null : Math.round(Math.max(...seconds) * 10) / 10

async function startPersistentMosquitto() {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-mosquitto-'))
  const config = [
    'user root',
    'persistence true',
    `persistence_location ${folder}/`,
    'autosave_interval 1',
    // Messages that wait for Fieldline have no limit here.
    'max_queued_messages 0',
    'max_queued_bytes 0',
  ].join('\n')
  const mosquitto = await startMosquitto({ config })
  if (!mosquitto.available) throw new Error(mosquitto.reason)
  return {
    mosquitto,
    forgetSessions: () => rmSync(join(folder, 'mosquitto.db'), { force: true }),
    async stop() {
      await mosquitto.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A connection whose profile reads the points of publishers; the topic names the device. */
async function connect(owner: Client, tap: Tap): Promise<void> {
  const from = (path: string) => ({ from: [path] })
  const { body } = await owner.post('/tracker-profile', {
    name: 'Publishers',
    topic: 'devices/+/location',
    device: from('$.topic[1]'),
    fields: {
      lat: from('$.payload.lat'),
      lng: from('$.payload.lng'),
      timestamp: from('$.payload.timestamp'),
      speed: from('$.payload.speed'),
      heading: from('$.payload.heading'),
    },
    attributes: { n: from('$.payload.attributes.n') },
  })
  await addConnection(owner, { kind: 'broker', profileId: body.data._id, broker: { url: tap.url } })
  await until('Fieldline has subscribed', () => tap.subscriptions > 0)
}

async function startDevices(owner: Client, port: number, count: number, rate: number): Promise<Publisher[]> {
  const devices = []
  for (let seed = 1; seed <= count; seed++) {
    const device = await createDevice(owner, `Publisher ${seed}`)
    await owner.patch(`/device/${device.id}`, { references: [device.id] })
    devices.push(device)
  }
  return devices.map((device, index) => {
    const publisher = startPublisher(() => port, device, index + 1)
    publisher.pace(rate / count)
    return publisher
  })
}

interface Memory {
  /** Called when Mosquitto is dead: what it has acknowledged it may have forgotten. */
  markDeath(): void
  /** Called when it is dead and has lost our session: what it receives before the next subscription goes to nobody. */
  markLostSession(): void
  mayForget(deviceId: string, n: number): boolean
}

function rememberOwed(publishers: readonly Publisher[], tap: Tap): Memory {
  const marks = new Map<string, { sent: number; waiting: ReadonlySet<number> }>()
  return {
    markDeath() {
      for (const { device, sent, waiting } of publishers)
        marks.set(device.id, { sent, waiting: new Set(waiting) })
    },
    markLostSession() {
      tap.onSubscribed = () => {
        tap.onSubscribed = () => {}
        // The acknowledgement of a message that came before the subscription may still be on its way.
        for (const { device, sent } of publishers) marks.set(device.id, { sent, waiting: new Set() })
      }
    },
    mayForget(deviceId, n) {
      const known = marks.get(deviceId)
      return known !== undefined && n < known.sent && !known.waiting.has(n)
    },
  }
}

function killMosquitto({ control }: Mosquitto, memory: Memory, forgetSessions: () => void): [Victim, Victim] {
  const kill = async () => {
    await control.kill9()
    await pause(AFTER_DEATH_MS)
    memory.markDeath()
  }
  return [
    {
      name: 'Mosquitto',
      async killAndRestart() {
        await kill()
        await control.start()
      },
    },
    {
      name: 'Mosquitto with its sessions',
      async killAndRestart() {
        await kill()
        forgetSessions()
        memory.markLostSession()
        await control.start()
      },
    },
  ]
}

/** The victims of a cluster, with the process that holds the connection in place of those that may hold it. */
function withTakeOver(cluster: Cluster, tap: Tap, seconds: number[]): Victim[] {
  const others = cluster.victims.filter(({ name }) => !name.endsWith('ingest'))
  return [
    {
      name: 'the process that holds the connection',
      async killAndRestart() {
        const find = () =>
          cluster.processes().find(({ pid }) => tap.clientPort && ownsPort(pid, tap.clientPort))
        await until('a process holds the connection', () => find() !== undefined)
        const name = find()?.name as keyof Cluster['servers']
        const before = tap.subscriptions
        await cluster.servers[name]?.kill9()
        const died = performance.now()
        await until('the other process has taken over', () => tap.subscriptions > before)
        seconds.push((performance.now() - died) / 1000)
        await cluster.restart(name)
      },
    },
    ...others,
  ]
}

/** Waits until Fieldline has acknowledged all that Mosquitto has to deliver, or nothing has come for a long time. */
async function untilDelivered(
  publishers: readonly Publisher[],
  tap: Tap,
  memory: Memory,
  log: (line: string) => void,
): Promise<void> {
  const next = new Map(publishers.map(({ device }) => [device.id, 0]))
  const isDelivered = ({ device: { id }, sent }: Publisher): boolean => {
    let n = next.get(id) ?? 0
    while (n < sent && (tap.hasAcknowledged(id, n) || memory.mayForget(id, n))) n++
    next.set(id, n)
    return n === sent
  }
  let before = -1
  let changedAt = performance.now()
  while (!publishers.every(isDelivered)) {
    if (tap.acknowledged !== before) changedAt = performance.now()
    before = tap.acknowledged
    if (performance.now() - changedAt > STALLED_MS) return log('Mosquitto delivers no more')
    await pause(100)
  }
}
