import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { type Client, createDevice, type TestDevice } from '../support/client.ts'

/** A point with the content that was acknowledged. */
export interface SentPoint {
  lat: number
  lng: number
  timestamp: string
  speed: number
  heading: number
  attributes: { n: number }
}

/**
 * A well-behaved device: it numbers its points, sends each one until it is acknowledged, and keeps its unacknowledged
 * points when the connection is lost. The history must have every acknowledged point. The content of a point follows
 * from its number, so hours of points need no memory.
 */
export interface Publisher {
  device: TestDevice
  /** The number of points that were sent; their numbers are below it. */
  sent: number
  /** The points that were sent and not yet acknowledged, in order. */
  readonly waiting: ReadonlySet<number>
  /** The time of the newest acknowledged point; empty before the first one. */
  newest: string
  /** The number of times that it connected. */
  connections: number
  pointAt(n: number): SentPoint
  /** Limits new points to an even rate. Before that, points are sent as fast as they are acknowledged. */
  pace(perSecond: number): void
  /** Stops sending new points, and waits until all are acknowledged. */
  finish(): Promise<void>
}

const IN_FLIGHT = 20
const RECONNECT_MS = 100
const PACE_MS = 50

export type PublisherOptions = IClientOptions & {
  /** Gets the time that a point waited for its acknowledgement. */
  onAcknowledged?: (ms: number) => void
}

/** A device moves a few metres a second. One point in a thousand jumps away and is an anomaly. */
export function pointOf(seed: number, begun: number, n: number): SentPoint {
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

export function startPublisher(
  mqttPort: () => number,
  device: TestDevice,
  seed: number,
  { onAcknowledged, ...options }: PublisherOptions = {},
): Publisher {
  const begun = Date.now() - 24 * 3_600_000
  const waiting = new Set<number>()
  const pointAt = (n: number) => pointOf(seed, begun, n)
  const publisher: Publisher = { device, sent: 0, waiting, newest: '', connections: 0, pointAt, pace, finish }
  let finishing = false
  let allowed = Number.POSITIVE_INFINITY
  let pacing: NodeJS.Timeout | undefined
  let client: MqttClient | undefined
  let ended: (() => void) | undefined

  function send(connection: MqttClient, n: number): void {
    const point = pointAt(n)
    waiting.add(n)
    const begun = performance.now()
    connection.publish(`devices/${device.id}/location`, JSON.stringify(point), { qos: 1 }, error => {
      // mqtt calls back with an error when the connection ends. The point then stays in `waiting` and is sent again.
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
      // Points that could not be sent in time are sent later, but at most one second's worth.
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

/** Creates devices that begin to publish: together `rate` points a second, or as many as are acknowledged. */
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
