import { open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { learnRoots } from '../../fair/roots.ts'
import { createSpool, createSpoolRoom, type SpoolPlace } from '../../src/http/spool.ts'
import { pause, until } from '../support/wait.ts'

const MAX = 100

describe('An answer that goes through a file', () => {
  const readers: AbortController[] = []
  // Its file is closed when its reader disconnects; Node warns if the garbage collector has to close it.
  afterEach(() => {
    for (const reader of readers.splice(0)) reader.abort()
  })

  async function begin(place: SpoolPlace = createSpoolRoom(MAX).take('a')) {
    const path = join(tmpdir(), `spool-${crypto.randomUUID()}`)
    const file = await open(path, 'wx+')
    await rm(path)
    const leaving = new AbortController()
    readers.push(leaving)
    const isClosed = () => file.fd === -1
    return { spool: createSpool(file, place, MAX, leaving.signal), leaving, isClosed }
  }
  async function read(pieces: AsyncIterable<Uint8Array>): Promise<string> {
    let text = ''
    for await (const piece of pieces) text += Buffer.from(piece)
    return text
  }

  it('is what was written, also while it is still written, and its failure comes behind what there is', async () => {
    const { spool } = await begin()
    const text = read(spool.pieces())
    for (const piece of ['one ', 'two ', 'three']) {
      await spool.write(Buffer.from(piece))
      await pause(1)
    }
    spool.end()
    expect(await text).toBe('one two three')
    const { spool: broken } = await begin()
    await broken.write(Buffer.from('one'))
    broken.end({ error: new Error('no more') })
    const pieces = broken.pieces()
    expect(String((await pieces.next()).value)).toBe('one')
    await expect(pieces.next()).rejects.toThrow('no more')
  })

  it.each<[string, (spool: Awaited<ReturnType<typeof begin>>['spool']) => void]>([
    ['nothing more comes', () => {}],
    ['more is written', spool => void spool.write(Buffer.from('more')).catch(error => spool.end({ error }))],
    ['it is whole', spool => spool.end()],
  ])(
    'ends without an error for whoever leaves while %s, and its file is closed',
    async (_what, meanwhile) => {
      const { spool, leaving, isClosed } = await begin()
      await spool.write(Buffer.from('one'))
      const pieces = spool.pieces()
      expect(String((await pieces.next()).value)).toBe('one')
      const rest = read(pieces)
      leaving.abort(new Error('The caller has gone.'))
      meanwhile(spool)
      // As its producer does when it is stopped.
      spool.end({ error: leaving.signal.reason })
      expect(await rest).toBe('')
      await until('it is closed', isClosed)
    },
  )

  it('has no room beyond what all may have, nor its owner beyond what is left, until one has been read', async () => {
    const room = createSpoolRoom(MAX)
    const take = (owner: string) => {
      try {
        return room.take(owner)
      } catch (error) {
        return (error as { statusCode: number }).statusCode
      }
    }
    const one = await begin(room.take('a'))
    await one.spool.write(Buffer.alloc(50))
    const other = await begin(room.take('a'))
    await other.spool.write(Buffer.alloc(10))
    expect(take('a')).toBe(429)
    const third = await begin(room.take('b'))
    // A spool that has begun is not cut off.
    await third.spool.write(Buffer.alloc(60))
    expect([take('a'), take('b'), take('c')]).toEqual([503, 503, 503])
    learnRoots(['x1', 'x2'].map(organizationId => ({ organizationId, root: 'a' })))
    expect([take('x1'), take('x2')]).toEqual([503, 503])
    one.leaving.abort()
    await expect(one.spool.write(Buffer.alloc(1))).rejects.toThrow()
    expect([take('x1'), take('b')]).toEqual([expect.any(Object), 429])
    third.leaving.abort()
    other.leaving.abort()
    expect(take('b')).toEqual(expect.any(Object))
  })
})
