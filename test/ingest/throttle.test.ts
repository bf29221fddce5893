import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createConnectionThrottle } from '../../ingest/mqtt/throttle.ts'
import { pause, until } from '../support/wait.ts'

/** Streams that connect; `accepted` names their addresses in the order in which they are accepted. */
function connectTo(throttle: ReturnType<typeof createConnectionThrottle>) {
  const accepted: string[] = []
  const answers: (() => void)[] = []
  return {
    accepted,
    answers,
    from(address: string): PassThrough {
      const stream = new PassThrough()
      throttle.enter(stream, address, answered => {
        accepted.push(address)
        answers.push(answered)
      })
      return stream
    },
  }
}

describe('The connection throttle', () => {
  it('accepts so many a second; the others wait and are not turned away', async () => {
    const begun = performance.now()
    const throttle = createConnectionThrottle({ perSecond: 50 })
    const clients = connectTo(throttle)
    for (let n = 0; n < 100; n++) clients.from('a')
    const accepted = clients.accepted.length
    expect(accepted).toBeGreaterThanOrEqual(50)
    expect(accepted).toBeLessThanOrEqual(50 + ((performance.now() - begun) / 1_000) * 50)
    expect(throttle.waiting).toBe(100 - accepted)
    await until('all', () => clients.accepted.length === 100)
    expect(performance.now() - begun).toBeGreaterThan(900)
    throttle.close()
  })

  it('has no limit a second where it is off', () => {
    const throttle = createConnectionThrottle({ perSecond: 0 })
    const clients = connectTo(throttle)
    for (let n = 0; n < 400; n++) clients.from('a')
    expect(clients.accepted).toHaveLength(400)
    throttle.close()
  })

  it('accepts 500 of one address before any is answered, and one more for each that is or that leaves', async () => {
    const throttle = createConnectionThrottle({ perSecond: 0 })
    const clients = connectTo(throttle)
    const streams = Array.from({ length: 510 }, () => clients.from('a'))
    expect(clients.accepted).toHaveLength(500)
    clients.from('b')
    await until('another address', () => clients.accepted.includes('b'))
    clients.answers[0]?.()
    clients.answers[0]?.()
    streams[1]?.destroy()
    await until('two more', () => clients.accepted.length === 503)
    await pause(50)
    expect(clients.accepted).toHaveLength(503)
    throttle.close()
  })

  it('gives each address its turn, however often one connects', async () => {
    const throttle = createConnectionThrottle({ perSecond: 100 })
    const clients = connectTo(throttle)
    for (let n = 0; n < 500; n++) clients.from('many')
    await pause(100)
    const before = clients.accepted.length
    clients.from('one')
    await until('its turn', () => clients.accepted.includes('one'))
    // Of the other 400, at most one comes first.
    expect(clients.accepted.indexOf('one') - before).toBeLessThanOrEqual(1)
    throttle.close()
  })

  it('forgets who hangs up, and closes who comes when it is full', async () => {
    const throttle = createConnectionThrottle({ perSecond: 1, max: 2 })
    const clients = connectTo(throttle)
    const [, second, third, fourth] = [1, 2, 3, 4].map(() => clients.from('a'))
    expect([third?.destroyed, fourth?.destroyed]).toEqual([false, true])
    // At the next look of a test that polls, the third may have been accepted.
    const forgotten = new Promise<number>(resolve => second?.once('close', () => resolve(throttle.waiting)))
    second?.destroy(new Error('hung up'))
    expect(await forgotten).toBe(1)
    throttle.close()
    expect(third?.destroyed).toBe(true)
  })

  it('that one address has filled has room for others', async () => {
    const throttle = createConnectionThrottle({ perSecond: 1, max: 10 })
    const clients = connectTo(throttle)
    const many = Array.from({ length: 20 }, () => clients.from('many'))
    const others = ['b', 'c', 'd'].map(address => clients.from(address))
    expect(others.map(({ destroyed }) => destroyed)).toEqual([false, false, false])
    // One was accepted, and three of ten made room.
    expect(many.filter(({ destroyed }) => !destroyed)).toHaveLength(8)
    expect(throttle.waiting).toBe(10)
    throttle.close()
  })
})
