import { createWebSocketStream } from 'ws'
import { z } from 'zod'
import { TCP_KEEPALIVE_MS } from '../../ingest/mqtt/limits.ts'
import { failures } from '../envelope.ts'
import { RequestError } from '../errors.ts'
import type { App, Services } from '../services.ts'

/** What a client of MQTT may name itself; the second is of MQTT 3.1. [MQTT-6.0.0-3] */
export const MQTT_SUBPROTOCOLS = ['mqtt', 'mqttv3.1'] as const

const UNSUPPORTED_DATA = 1003

/** MQTT over WebSocket, outside /api/v3: a CONNECT says who it is. */
export function mqttRoutes(app: App, { mqtt }: Services): void {
  if (!mqtt) return
  app.get(
    '/mqtt',
    {
      websocket: true,
      schema: {
        tags: ['Process'],
        summary: 'MQTT over a WebSocket',
        description:
          'With the subprotocol `mqtt`, in binary frames. What a device may publish is in docs/mqtt.md.',
        ...{ 'x-permission': 'device', security: [] },
        response: { 101: z.null().describe('The WebSocket is open'), ...failures(400) },
      },
      preValidation: async request => {
        const offered = request.headers['sec-websocket-protocol']?.split(',').map(name => name.trim())
        if (!offered?.some(name => (MQTT_SUBPROTOCOLS as readonly string[]).includes(name))) {
          throw new RequestError('invalid-input', 'The WebSocket has to offer the subprotocol mqtt.')
        }
      },
    },
    (socket, request) => {
      request.raw.socket.setKeepAlive(true, TCP_KEEPALIVE_MS)
      const stream = createWebSocketStream(socket)
      // [MQTT-6.0.0-1]: before the stream takes it for packets.
      socket.prependListener('message', (_data: unknown, isBinary: boolean) => {
        if (isBinary) return
        socket.close(UNSUPPORTED_DATA, 'MQTT is sent in binary frames')
        stream.destroy()
      })
      mqtt.accept(stream, request.ip)
    },
  )
}
