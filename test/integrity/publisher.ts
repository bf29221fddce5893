import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { type Client, createDevice, type TestDevice } from '../support/client.ts'

/** What a point said, as it was acknowledged. */
export interface SentPoint {
  lat: number
  lng: number
  timestamp: string
  speed: number
  heading: number
  attributes: { n: number }
}

/**
 * A device as the good ones are: it numbers its points, sends each until it is acknowledged, and keeps what is not
 * over a lost connection. What was acknowledged is what the history has to have; a point follows from its number, so
 * that hours of them need no memory.
 */
export interface Publisher {
  device: TestDevice
  /** How many points were sent: the numbers below it. */
  sent: number
  /** Those that were sent and are not acknowledged, in their order. */
  waiting: ReadonlySet<number>
  /** The time of the newest point that was acknowledged; empty before the first. */
  newest: string
  /** How often it had to connect. */
  connections: number
  pointAt(n: number): SentPoint
  /** From now on at most so many new points a second, evenly; as many as are acknowledged before. */
  pace(perSecond: number): void
  /** Sends no new points and waits until every one is acknowledged. */
  finish(): Promise<void>
}

const IN_FLIGHT = 20
const RECONNECT_MS = 100
const PACE_MS = 50

export type PublisherOptions = IClientOptions & {
  /** How long a point waited for its acknowledgement. */
  onAcknowledged?: (ms: number) => void
}

export function startPublisher(
  mqttPort: () => number,
  device: TestDevice,
  seed: number,
  { onAcknowledged, ...options }: PublisherOptions = {},
): Publisher {
  const begun = Date.now() - 24 * 3_600_000
  const waiting = new Set<number>()
  const publisher: Publisher = { device, sent: 0, waiting, newest: '', connections: 0, pointAt, pace, finish }
  let finishing = false
  let allowed = Number.POSITIVE_INFINITY
  let pacing: NodeJS.Timeout | undefined
  let client: MqttClient | undefined
  let ended: (() => void) | undefined

  /** A few metres a second, as devices move; one in a thousand has jumped away and is an anomaly. */
  function pointAt(n: number): SentPoint {
    const jump = n % 1_000 === 500 ? 1 : 0
    return {
      lat: 40 + ((seed * 7919) % 100_000) / 10_000 + ((n * 31) % 100_000) / 1e8 + jump,
      lng: -5 + ((seed * 104_729) % 100_000) / 10_000 + ((n * 17) % 100_000) / 1e8,
      timestamp: new Date(begun + n * 10).toISOString(),
      speed: (n % 400) / 8,
      heading: n % 360,
      attributes: { n },
    }
  }

  function send(connection: MqttClient, n: number): void {
    const point = pointAt(n)
    waiting.add(n)
    const begun = performance.now()
    connection.publish(`devices/${device.id}/location`, JSON.stringify(point), { qos: 1 }, error => {
      // mqtt calls back with an error when the connection ends: then the point stays waiting and is sent again.
      if (error || client !== connection) return
      waiting.delete(n)
      onAcknowledged?.(performance.now() - begun)
      if (point.timestamp > publisher.newest) publisher.newest = point.timestamp
      fill(connection)
    })
  }

  function fill(connection: MqttClient): void {
    for (; !finishing && waiting.size < IN_FLIGHT && allowed >= 1; allowed--)
      send(connection, publisher.sent++)
    if (finishing && waiting.size === 0) {
      client = undefined
      connection.end(true)
      ended?.()
    }
  }

  function connect(): void {
    const connection = mqtt.connect(`mqtt://127.0.0.1:${mqttPort()}`, {
      protocolVersion: 4,
      username: device.id,
      password: device.key,
      reconnectPeriod: 0,
      connectTimeout: 5_000,
      ...options,
    })
    client = connection
    connection.on('connect', () => {
      publisher.connections++
      for (const n of [...waiting]) send(connection, n)
      fill(connection)
    })
    connection.on('error', () => {})
    connection.on('close', () => {
      if (client !== connection) return
      connection.end(true)
      setTimeout(connect, RECONNECT_MS)
    })
  }

  function pace(perSecond: number): void {
    clearInterval(pacing)
    allowed = 0
    let last = performance.now()
    pacing = setInterval(() => {
      const now = performance.now()
      // What could not be sent in time is made up for, a second's worth at the most.
      allowed = Math.min(allowed + ((now - last) * perSecond) / 1000, perSecond)
      last = now
      if (client?.connected) fill(client)
    }, PACE_MS)
  }

  function finish(): Promise<void> {
    finishing = true
    clearInterval(pacing)
    return new Promise(resolve => {
      ended = resolve
      if (waiting.size === 0 && client?.connected) fill(client)
    })
  }

  connect()
  return publisher
}

/** Makes so many devices, which begin to publish: `rate` points a second together, or as many as are acknowledged. */
export async function startPublishers(
  owner: Client,
  mqttPort: () => number,
  count: number,
  { rate, ...options }: PublisherOptions & { rate?: number } = {},
): Promise<Publisher[]> {
  const publishers: Publisher[] = []
  for (let seed = 1; seed <= count; seed++) {
    const device = await createDevice(owner, `Publisher ${seed}`)
    const publisher = startPublisher(mqttPort, device, seed, options)
    if (rate !== undefined) publisher.pace(rate / count)
    publishers.push(publisher)
  }
  return publishers
}

export function countAcknowledged(publishers: readonly Publisher[]): number {
  return publishers.reduce((sum, { sent, waiting }) => sum + sent - waiting.size, 0)
}
