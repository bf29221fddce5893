import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'

/** The streets around Toolangi: vector tiles of the levels 0 to 15 (test/data/basemap/README.md). */
export const TOOLANGI = resolve(import.meta.dirname, '../data/basemap/toolangi.pmtiles')
/** The tile with the village's main road, and others of its surroundings. */
export const VILLAGE = { z: 14, x: 14812, y: 10036 }
export const ELSEWHERE = { z: 14, x: 14811, y: 10035 }

/** How the server that holds the archive behaves. */
export type Behaviour =
  | 'well'
  /** It answers nothing, and does not hang up. */
  | 'silent'
  | 'failing'
  /** It hangs up in the middle of an answer. */
  | 'half'
  /** It sends other bytes than it was asked for. */
  | 'endless'
  /** It sends byte by byte. */
  | 'crumbling'
  | 'another range'
  | 'no ranges'
  /** The upload of the archive has stopped in the middle. */
  | 'cut off'
  /** Each answer has another ETag. */
  | 'changing'

export interface RemoteArchive {
  /** An address of its own for each name, so that each has its own kept tiles. */
  url(name: string): string
  behaviour: Behaviour
  etag: string
  /** The ranges that were asked for. */
  asked: string[]
  /** The most requests that were under way at once. */
  most: number
  close(): Promise<void>
}

/** A server that holds an archive. */
export async function startRemoteArchive(): Promise<RemoteArchive> {
  const whole = readFileSync(TOOLANGI)
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    open.add(response)
    response.once('close', () => open.delete(response))
    archive.most = Math.max(archive.most, open.size)
    archive.asked.push(request.headers.range ?? '')
    const { behaviour } = archive
    const bytes = behaviour === 'cut off' ? whole.subarray(0, whole.length / 2) : whole
    const [, from = '0', to = '0'] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const [first, last] = [Number(from), Math.min(Number(to), bytes.length - 1)]
    const piece = bytes.subarray(first, last + 1)
    if (behaviour === 'silent') return
    if (behaviour === 'failing') return response.writeHead(500).end('out of order')
    if (behaviour === 'no ranges') return response.writeHead(200, { etag: archive.etag }).end(bytes)
    const shift = behaviour === 'another range' ? 1 : 0
    response.writeHead(206, {
      etag: behaviour === 'changing' ? `"${archive.asked.length}"` : archive.etag,
      'content-range': `bytes ${first + shift}-${last + shift}/${bytes.length}`,
      ...(behaviour === 'half' ? { 'content-length': piece.length } : {}),
    })
    if (behaviour === 'half') response.write(piece.subarray(0, piece.length / 2), () => response.destroy())
    else if (behaviour === 'crumbling') crumble(response, piece)
    else response.end(behaviour === 'endless' ? bytes : piece)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const archive: RemoteArchive = {
    url: name => `http://127.0.0.1:${port}/${name}.pmtiles`,
    behaviour: 'well',
    etag: '"first"',
    asked: [],
    most: 0,
    async close() {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
  return archive
}

/** Sends each byte when the last one has been read: more of them in the socket would be read at once. */
async function crumble(response: ServerResponse, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    response.write(Buffer.of(byte))
    await setImmediate()
  }
  response.end()
}
