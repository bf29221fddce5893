import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { openServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { useBrowser } from './browser.ts'

/** A tile of one colour that no theme has. */
const MAGENTA = [255, 0, 255] as const
const SIZE = 256

function writePng(): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(checksum(body))
    return Buffer.concat([length, body, sum])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(SIZE, 0)
  header.writeUInt32BE(SIZE, 4)
  // 8 bits each of red, green and blue.
  header[8] = 8
  header[9] = 2
  const row = Buffer.concat([Buffer.from([0]), ...Array.from({ length: SIZE }, () => Buffer.from(MAGENTA))])
  const pixels = deflateSync(Buffer.concat(Array.from({ length: SIZE }, () => row)))
  const magic = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10])
  return Buffer.concat([magic, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

/** PNG's checksum, which node:zlib does not have in every version. */
function checksum(bytes: Buffer): number {
  let sum = -1
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0)
  }
  return ~sum >>> 0
}

/** PMTiles 3 with one tile of the whole world: header, directory, metadata, tile, all uncompressed. */
function writeArchive(tile: Buffer): Buffer {
  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)]
  const directory = Buffer.from([1, 0, 1, ...varint(tile.length), 1])
  const metadata = Buffer.from('{}')
  const header = Buffer.alloc(127)
  header.write('PMTiles', 0, 'latin1')
  header[7] = 3
  const place = (at: number, offset: number, length: number) => {
    header.writeBigUInt64LE(BigInt(offset), at)
    header.writeBigUInt64LE(BigInt(length), at + 8)
  }
  const start = header.length + directory.length + metadata.length
  place(8, header.length, directory.length)
  place(24, header.length + directory.length, metadata.length)
  place(40, start, 0)
  place(56, start, tile.length)
  for (const at of [72, 80, 88]) header.writeBigUInt64LE(1n, at)
  header[96] = header[97] = header[98] = 1
  header[99] = 2
  header.writeInt32LE(-180 * 1e7, 102)
  header.writeInt32LE(-85 * 1e7, 106)
  header.writeInt32LE(180 * 1e7, 110)
  header.writeInt32LE(85 * 1e7, 114)
  return Buffer.concat([header, directory, metadata, tile])
}

describe('The base map', () => {
  const screens = useBrowser({ map: 'drawn' })
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-tiles-'))
  const tile = writePng()
  let asked: string[] = []
  const agents: (string | undefined)[] = []
  const tiles = createServer((request, response) => {
    asked.push(request.url as string)
    agents.push(request.headers['user-agent'])
    response.writeHead(200, { 'content-type': 'image/png' }).end(tile)
  })
  let database: TestDatabase

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    await new Promise<void>(resolve => tiles.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    tiles.close()
    rmSync(folder, { recursive: true })
    await database.remove()
  })

  it.each(['tiles of another server', 'a file of tiles'])('is %s', async kind => {
    asked = []
    const { port } = tiles.address() as AddressInfo
    const file = join(folder, 'world.pmtiles')
    writeFileSync(file, writeArchive(tile))
    const isFile = kind === 'a file of tiles'
    const server = await openServer(database, {
      BASEMAP: isFile ? file : `http://127.0.0.1:${port}/tiles/{z}/{x}/{y}.png`,
    })
    try {
      const page = await screens.open(server.url, { as: await signIn(server), mayFail: /WebSocket/ })
      await page.getByRole('heading', { name: 'Nothing on the map yet' }).waitFor()
      const blank = await page.context().newPage()
      await until('the map has the colour of the tile', async () => {
        const shot = await page.screenshot({ clip: { x: 900, y: 20, width: 1, height: 1 } })
        return shot.equals(await shotOf(blank))
      })
      expect(asked.length > 0).toBe(!isFile)
      // Only the server asks another server.
      expect(agents.filter(agent => agent?.includes('Mozilla'))).toEqual([])
      for (const path of asked) expect(path).toMatch(/^\/tiles\/\d+\/\d+\/\d+\.png$/)
      await page.close()
    } finally {
      await server.stop()
    }
  })

  async function shotOf(blank: Page): Promise<Buffer> {
    await blank.goto(`data:text/html,<body style="margin:0;background:rgb(${MAGENTA.join(',')})">`)
    return blank.screenshot({ clip: { x: 900, y: 20, width: 1, height: 1 } })
  }
})
