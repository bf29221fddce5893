import type { FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import { TCP_KEEPALIVE_MS } from '../../../ingest/mqtt/limits.ts'
import { offersMqtt, toMqttStream } from '../../../ingest/mqtt/websocket.ts'
import { RequestError } from '../../http/errors.ts'
import type { App, Services } from '../../services.ts'
import * as operations from './schemas.ts'

/** MQTT over WebSocket, outside /api/v3: the CONNECT packet authenticates the client. */
export function mqttRoutes(app: App, { mqtt, connections }: Services): void {
  if (!mqtt) return
  const options = { websocket: true, schema: operations.openMqtt, preValidation: checkSubprotocol } as const
  app.get('/mqtt', options, (socket: WebSocket, { raw, ip }) => {
    raw.socket.setKeepAlive(true, TCP_KEEPALIVE_MS)
    const stream = toMqttStream(socket)
    // A client that sends no CONNECT counts as idle, like an HTTP client that sends nothing.
    connections.leaveWork(raw.socket)
    mqtt.accept(stream, ip, () => connections.work(raw.socket))
  })
}

async function checkSubprotocol({ headers }: FastifyRequest): Promise<void> {
  if (!offersMqtt(headers['sec-websocket-protocol']))
    throw new RequestError('invalid-input', 'The WebSocket has to offer the subprotocol mqtt.')
}
