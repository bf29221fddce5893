import type { Device, Server } from '../server.ts'
import type { MqttLoad } from './mqtt.ts'
import { inProcess } from './run-process.ts'
import type { LoadResult } from './window.ts'

const FIRST_TIME_AGO_MS = 30 * 24 * 3600_000

/** Publishes over one connection for each device, with 20 messages in flight on each, from a process of its own. */
export function loadMqtt(
  at: Server['mqtt'],
  devices: Device[],
  times: { warmUpSeconds: number; seconds: number; perSecond?: number; firstTimeMs?: number },
): Promise<LoadResult> {
  const firstTimeMs = Date.now() - FIRST_TIME_AGO_MS
  const load: MqttLoad = { ...at, devices, inFlight: 20, firstTimeMs, ...times }
  return inProcess(new URL('mqtt.ts', import.meta.url), load)
}
