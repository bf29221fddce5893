import { describe, expect, it } from 'vitest'
import { learnRoots } from '../../fair/roots.ts'
import { createScheduler } from '../../fair/scheduler.ts'

describe('The turns of the event loop', () => {
  it('are given to one large piece in an iteration, of one organization after the other', async () => {
    const scheduler = createScheduler()
    let iteration = 0
    let counting = true
    const count = () => {
      iteration++
      if (counting) setImmediate(count)
    }
    setImmediate(count)
    const order: string[] = []
    const iterations = await Promise.all(
      ['a', 'a', 'a', 'b', 'a', 'c'].map(async key => {
        await scheduler.pass(key)
        order.push(key)
        return iteration
      }),
    )
    counting = false
    expect(new Set(iterations).size).toBe(6)
    expect(order).toEqual(['a', 'b', 'c', 'a', 'a', 'a'])
  })

  it('go from root to root, and in each from one organization to the next', async () => {
    learnRoots(['x1', 'x2', 'x3'].map(organizationId => ({ organizationId, root: 'x' })))
    const scheduler = createScheduler()
    const order: string[] = []
    const keys = ['x1', 'x1', 'x2', 'x3', 'b', 'b']
    await Promise.all(keys.map(key => scheduler.pass(key).then(() => order.push(key))))
    expect(order).toEqual(['x1', 'b', 'x2', 'b', 'x3', 'x1'])
  })

  it('keep small pieces of others from waiting for more than one large one', async () => {
    const scheduler = createScheduler()
    const order: string[] = []
    const large = [1, 2, 3].map(() => scheduler.pass('a').then(() => void order.push('large')))
    const small = new Promise<void>(resolve => {
      let left = 3
      scheduler.enter('b', () => {
        order.push('small')
        if (--left === 0) resolve()
        return left > 0
      })
    })
    await Promise.all([...large, small])
    expect(order).toEqual(['large', 'small', 'large', 'small', 'large', 'small'])
  })
})
