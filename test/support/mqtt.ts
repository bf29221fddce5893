import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import type { TestDevice } from './client.ts'
import { noteSent } from './log-search.ts'

/** An MQTT connection of a device, without automatic reconnection. */
export function connectDevice(
  server: { mqttPort: number },
  device: TestDevice,
  options: IClientOptions = {},
): Promise<MqttClient> {
  const given = {
    protocolVersion: 4,
    username: device.id,
    password: device.key,
    reconnectPeriod: 0,
    connectTimeout: 60_000,
    ...options,
  } as const
  // A server that is killed while it accepts closes without an error; with retries this would wait forever.
  return mqtt.connectAsync(`mqtt://127.0.0.1:${server.mqttPort}`, given, false)
}

/** Publishes to the device's own topic. Resolves when it is acknowledged. */
export async function publish(
  client: MqttClient,
  device: TestDevice,
  message: unknown,
  qos: 0 | 1 | 2 = 1,
): Promise<void> {
  noteSent('', message)
  const payload = typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message)
  await client.publishAsync(`devices/${device.id}/location`, payload, { qos })
}
