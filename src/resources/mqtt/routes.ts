import type { FastifyRequest } from 'fastify'
import { createWebSocketStream, type WebSocket } from 'ws'
import { TCP_KEEPALIVE_MS } from '../../../ingest/mqtt/limits.ts'
import { RequestError } from '../../http/errors.ts'
import { MQTT_SUBPROTOCOLS } from '../../http/plugins/upgrades.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'

const UNSUPPORTED_DATA = 1003

/** MQTT over WebSocket, outside /api/v3: the CONNECT packet authenticates the client. */
export function mqttRoutes(app: App, { mqtt, connections }: Services): void {
  if (!mqtt) return
  const options = { websocket: true, schema: operations.openMqtt, preValidation: checkSubprotocol } as const
  app.get('/mqtt', options, (socket: WebSocket, { raw, ip }) => {
    raw.socket.setKeepAlive(true, TCP_KEEPALIVE_MS)
    const stream = createWebSocketStream(socket)
    // [MQTT-6.0.0-1]: runs before the stream parses the frame as packets.
    socket.prependListener('message', (_data: unknown, isBinary: boolean) => {
      if (isBinary) return
      socket.close(UNSUPPORTED_DATA, 'MQTT is sent in binary frames')
      stream.destroy()
    })
    // A client that sends no CONNECT counts as idle, like an HTTP client that sends nothing.
    connections.leaveWork(raw.socket)
    mqtt.accept(stream, ip, () => connections.work(raw.socket))
  })
}

async function checkSubprotocol({ headers }: FastifyRequest): Promise<void> {
  const offered = headers['sec-websocket-protocol']?.split(',').map(name => name.trim())
  if (!offered?.some(name => MQTT_SUBPROTOCOLS.includes(name))) {
    throw new RequestError('invalid-input', 'The WebSocket has to offer the subprotocol mqtt.')
  }
}
