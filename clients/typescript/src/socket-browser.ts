import type { OpenSocket } from './socket.ts'

export const openSocket: OpenSocket = (url, protocols) => new WebSocket(url, protocols)
