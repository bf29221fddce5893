import { describe, expect, it } from 'vitest'
import { Frames } from '../../ingest/connections/broker/frames.ts'
import { heldHeapBytes } from '../support/held-bytes.ts'

const PACKET = 250_000
/** A PUBLISH with a topic of one letter. */
const bytes = Buffer.concat([
  Buffer.from([0x30, (PACKET & 127) | 128, ((PACKET >> 7) & 127) | 128, PACKET >> 14, 0, 1, 0x61]),
  Buffer.alloc(PACKET - 3, 'x'),
])

describe('A packet of a broker', () => {
  it.each([1, 2, 3, 7, 1_000, 100_000])('that comes in pieces of %i bytes is the same', size => {
    const frames = new Frames()
    const found: string[] = []
    for (let at = 0; at < bytes.length; at += size) {
      frames.add(Buffer.from(bytes.subarray(at, at + size)))
      const frame = frames.next()
      if (frame) found.push('bytes' in frame && frame.bytes.equals(bytes) ? 'the packet' : 'another')
    }
    expect(found).toEqual(['the packet'])
    expect(frames.length).toBe(0)
  })

  it('that never ends takes little more memory than it has bytes, however small its pieces are', () => {
    const frames = new Frames()
    const before = heldHeapBytes()
    let found = 0
    for (let at = 0; at < bytes.length - 1; at++) {
      frames.add(Buffer.from(bytes.subarray(at, at + 1)))
      if (frames.next()) found++
    }
    expect(found).toBe(0)
    // As single pieces they are 25 MB.
    expect(heldHeapBytes() - before).toBeLessThan(4 * 1024 * 1024)
    expect(frames.length).toBe(bytes.length - 1)
  })
})
