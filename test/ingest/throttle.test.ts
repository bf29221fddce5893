import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createWaitingRoom, networkOf } from '../../ingest/mqtt/throttle.ts'
import { pause, until } from '../support/wait.ts'

/** Streams that knock; `admitted` names their addresses in the order in which they are let in. */
function knock(room: ReturnType<typeof createWaitingRoom>) {
  const admitted: string[] = []
  const answers: (() => void)[] = []
  return {
    admitted,
    answers,
    from(address: string): PassThrough {
      const stream = new PassThrough()
      room.enter(stream, address, answered => {
        admitted.push(address)
        answers.push(answered)
      })
      return stream
    },
  }
}

describe('The waiting room', () => {
  it('lets in so many a second; the others wait and are not turned away', async () => {
    const room = createWaitingRoom({ perSecond: 50 })
    const door = knock(room)
    const begun = performance.now()
    for (let n = 0; n < 100; n++) door.from('a')
    expect(door.admitted).toHaveLength(50)
    expect(room.waiting).toBe(50)
    await until('all', () => door.admitted.length === 100)
    expect(performance.now() - begun).toBeGreaterThan(900)
    room.close()
  })

  it('has no limit a second where it is off', () => {
    const room = createWaitingRoom({ perSecond: 0 })
    const door = knock(room)
    for (let n = 0; n < 400; n++) door.from('a')
    expect(door.admitted).toHaveLength(400)
    room.close()
  })

  it('lets in 500 of one address before any is answered, and one more for each that is or that leaves', async () => {
    const room = createWaitingRoom({ perSecond: 0 })
    const door = knock(room)
    const streams = Array.from({ length: 510 }, () => door.from('a'))
    expect(door.admitted).toHaveLength(500)
    door.from('b')
    await until('another address', () => door.admitted.includes('b'))
    door.answers[0]?.()
    door.answers[0]?.()
    streams[1]?.destroy()
    await until('two more', () => door.admitted.length === 503)
    await pause(50)
    expect(door.admitted).toHaveLength(503)
    room.close()
  })

  it('gives each address its turn, however often one knocks', async () => {
    const room = createWaitingRoom({ perSecond: 100 })
    const door = knock(room)
    for (let n = 0; n < 500; n++) door.from('many')
    await pause(100)
    door.from('one')
    await until('its turn', () => door.admitted.includes('one'), 500)
    room.close()
  })

  it('forgets who hangs up, and closes who comes when it is full', async () => {
    const room = createWaitingRoom({ perSecond: 1, most: 2 })
    const door = knock(room)
    const [, second, third, fourth] = [1, 2, 3, 4].map(() => door.from('a'))
    expect([third?.destroyed, fourth?.destroyed]).toEqual([false, true])
    second?.destroy(new Error('hung up'))
    await until('forgotten', () => room.waiting === 1)
    room.close()
    expect(third?.destroyed).toBe(true)
  })

  it('that one address has filled has room for others', async () => {
    const room = createWaitingRoom({ perSecond: 1, most: 10 })
    const door = knock(room)
    const many = Array.from({ length: 20 }, () => door.from('many'))
    const others = ['b', 'c', 'd'].map(address => door.from(address))
    expect(others.map(({ destroyed }) => destroyed)).toEqual([false, false, false])
    // One was let in, and three of ten made room.
    expect(many.filter(({ destroyed }) => !destroyed)).toHaveLength(8)
    expect(room.waiting).toBe(10)
    room.close()
  })

  it('takes a /64 of IPv6 for one address, and a mapped one for what it is', () => {
    expect(networkOf('192.0.2.1')).toBe('192.0.2.1')
    expect(networkOf('::ffff:192.0.2.1')).toBe('192.0.2.1')
    expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2')
    expect(networkOf('2001:db8::1')).toBe('2001:db8:0:0')
    expect(networkOf('::1')).toBe('0:0:0:0')
    expect(networkOf(undefined)).toBe('')
  })
})
