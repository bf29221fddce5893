/**
 * What screens are held against, a process of its own: `ws` sends one frame over and over to everybody who is connected,
 * and waits for whoever does not read. Its order is the frame; it answers with its port.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { obeyLines } from './orders.ts'

export interface BareOrder {
  frame: string
}

/** As much as our screens may have waiting. */
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
