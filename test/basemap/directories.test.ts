import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { createArchive } from '../../src/basemap/archive.ts'

const HEADER_BYTES = 127

/** An archive whose root directory has so many entries, each of one tile at the top. */
function archiveOf(entries: number) {
  const count: number[] = []
  for (let left = entries; ; left = Math.floor(left / 128)) {
    count.push(left < 128 ? left : (left & 127) | 128)
    if (left < 128) break
  }
  const directory = gzipSync(
    Buffer.concat([Buffer.from(count), Buffer.alloc(entries), Buffer.alloc(3 * entries, 1)]),
  )
  const header = Buffer.alloc(HEADER_BYTES)
  header.write('PMTiles')
  header[7] = 3
  header.writeBigUInt64LE(BigInt(HEADER_BYTES), 8)
  header.writeBigUInt64LE(BigInt(directory.length), 16)
  for (const at of [24, 40, 56]) header.writeBigUInt64LE(BigInt(HEADER_BYTES + directory.length), at)
  // Directories in gzip, tiles of vectors in gzip, levels 0 to 15.
  header.set([2, 2, 1, 0, 15], 97)
  const bytes = Buffer.concat([header, directory])
  return createArchive('test', async (offset, length) => ({
    bytes: bytes.subarray(offset, offset + length),
    etag: undefined,
    size: bytes.length,
  }))
}

it.each([1, 16_384, 65_536])('A directory of %i entries is read', async entries => {
  expect(await archiveOf(entries).read({ z: 15, x: 5, y: 5 })).toBeNull()
})

it('A directory of more entries than any archive has is refused before all of them are objects', async () => {
  await expect(archiveOf(65_537).read({ z: 15, x: 5, y: 5 })).rejects.toThrow('A directory has 65537 entries')
  await expect(archiveOf(1_000_000).read({ z: 15, x: 5, y: 5 })).rejects.toThrow(
    'A directory has 1000000 entries',
  )
})
