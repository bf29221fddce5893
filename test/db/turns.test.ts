import { describe, expect, it } from 'vitest'
import { BusyError } from '../../db/demand.ts'
import { createTurns } from '../../db/turns.ts'

const create = (given: Partial<Parameters<typeof createTurns>[0]> = {}) =>
  createTurns({ max: 4, maxPerOwner: 2, maxWaiting: 3, waitMs: 50, ...given })

describe('Turns', () => {
  it('leave room for others however much one asks for', async () => {
    const turns = create()
    await turns.take('a')
    await turns.take('a')
    const third = turns.take('a').catch(error => error)
    await turns.take('b')
    await turns.take('c')
    expect(await third).toBeInstanceOf(BusyError)
  })

  it('go round: one that has many waiting delays another by one of them', async () => {
    const turns = create({ max: 1, maxPerOwner: 1, maxWaiting: 100, waitMs: 1_000 })
    const order: string[] = []
    let giveBack = await turns.take('a')
    const waiting = ['a', 'a', 'a', 'b', 'c', 'b'].map(async owner => {
      const release = await turns.take(owner)
      order.push(owner)
      setImmediate(release)
    })
    giveBack()
    await Promise.all(waiting)
    expect(order.slice(0, 3).sort()).toEqual(['a', 'b', 'c'])
    giveBack = await turns.take('a')
    giveBack()
  })

  it('give every second one to the first class, and every second of the rest to the next', async () => {
    const turns = create({ max: 1, maxPerOwner: 1, maxWaiting: 100, waitMs: 1_000, classes: 3 })
    const order: number[] = []
    const giveBack = await turns.take('a')
    const waiting = [2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0].map(async (place, index) => {
      const release = await turns.take(`owner ${index % 2}`, { class: place })
      order.push(place)
      setImmediate(release)
    })
    giveBack()
    await Promise.all(waiting)
    expect(order).toEqual([0, 1, 0, 2, 0, 1, 0, 2, 1, 2, 1, 2])
  })

  it('bound who waits of one owner in every class but keep none of another out', async () => {
    const turns = create({ max: 1, maxPerOwner: 1, maxWaiting: 2, waitMs: 1_000, classes: 2 })
    const giveBack = await turns.take('other', { class: 0 })
    const strangers = [0, 1, 2].map(() => turns.take('stranger', { class: 0 }).catch(error => error))
    const others = [turns.take('other', { class: 0 }), turns.take('stranger')]
    expect(await strangers[2]).toBeInstanceOf(BusyError)
    giveBack()
    const served = [...strangers.slice(0, 2), ...others].map(turn => turn?.then(release => release()))
    expect(await Promise.all(served)).toHaveLength(4)
  })

  it('bound who waits in number and in time, and forget who leaves', async () => {
    const turns = create({ maxPerOwner: 1, waitMs: 1_000 })
    const leaving = new AbortController()
    const giveBack = await turns.take('a')
    const left = turns.take('a', { signal: leaving.signal }).catch(error => error)
    const late = turns.take('a').catch(error => error)
    const served = turns.take('a')
    expect(await turns.take('a').catch(error => error)).toBeInstanceOf(BusyError)
    leaving.abort(new Error('left'))
    expect(await left).toMatchObject({ message: 'left' })
    expect(await turns.take('a', { signal: leaving.signal }).catch(error => error)).toMatchObject({
      message: 'left',
    })
    await new Promise(resolve => setTimeout(resolve, 20))
    giveBack()
    giveBack()
    expect(await late).toBeTypeOf('function')
    expect(await served.catch(error => error)).toBeInstanceOf(BusyError)
  })
})
