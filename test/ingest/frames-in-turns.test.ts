import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { openStream } from '../../ingest/connections/broker/stream.ts'
import { WEBSOCKET_LIMITS } from '../../ingest/mqtt/websocket.ts'

const FRAMES = 5_000

/** Counts how often `hear` is called in each turn of the event loop, until it was called for every frame. */
async function mostInOneTurn(listen: (hear: () => void) => void): Promise<number> {
  let [inThisTurn, most, all] = [0, 0, 0]
  listen(() => {
    all++
    most = Math.max(most, ++inThisTurn)
  })
  while (all < FRAMES) {
    await turn()
    inThisTurn = 0
  }
  return most
}

/** Two at most: one at the end of a read, and the next one after it. */
const FEW = 2

describe('Small frames of a WebSocket that arrive together', () => {
  it('get a turn each at our own doors', async () => {
    const sockets = new WebSocketServer({ host: '127.0.0.1', port: 0, ...WEBSOCKET_LIMITS })
    await once(sockets, 'listening')
    const client = connect((sockets.address() as AddressInfo).port, '127.0.0.1')
    const upgrade = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13']
    client.write(
      `GET / HTTP/1.1\r\nHost: us\r\n${upgrade.join('\r\n')}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    )
    const [[socket]] = (await Promise.all([once(sockets, 'connection'), once(client, 'data')])) as [
      [WebSocket],
      unknown,
    ]
    const counting = mostInOneTurn(hear => socket.on('message', hear))
    client.write(Buffer.alloc(6 * FRAMES, Buffer.from([0x82, 0x80, 0, 0, 0, 0])))
    expect(await counting).toBeLessThanOrEqual(FEW)
    client.destroy()
    sockets.close()
  })

  it('get a turn each from a foreign broker', async () => {
    const accepted: Socket[] = []
    const broker = createServer(socket => {
      accepted.push(socket)
      socket.on('error', () => {})
    }).listen(0, '127.0.0.1')
    await once(broker, 'listening')
    const url = `ws://127.0.0.1:${(broker.address() as AddressInfo).port}`
    const stream = openStream({ broker: { url }, secrets: {} } as never, { allowPrivate: true })
    const [socket] = (await once(broker, 'connection')) as [Socket]
    const [head] = (await once(socket, 'data')) as [Buffer]
    const key = /sec-websocket-key: (.+)\r\n/i.exec(String(head))?.[1]
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    const answer = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Protocol: mqtt']
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\n${answer.join('\r\n')}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    const counting = mostInOneTurn(hear => stream.on('data', hear))
    socket.write(Buffer.alloc(3 * FRAMES, Buffer.from([0x82, 0x01, 0x00])))
    expect(await counting).toBeLessThanOrEqual(FEW)
    stream.destroy()
    for (const one of accepted) one.destroy()
    broker.close()
  })
})
