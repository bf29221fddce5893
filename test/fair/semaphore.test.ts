import { describe, expect, it } from 'vitest'
import { learnRoots } from '../../fair/roots.ts'
import { BusyError, createSemaphore } from '../../fair/semaphore.ts'

/** Longer than a machine pauses: where nobody is to be refused by time. */
const LONG_MS = 60_000

const create = (given: Partial<Parameters<typeof createSemaphore>[0]> = {}) =>
  createSemaphore({ max: 4, maxPerRoot: 2, maxWaiting: 3, waitMs: 50, ...given })

describe('Turns', () => {
  it('leave room for others however much one asks for', async () => {
    const semaphore = create()
    await semaphore.acquire('a')
    await semaphore.acquire('a')
    const third = semaphore.acquire('a').catch(error => error)
    await semaphore.acquire('b')
    await semaphore.acquire('c')
    expect(await third).toBeInstanceOf(BusyError)
  })

  it('are shared by root, however many organizations and accounts it has', async () => {
    learnRoots(['x1', 'x2', 'x3'].map(organizationId => ({ organizationId, root: 'x' })))
    const semaphore = create({ max: 3, maxPerRoot: 2 })
    await semaphore.acquire('x1')
    await semaphore.acquire('x2')
    const third = semaphore.acquire('x3').catch(error => error)
    await semaphore.acquire('b')
    expect(await third).toBeInstanceOf(BusyError)
    const order: string[] = []
    const one = create({ max: 1, maxPerRoot: 1, maxWaiting: 100, waitMs: LONG_MS })
    const giveBack = await one.acquire('a')
    const waiting = ['x1', 'x1', 'x2', 'x3', 'b'].map(async owner => {
      const release = await one.acquire(owner)
      order.push(owner)
      setImmediate(release)
    })
    giveBack()
    await Promise.all(waiting)
    expect(order).toEqual(['x1', 'b', 'x2', 'x3', 'x1'])
  })

  it('leave a latecomer as much as each of the others has, until all are taken', async () => {
    const semaphore = create({ max: 8, maxPerRoot: 8, maxWaiting: 100, waitMs: 1_000 })
    const held = { a: 0, b: 0, c: 0 }
    const all: Promise<unknown>[] = []
    for (const owner of ['a', 'b', 'c'] as const) {
      for (let n = 0; n < 8; n++)
        all.push(
          semaphore.acquire(owner).then(
            () => held[owner]++,
            () => {},
          ),
        )
      await new Promise(resolve => setImmediate(resolve))
    }
    expect(held).toEqual({ a: 4, b: 2, c: 1 })
    await Promise.all(all)
  })

  it('go round: one that has many waiting delays another by one of them', async () => {
    const semaphore = create({ max: 1, maxPerRoot: 1, maxWaiting: 100, waitMs: LONG_MS })
    const order: string[] = []
    let giveBack = await semaphore.acquire('a')
    const waiting = ['a', 'a', 'a', 'b', 'c', 'b'].map(async owner => {
      const release = await semaphore.acquire(owner)
      order.push(owner)
      setImmediate(release)
    })
    giveBack()
    await Promise.all(waiting)
    expect(order.slice(0, 3).sort()).toEqual(['a', 'b', 'c'])
    giveBack = await semaphore.acquire('a')
    giveBack()
  })

  it('give every second one to the first class, and every second of the rest to the next', async () => {
    const semaphore = create({ max: 1, maxPerRoot: 1, maxWaiting: 100, waitMs: LONG_MS, classes: 3 })
    const order: number[] = []
    const giveBack = await semaphore.acquire('a')
    const waiting = [2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0].map(async (place, index) => {
      const release = await semaphore.acquire(`owner ${index % 2}`, { class: place })
      order.push(place)
      setImmediate(release)
    })
    giveBack()
    await Promise.all(waiting)
    expect(order).toEqual([0, 1, 0, 2, 0, 1, 0, 2, 1, 2, 1, 2])
  })

  it('are shared by their costs: after a long one of a root come all the short ones of another', async () => {
    const semaphore = create({ max: 1, maxPerRoot: 1, maxWaiting: 100, waitMs: LONG_MS })
    const order: string[] = []
    const giveBack = await semaphore.acquire('long')
    const waiting = [...Array(3).fill('long'), ...Array(8).fill('short')].map(async owner => {
      const release = await semaphore.acquire(owner)
      order.push(owner)
      setImmediate(() => release(owner === 'long' ? 100 : 10))
    })
    giveBack(100)
    await Promise.all(waiting)
    expect(order).toEqual([...Array(8).fill('short'), 'long', 'long', 'long'])
  })

  it('of a root that asks for one long turn at a time do not come before all the short ones of another', async () => {
    const semaphore = create({ max: 1, maxPerRoot: 1, maxWaiting: 100, waitMs: LONG_MS })
    const order: string[] = []
    const askAgain = async (owner: string, cost: number) => {
      while (order.length < 22) {
        const release = await semaphore.acquire(owner)
        order.push(owner)
        await new Promise(setImmediate)
        release(cost)
      }
    }
    const asking = [askAgain('long', 100), ...Array.from({ length: 3 }, () => askAgain('short', 10))]
    await Promise.all(asking)
    expect(order.slice(0, 22)).toEqual([
      ...['long', ...Array(10).fill('short')],
      ...['long', ...Array(10).fill('short')],
    ])
  })

  it('of a root that had long ones while it was alone are not made up for', async () => {
    const semaphore = create({ max: 1, maxPerRoot: 1, maxWaiting: 100, waitMs: LONG_MS })
    const order: string[] = []
    const giveBack = await semaphore.acquire('old')
    const waiting = Array.from({ length: 4 }, () => 'old').map(async (owner, nth) => {
      const release = await semaphore.acquire(owner)
      order.push(owner)
      // The other comes when the first one has had two turns alone.
      if (nth === 1)
        for (const newcomer of Array(4).fill('new'))
          void semaphore.acquire(newcomer).then(give => {
            order.push(newcomer)
            setImmediate(() => give(100))
          })
      setImmediate(() => release(100))
    })
    giveBack(100)
    await Promise.all(waiting)
    expect(order.slice(0, 6)).toEqual(['old', 'old', 'new', 'old', 'new', 'old'])
  })

  it.each([
    ['short', 10, [0, 1, 2, 1, 2, 0, 1, 2, 1, 2, 0, 1, 2, 0]],
    ['as long', 40, [0, 1, 0, 2, 0, 1, 0, 2, 1, 2, 1, 2, 1, 2]],
  ])(
    'of the first class have half of the costs, and others %s come after each',
    async (_how, cost, expected) => {
      const semaphore = create({ max: 1, maxPerRoot: 1, maxWaiting: 100, waitMs: LONG_MS, classes: 3 })
      const order: number[] = []
      const giveBack = await semaphore.acquire('a', { class: 0 })
      const waiting = [...Array(5).fill(2), ...Array(5).fill(1), ...Array(4).fill(0)].map(async place => {
        const release = await semaphore.acquire('a', { class: place })
        order.push(place)
        setImmediate(() => release(place === 0 ? 40 : cost))
      })
      giveBack(0)
      await Promise.all(waiting)
      expect(order).toEqual(expected)
    },
  )

  describe('whose last class gives way', () => {
    const createGiving = (lastGivesWay: { quietMs: number; restTimes: number; maxRestMs: number }) =>
      create({ max: 1, maxPerRoot: 1, maxWaiting: 200, waitMs: LONG_MS, classes: 2, lastGivesWay })
    /** A turn of the last class, then more of both: returns the order in which they come. */
    async function contend(semaphore: ReturnType<typeof create>, others: number): Promise<string[]> {
      const order: string[] = []
      const giveBack = await semaphore.acquire('job')
      const job = semaphore.acquire('job').then(release => {
        order.push('job')
        release()
      })
      const requests = Array.from({ length: others }, async () => {
        // Each asks for the next only after its turn, as a request does for its statements.
        for (let statement = 0; statement < 3; statement++) {
          const release = await semaphore.acquire('user', { class: 0 })
          order.push('request')
          await new Promise(resolve => setTimeout(resolve, 1))
          release()
        }
      })
      await new Promise(resolve => setTimeout(resolve, 1))
      giveBack()
      await Promise.all([...requests, job])
      return order
    }

    it('have others go first, and their next statement too, until none comes for a while', async () => {
      const order = await contend(createGiving({ quietMs: 300, restTimes: LONG_MS, maxRestMs: LONG_MS }), 5)
      expect(order).toEqual([...Array(15).fill('request'), 'job'])
    })

    it('have it go first once it has rested, however many others wait', async () => {
      const order = await contend(createGiving({ quietMs: LONG_MS, restTimes: 0, maxRestMs: LONG_MS }), 5)
      expect(order.indexOf('job')).toBe(0)
    })

    it('have it rest no longer than it may', async () => {
      const order = await contend(createGiving({ quietMs: LONG_MS, restTimes: LONG_MS, maxRestMs: 20 }), 200)
      expect(order.indexOf('job')).toBeGreaterThan(0)
      expect(order.indexOf('job')).toBeLessThan(600)
    })
  })

  it('bound who waits of one owner in every class but keep none of another out', async () => {
    const semaphore = create({ max: 1, maxPerRoot: 1, maxWaiting: 2, waitMs: LONG_MS, classes: 2 })
    const giveBack = await semaphore.acquire('other', { class: 0 })
    const strangers = [0, 1, 2].map(() => semaphore.acquire('stranger', { class: 0 }).catch(error => error))
    const others = [semaphore.acquire('other', { class: 0 }), semaphore.acquire('stranger')]
    expect(await strangers[2]).toBeInstanceOf(BusyError)
    giveBack()
    const served = [...strangers.slice(0, 2), ...others].map(turn => turn?.then(release => release()))
    expect(await Promise.all(served)).toHaveLength(4)
  })

  it('bound who waits in number and in time, and forget who leaves', async () => {
    const semaphore = create({ maxPerRoot: 1, waitMs: 1_000 })
    const leaving = new AbortController()
    const giveBack = await semaphore.acquire('a')
    const left = semaphore.acquire('a', { signal: leaving.signal }).catch(error => error)
    const late = semaphore.acquire('a', { waitMs: LONG_MS }).catch(error => error)
    const served = semaphore.acquire('a')
    expect(await semaphore.acquire('a').catch(error => error)).toBeInstanceOf(BusyError)
    leaving.abort(new Error('left'))
    expect(await left).toMatchObject({ message: 'left' })
    expect(await semaphore.acquire('a', { signal: leaving.signal }).catch(error => error)).toMatchObject({
      message: 'left',
    })
    await new Promise(resolve => setTimeout(resolve, 20))
    giveBack()
    giveBack()
    expect(await late).toBeTypeOf('function')
    expect(await served.catch(error => error)).toBeInstanceOf(BusyError)
  })
})
