import mqtt, { type MqttClient } from 'mqtt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Mosquitto, startMosquitto } from '../services/mosquitto.ts'
import type { Service } from '../services/services.ts'
import { type Client, readHistory, signIn } from '../support/client.ts'
import { addConnection, connectGateway, readConnection, type TestConnection } from '../support/connections.ts'
import { useServer } from '../support/own-server.ts'
import {
  type ExpectedPosition,
  readOwnProfiles,
  readTrackerPayloads,
  type TrackerPayload,
} from '../support/trackers.ts'
import { until } from '../support/wait.ts'

/** A recorded message as it is sent: at a time of our own, because some are older than the history is kept. */
interface Sent {
  payload: Buffer
  topic: string
  query: string
  expect: ExpectedPosition[]
}

interface Found {
  outcome: { points: number; skipped: string | null; rejected: { reason: string; message: string }[] }
  payload: string
  topic: string | null
}

const WAYS = ['mqtt', 'http', 'broker'] as const
type Way = (typeof WAYS)[number]

const own = readOwnProfiles()
/** Without the one whose values come on a topic each. */
const payloads = readTrackerPayloads().filter(({ family }) => !family.startsWith('ovms'))
/** Profiles that are told the device by the topic, which a request does not have. */
const NAMED_BY_TOPIC = ['teltonika', 'home-assistant', 'inhand', 'gpsd']
const nameOf = ({ profile, family }: TrackerPayload) => profile ?? family
const names = [...new Set(payloads.map(nameOf))]
/** A request without a body has everything in its address, which a message does not have. */
const isAddress = ({ message }: TrackerPayload) => message.payload.length === 0

const HOUR_MS = 3_600_000
const TEN_YEARS_MS = 10 * 365 * 24 * HOUR_MS
const now = Math.floor(Date.now() / 1_000) * 1_000
const positionsOf = (one: TrackerPayload) => JSON.stringify(one.expect)
const positions = [...new Set(payloads.map(positionsOf))]

/** Moves every time in a text, as a number or in RFC 3339, that is near `anchor`. */
function moveTimes(text: string, anchor: number, byMs: number): string {
  const isNear = (ms: number) => Math.abs(ms - anchor) < TEN_YEARS_MS
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/g, time => {
      const ms = Date.parse(`${time}Z`)
      return isNear(ms) ? new Date(ms + byMs).toISOString().slice(0, 19) : time
    })
    .replace(/(?<![\d.-])1\d{9}(\d{3})?(?!\d)/g, time => {
      const unit = time.length === 10 ? 1_000 : 1
      return isNear(Number(time) * unit) ? String(Number(time) + byMs / unit) : time
    })
}

