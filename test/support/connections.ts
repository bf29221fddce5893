import mqtt, { type MqttClient } from 'mqtt'
import type { Client } from './client.ts'

/** A connection for trackers, as the interface shows it when it is created. */
export interface TestConnection {
  _id: string
  key: string
  state: string
  lastError: string | null
  counts: { messages: number; points: number; skipped: number; rejected: number; unknown: number }
}

export async function addConnection(client: Client, given: object): Promise<TestConnection> {
  const answer = await client.post('/connection', { name: 'Trackers', profileId: 'traccar', ...given })
  if (answer.status !== 201) throw new Error(`Creating a connection failed: ${JSON.stringify(answer.body)}`)
  return answer.body.data
}

export const readConnection = async (client: Client, { _id }: { _id: string }): Promise<TestConnection> =>
  (await client.get(`/connection/${_id}`)).body.data

/** A position as Traccar forwards it. */
export const traccarFix = (reference: string, at: number, lat = 52) =>
  JSON.stringify({
    position: { latitude: lat, longitude: 13, fixTime: new Date(at).toISOString(), valid: true },
    device: { uniqueId: reference },
  })

/** An MQTT connection under the connection's key, without automatic reconnection. */
export const connectGateway = (
  server: { mqttPort: number },
  { _id, key }: TestConnection,
): Promise<MqttClient> =>
  mqtt.connectAsync(
    `mqtt://127.0.0.1:${server.mqttPort}`,
    { protocolVersion: 4, username: _id, password: key, reconnectPeriod: 0, connectTimeout: 60_000 },
    false,
  )

/** The references of a connection that no device has, by their name. */
export async function readUnknown(
  client: Client,
  { _id }: { _id: string },
): Promise<Map<string, { messages: number; lastPoint: { lat: number; timestamp: string } | null }>> {
  const { body } = await client.get(`/connection/${_id}/unknown`)
  return new Map(body.data.map((row: { reference: string }) => [row.reference, row]))
}
