import { setTimeout as sleep } from 'node:timers/promises'
import mqtt, { type MqttClient } from 'mqtt'
import { type Mosquitto, startMosquitto } from '../test/services/mosquitto.ts'
import { cpuOf, quietMoment } from './cpu.ts'
import type { Options } from './options.ts'
import { count, median, progress, type Row } from './report.ts'
import { call, type Server, signIn, startFieldline } from './server.ts'
import type { Store, Tier } from './tiers.ts'

/**
 * Messages that Mosquitto has queued while its client was away, from the moment at which the client may connect: how many a
 * second Fieldline acknowledges, each after its point is stored. Beside it a client that stores nothing.
 */
const MESSAGES = 40_000
const DEVICES = 100
const TOPICS = 'devices/+/location'
/** Of the default 20 in version 3.1.1, Mosquitto would wait for each round trip. */
const CONFIG = 'max_queued_messages 0\nmax_inflight_messages 1000'
const GOAL = 5_000
const LOOK_MS = 20

/** Measures it; no rows without Mosquitto. */
export async function benchBroker(tier: Tier, options: Options): Promise<Row[]> {
  const ours: Taken[] = []
  const theirs: number[] = []
  for (let round = 1; round <= options.rounds; round++) {
    const mosquitto = await startMosquitto({ config: CONFIG })
    if (!mosquitto.available) {
      progress(mosquitto.reason)
      return []
    }
    theirs.push(await measureClient(mosquitto, options))
    const store = await tier.fresh()
    const env = { ...store.env, CONNECTIONS_ALLOW_PRIVATE: 'true' }
    const server = await startFieldline(options, { ...store, env })
    ours.push(await measureFieldline(mosquitto, server, store, options))
    await server.stop()
    await store.remove()
    await mosquitto.stop()
  }
  const perSecond = median(ours.map(({ perSecond }) => perSecond))
  const micros = (of: (taken: Taken) => number) => `${median(ours.map(of)).toFixed(0)} µs`
  return [
    {
      figure: `messages a second from another broker, each acknowledged after it is stored, ${tier.name}`,
      ours: count(perSecond),
      beside: `${count(median(theirs))}, a client that stores nothing`,
      ratio: perSecond / median(theirs),
      goal: count(GOAL),
      note: `processor a message: ${micros(({ serverMicros }) => serverMicros)} in Fieldline, ${micros(({ serviceMicros }) => serviceMicros)} in the database`,
    },
  ]
}

interface Taken {
  perSecond: number
  serverMicros: number
  serviceMicros: number
}

async function measureFieldline(
  mosquitto: Mosquitto,
  server: Server,
  store: Store,
  options: Options,
): Promise<Taken> {
  const token = await signIn(server)
  const from = (path: string) => ({ from: [path] })
  const fields = {
    lat: from('$.payload.lat'),
    lng: from('$.payload.lng'),
    timestamp: from('$.payload.timestamp'),
  }
  const profile = { name: 'Bench', topic: TOPICS, device: from('$.topic[1]'), fields }
  const { data: made } = await call<{ data: { _id: string } }>(server, '/tracker-profile', profile, token)
  for (let n = 0; n < DEVICES; n++)
    await call(server, '/device', { name: `Bench ${n}`, references: [`bench-${n}`] }, token)
  const broker = { url: `mqtt://127.0.0.1:${mosquitto.port}` }
  const connection = { name: 'Bench', kind: 'broker', profileId: made._id, broker }
  const { data } = await call<{ data: { _id: string } }>(server, '/connection', connection, token)
  const api = (method: string, body?: object) =>
    fetch(`${server.url}/api/v3/connection/${data._id}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  const stateOf = async () => ((await (await api('GET')).json()) as { data: { state: string } }).data.state
  while ((await stateOf()) !== 'connected') await sleep(LOOK_MS)
  await api('PATCH', { isActive: false })
  while ((await stateOf()) !== 'stopped') await sleep(LOOK_MS)
  // The state changes before the client has said goodbye.
  await sleep(1_000)
  await publish(mosquitto)
  progress('Fieldline reads from Mosquitto')
  await quietMoment(options.patienceSeconds)
  const cpu = () => [cpuOf(server.pids), store.servicesCpu()] as const
  const [serverBefore, servicesBefore] = cpu()
  const begun = performance.now()
  await api('PATCH', { isActive: true })
  while ((await store.countPoints()) < MESSAGES) await sleep(LOOK_MS)
  const seconds = (performance.now() - begun) / 1000
  const [serverAfter, servicesAfter] = cpu()
  return {
    perSecond: MESSAGES / seconds,
    serverMicros: ((serverAfter - serverBefore) / MESSAGES) * 1e6,
    serviceMicros: ((servicesAfter - servicesBefore) / MESSAGES) * 1e6,
  }
}

/** The messages a second that mqtt.js acknowledges without doing anything with them. */
async function measureClient(mosquitto: Mosquitto, options: Options): Promise<number> {
  const session = { clientId: 'stores-nothing', clean: false, properties: { sessionExpiryInterval: 3_600 } }
  const first = await connect(mosquitto, session)
  await first.subscribeAsync(TOPICS, { qos: 1 })
  await first.endAsync()
  await publish(mosquitto)
  progress('A client that stores nothing reads from Mosquitto')
  await quietMoment(options.patienceSeconds)
  const begun = performance.now()
  const client = mqtt.connect(urlOf(mosquitto), { protocolVersion: 5, ...session })
  let taken = 0
  await new Promise<void>(resolve =>
    client.on('message', () => {
      if (++taken === MESSAGES) resolve()
    }),
  )
  const seconds = (performance.now() - begun) / 1000
  await client.unsubscribeAsync(TOPICS)
  await client.endAsync()
  return MESSAGES / seconds
}

const urlOf = ({ port }: Mosquitto) => `mqtt://127.0.0.1:${port}`
const connect = (mosquitto: Mosquitto, session: object = {}): Promise<MqttClient> =>
  mqtt.connectAsync(urlOf(mosquitto), { protocolVersion: 5, reconnectPeriod: 0, ...session })

async function publish(mosquitto: Mosquitto): Promise<void> {
  const client = await connect(mosquitto)
  const begin = Date.now() - MESSAGES - 60_000
  for (let from = 0; from < MESSAGES; from += 500) {
    const some = Array.from({ length: 500 }, (_, index) => {
      const n = from + index
      const payload = JSON.stringify({ lat: 52 + n / 1e6, lng: 13.4, timestamp: begin + n })
      return client.publishAsync(`devices/bench-${n % DEVICES}/location`, payload, { qos: 1 })
    })
    await Promise.all(some)
  }
  await client.endAsync()
}
