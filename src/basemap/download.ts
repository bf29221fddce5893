import type { LookupFunction } from 'node:net'
import type { Agent } from 'undici'

/** A server far away answers a range of 16 KiB in less than a second. */
const CONNECT_WITHIN_MS = 5_000
const ANSWER_WITHIN_MS = 10_000
/** Each piece takes a hundred bytes beside its own, and a turn of its own. A network hands over hundreds of bytes at once. */
const MAX_SMALL_PIECES = 256
const SMALL_BYTES = 64

/** An answer whose status is 200, 204, 206, 404 or 416; others are thrown. */
export interface Download {
  status: number
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
}

export interface Downloader {
  /** Throws where the answer is another one, does not arrive whole and in time, is longer than `maxBytes`, or comes in crumbs. */
  get(url: string, headers: Record<string, string>, maxBytes: number): Promise<Download>
  close(): Promise<void>
}

const EXPECTED: readonly number[] = [200, 204, 206, 404, 416]

/**
 * Asks another server, over at most `maxConnections` at once. Redirects are not followed. `lookup` resolves the names of servers
 * instead of the system.
 */
export function createDownloader(maxConnections: number, lookup?: LookupFunction): Downloader {
  let agent: Agent | undefined
  /** Loaded with the first request: a server with a local basemap sends none. */
  async function start() {
    const { Agent, request } = await import('undici')
    agent ??= new Agent({
      connections: maxConnections,
      pipelining: 1,
      connect: { timeout: CONNECT_WITHIN_MS, ...(lookup && { lookup }) },
      headersTimeout: ANSWER_WITHIN_MS,
      bodyTimeout: ANSWER_WITHIN_MS,
      maxHeaderSize: 16 * 1024,
    })
    return { agent, request }
  }

  return {
    async get(url, headers, maxBytes) {
      const { agent: dispatcher, request } = await start()
      // Also of an answer that trickles.
      const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
      const answer = await request(url, { dispatcher, headers, signal })
      const { statusCode: status } = answer
      try {
        if (!EXPECTED.includes(status)) throw new Error(`The server answers ${status}`)
        const chunks: Buffer[] = []
        let size = 0
        for await (const chunk of answer.body) {
          chunks.push(chunk)
          size += chunk.length
          if (size > maxBytes) throw new Error(`The server answers more than ${maxBytes} bytes`)
          if (chunks.length > MAX_SMALL_PIECES && size < chunks.length * SMALL_BYTES)
            throw new Error('The server answers in pieces of a few bytes')
        }
        return { status, headers: answer.headers, bytes: Buffer.concat(chunks) }
      } finally {
        // The rest of an answer that nobody reads would hold its connection. To end it is an error to undici.
        answer.body.on('error', () => {}).destroy()
      }
    },
    close: async () => await agent?.destroy(),
  }
}
