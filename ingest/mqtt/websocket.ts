import type { Duplex } from 'node:stream'
import { createWebSocketStream, type WebSocket } from 'ws'

/** The subprotocols of MQTT clients; the second is that of MQTT 3.1. [MQTT-6.0.0-3] */
export const MQTT_SUBPROTOCOLS: readonly string[] = ['mqtt', 'mqttv3.1']

/** What every WebSocket has in common, whoever opens it. */
export const FRAME_LIMITS = {
  // A message in pieces of one byte would occupy a hundred times its size.
  maxFragments: 1_024,
  maxBufferedChunks: 4_096,
  // Compression costs ten times the CPU of sending.
  perMessageDeflate: false,
  // One read of a socket may hold 30,000 empty frames: each gets a turn of its own.
  allowSynchronousEvents: false,
} as const

/** A live subscription names its subjects; 5,000 identifiers are 200 KiB. A packet of MQTT may have several messages. */
export const WEBSOCKET_LIMITS = { ...FRAME_LIMITS, maxPayload: 256 * 1024 } as const

const UNSUPPORTED_DATA = 1003

/** The packets of MQTT that a WebSocket carries. */
export function toMqttStream(socket: WebSocket): Duplex {
  const stream = createWebSocketStream(socket)
  // [MQTT-6.0.0-1]: runs before the stream parses the frame as packets.
  socket.prependListener('message', (_data: unknown, isBinary: boolean) => {
    if (isBinary) return
    socket.close(UNSUPPORTED_DATA, 'MQTT is sent in binary frames')
    stream.destroy()
  })
  return stream
}

/** Whether a `Sec-WebSocket-Protocol` offers MQTT. */
export function offersMqtt(header: string | undefined): boolean {
  const offered = header?.split(',').map(name => name.trim())
  return offered?.some(name => MQTT_SUBPROTOCOLS.includes(name)) ?? false
}
