import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import type { TestDevice } from '../support/client.ts'

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
 * over a lost connection. It remembers what was acknowledged; that is what the history has to have.
 */
export interface Publisher {
  device: TestDevice
  acknowledged: Map<string, SentPoint>
  /** Everything that was ever sent, acknowledged or not. */
  sent: Map<string, SentPoint>
  /** How often it had to connect. */
  connections: number
  /** Sends no new points and waits until every one is acknowledged. */
  finish(): Promise<void>
}

const IN_FLIGHT = 20
const RECONNECT_MS = 100

export function startPublisher(
  mqttPort: () => number,
  device: TestDevice,
  seed: number,
  options: IClientOptions = {},
): Publisher {
  const publisher: Publisher = { device, acknowledged: new Map(), sent: new Map(), connections: 0, finish }
  const waiting = new Map<string, SentPoint>()
  const begun = Date.now() - 3_600_000
  let count = 0
  let finishing = false
  let client: MqttClient | undefined
  let ended: (() => void) | undefined

  function nextPoint(): SentPoint {
    const n = count++
    return {
      lat: 40 + ((seed * 7919 + n * 31) % 100_000) / 10_000,
      lng: -5 + ((seed * 104_729 + n * 17) % 100_000) / 10_000,
      timestamp: new Date(begun + n * 10).toISOString(),
      speed: (n % 400) / 8,
      heading: n % 360,
      attributes: { n },
    }
  }

  function send(connection: MqttClient, point: SentPoint): void {
    publisher.sent.set(point.timestamp, point)
    waiting.set(point.timestamp, point)
    connection.publish(`devices/${device.id}/location`, JSON.stringify(point), { qos: 1 }, error => {
      // mqtt calls back with an error when the connection ends: then the point stays waiting and is sent again.
      if (error || client !== connection) return
      waiting.delete(point.timestamp)
      publisher.acknowledged.set(point.timestamp, point)
      fill(connection)
    })
  }

  function fill(connection: MqttClient): void {
    while (!finishing && waiting.size < IN_FLIGHT) send(connection, nextPoint())
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
      for (const point of [...waiting.values()]) send(connection, point)
      fill(connection)
    })
    connection.on('error', () => {})
    connection.on('close', () => {
      if (client !== connection) return
      connection.end(true)
      setTimeout(connect, RECONNECT_MS)
    })
  }

  function finish(): Promise<void> {
    finishing = true
    return new Promise(resolve => {
      ended = resolve
      if (waiting.size === 0 && client?.connected) fill(client)
    })
  }

  connect()
  return publisher
}
