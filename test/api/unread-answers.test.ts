import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { pace } from '../../src/http/plugins/pipelining.ts'
import { cutUnread } from '../../src/http/plugins/unread-answers.ts'

const UNREAD_MS = 1_000
const SILENT_MS = 4_000
const FILE = Buffer.alloc(16 * 1024 * 1024)

describe('An answer that waits to be read', () => {
  let server: Server
  const sockets: Socket[] = []
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
    server.close()
  })

  async function open(listener: RequestListener): Promise<void> {
    server = cutUnread(createServer(pace(listener)), UNREAD_MS, SILENT_MS)
    await once(server.listen(0, '127.0.0.1'), 'listening')
  }
  async function ask(times: number): Promise<{ reader: Socket; served: Socket }> {
    const reader = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
    sockets.push(reader.pause())
    const [served] = (await once(server, 'connection')) as [Socket]
    reader.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(times))
    return { reader, served }
  }
  const end = (response: Parameters<RequestListener>[1]) =>
    response.setHeader('content-length', FILE.length).end(FILE)

  it('ends with its connection where nobody takes any of it, one or many', async () => {
    await open((_request, response) => void end(response))
    for (const times of [1, 30]) {
      const { served } = await ask(times)
      await once(served, 'close')
    }
  })

  it('is whole where it is taken slowly, and where it takes its time to come', async () => {
    await open((_request, response) => void setTimeout(end, 2 * UNREAD_MS, response))
    const { reader } = await ask(1)
    let bytes = 0
    const begunAt = performance.now()
    while (bytes < FILE.length) {
      await sleep(25)
      bytes += (reader.read() as Buffer | null)?.length ?? 0
      if (reader.destroyed) break
    }
    expect(bytes).toBeGreaterThan(FILE.length)
    expect(performance.now() - begunAt).toBeGreaterThan(3 * UNREAD_MS)
  })

  it('that never comes ends as well', async () => {
    await open(() => {})
    const { served } = await ask(1)
    const begunAt = performance.now()
    await once(served, 'close')
    // Not at the time when an unread answer would have been cut off.
    expect(performance.now() - begunAt).toBeGreaterThan(SILENT_MS - 100)
  })
})
