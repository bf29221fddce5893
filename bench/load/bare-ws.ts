/**
 * The reference for screens, in a process of its own: `ws` repeatedly sends one frame to every connected client, and
 * waits for clients that do not read. Its order is the frame; it answers with its port.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { obeyLines } from './orders.ts'

export interface BareOrder {
  frame: string
}

/** The number of bytes that Fieldline lets wait for a screen. */
const WAITING_BYTES = 256 * 1024

obeyLines<BareOrder>(async ({ frame }) => {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false })
  await once(server, 'listening')
  server.on('connection', socket => socket.once('message', () => socket.send(frame)))
  const send = () => {
    for (const socket of server.clients) if (socket.bufferedAmount < WAITING_BYTES) socket.send(frame)
    setImmediate(send)
  }
  send()
  return { port: (server.address() as AddressInfo).port }
})
