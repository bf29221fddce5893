import { WebSocket } from 'ws'
import type { OpenSocket } from './socket.ts'

// Node 20 has no WebSocket of its own.
export const openSocket: OpenSocket = (url, protocols) =>
  new WebSocket(url, protocols, { handshakeTimeout: 15_000 }) as unknown as ReturnType<OpenSocket>