function toSent(one: TrackerPayload, way: Way, filter: string): Sent {
  const { message } = one
  const times = one.expect.flatMap(({ ts }) => (ts ? [Date.parse(ts)] : []))
  const anchor = Math.max(...times, 0)
  // The same position has the same time, another one has another, and each way has its own.
  const at = now - (1 + WAYS.indexOf(way)) * HOUR_MS - positions.indexOf(positionsOf(one)) * 10_000
  const byMs = anchor === 0 ? 0 : Math.floor((at - anchor) / 1_000) * 1_000
  const query = new URLSearchParams((message.query as Record<string, string> | null) ?? {}).toString()
  const topic = filter.replace('+/event/+', 'any/event/up').replaceAll(/[+#]/g, 'any')
  return {
    payload: Buffer.from(moveTimes(Buffer.from(message.payload).toString('utf8'), anchor, byMs)),
    // A message that came by a request needs a topic, and the sources do not name all of them.
    topic: message.topic === null || message.topic === 'trackers' ? topic : message.topic,
    query: moveTimes(query, anchor, byMs),
    expect: one.expect.map(({ ts, ...rest }) => ({
      ...rest,
      ts: ts && new Date(Date.parse(ts) + byMs).toISOString(),
    })),
  }
}

const near = (value: number | null) => (value === null ? null : expect.closeTo(value, 2))

describe('Every recorded message of a tracker', () => {
  const { server } = useServer({ CONNECTIONS_ALLOW_PRIVATE: 'true' })
  let owner: Client
  let mosquitto: Service<Mosquitto>
  const connections = new Map<string, TestConnection>()
  const sent = new Map<string, Sent>()
  const found = new Map<string, Found[]>()
  const histories = new Map<string, { timestamp: string; lat: number }[]>()
  const keyOf = (way: Way, of: string) => `${way} ${of}`
  const takes = (way: Way, one: TrackerPayload) => way === 'http' || !isAddress(one)

  beforeAll(async () => {
    owner = await signIn(server)
    mosquitto = await startMosquitto()
    const filters = new Map<string, string>()
    for (const name of names) {
      const choices = own[name]
      const path = choices ? '/tracker-profile' : `/tracker-profile/${name}`
      const answer = choices ? await owner.post(path, { name, ...choices }) : await owner.get(path)
      const { _id: profileId, topic } = answer.body.data
      filters.set(name, topic)
      const ofName = payloads.filter(one => nameOf(one) === name)
      for (const way of WAYS) {
        for (const one of ofName) sent.set(keyOf(way, one.file), toSent(one, way, topic))
        const topics = [...new Set(ofName.map(({ file }) => sent.get(keyOf(way, file))?.topic))]
        const url = mosquitto.available ? `mqtt://127.0.0.1:${mosquitto.port}` : null
        if (way === 'broker' && url === null) continue
        const more = way === 'broker' ? { broker: { url, topics } } : {}
        const given = { kind: way, profileId, createDevices: true, ...more }
        connections.set(keyOf(way, name), await addConnection(owner, given))
      }
    }
    for (const way of WAYS) await sendAll(way)
    for (const [key, connection] of connections) {
      const [way, name] = key.split(' ') as [Way, string]
      const count = payloads.filter(one => nameOf(one) === name && takes(way, one)).length
      const counted = async () => (await readConnection(owner, connection)).counts.messages >= count
      await until(`${key} has all of its messages`, counted)
      found.set(key, (await owner.get(`/connection/${connection._id}/messages`)).body.data)
    }
    for (const { _id, name } of (await owner.get('/devices?limit=500')).body.data)
      histories.set(name, await readHistory(owner, _id))
  })
  afterAll(async () => {
    if (mosquitto.available) await mosquitto.stop()
  })

  async function sendAll(way: Way): Promise<void> {
    const clients = new Map<string, MqttClient>()
    if (way === 'broker') {
      if (!mosquitto.available) return
      const isConnected = async (name: string) =>
        (await readConnection(owner, connections.get(keyOf(way, name)) as TestConnection)).state ===
        'connected'
      for (const name of names) await until(`${name} is connected`, () => isConnected(name))
      const publisher = await mqtt.connectAsync(`mqtt://127.0.0.1:${mosquitto.port}`)
      for (const name of names) clients.set(name, publisher)
    }
    for (const one of payloads.filter(payload => takes(way, payload))) {
      const name = nameOf(one)
      const connection = connections.get(keyOf(way, name)) as TestConnection
      const { payload, topic, query } = sent.get(keyOf(way, one.file)) as Sent
      if (way === 'http') {
        const url = `${server.url}/api/v3/ingest/connection/${connection._id}?${query}`
        const headers = { authorization: `Bearer ${connection.key}` }
        const given = isAddress(one) ? {} : { method: 'POST', body: payload }
        const answer = await fetch(url, { headers, ...given })
        expect([answer.status, await answer.text()]).toEqual([200, '{}'])
        continue
      }
      const client = clients.get(name) ?? (await connectGateway(server, connection))
      clients.set(name, client)
      await client.publishAsync(topic, payload, { qos: 1 })
    }
    await Promise.all([...new Set(clients.values())].map(client => client.endAsync()))
  }

  describe.each(WAYS)('by %s', way => {
    it.for(payloads.filter(one => takes(way, one)))('$file', (one, context) => {
      if (!mosquitto.available && way === 'broker') return context.skip(mosquitto.reason)
      const name = nameOf(one)
      const { payload, topic, expect: expected } = sent.get(keyOf(way, one.file)) as Sent
      const text = payload.toString('utf8')
      const isIt = (other: Found) => other.payload === text && (way === 'http' || other.topic === topic)
      const outcome = found.get(keyOf(way, name))?.find(isIt)?.outcome
      if (way === 'http' && NAMED_BY_TOPIC.includes(name)) return expect(outcome?.points).toBe(0)
      expect(outcome).toEqual(outcomeOf(one))
      for (const position of expected) {
        const same = (histories.get(position.device) ?? []).filter(({ timestamp, lat }) =>
          position.ts ? timestamp === position.ts : Math.abs(lat - position.lat) < 1e-9,
        )
        // Without a time of its own each way has another point.
        expect(same).toHaveLength(position.ts ? 1 : NAMED_BY_TOPIC.includes(name) ? 2 : WAYS.length)
        expect(same[0]).toMatchObject({
          lat: expect.closeTo(position.lat, 9),
          lng: expect.closeTo(position.lng, 9),
          speed: near(position.speed_mps),
          heading: near(position.heading),
          altitude: near(position.altitude_m),
          accuracy: near(position.accuracy_m),
          battery: near(position.battery_pct),
        })
      }
    })
  })
})

/** A message without a position is no rejection, except two: one of a clock that was never set, and one that is no JSON. */
function outcomeOf({ why = '', expect: { length } }: TrackerPayload) {
  const rejected = (reason: string) => [{ reason, message: expect.any(String) }]
  if (/rejected as/.test(why)) return { points: 0, skipped: null, rejected: rejected('too-old') }
  if (/invalid JSON/.test(why)) return { points: 0, skipped: null, rejected: rejected('not-json') }
  return { points: length, skipped: length > 0 ? null : expect.any(String), rejected: [] }
}
