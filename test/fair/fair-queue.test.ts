import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createFairQueue } from '../../fair/fair-queue.ts'
import { learnRoots } from '../../fair/roots.ts'
import { until } from '../support/wait.ts'

function fill(names: readonly string[]) {
  const queue = createFairQueue<string>()
  for (const name of names) {
    queue.push(name, { organizationId: name[0] ?? '', sender: Number(name[1]) }, 1)
  }
  return queue
}

function drain(queue: ReturnType<typeof fill>): string[] {
  const items: string[] = []
  while (queue.size > 0) {
    const next = queue.peek()
    expect(queue.shift()).toBe(next)
    items.push(next as string)
  }
  expect(queue.shift()).toBeUndefined()
  return items
}

describe('A fair queue', () => {
  it('goes from one organization to the next, and in each from one sender to the next', () => {
    const queue = fill(['a1 1', 'a1 2', 'a1 3', 'a2 1', 'b1 1', 'b1 2', 'a3 1'])
    expect(drain(queue)).toEqual(['a1 1', 'b1 1', 'a2 1', 'b1 2', 'a3 1', 'a1 2', 'a1 3'])
  })

  it('gives organizations of one root the turns of one', () => {
    learnRoots(['x', 'y', 'z'].map(organizationId => ({ organizationId, root: 'r' })))
    expect(drain(fill(['x1 1', 'x1 2', 'y2 1', 'z3 1', 'b1 1', 'b1 2']))).toEqual([
      ...['x1 1', 'b1 1', 'y2 1', 'b1 2', 'z3 1', 'x1 2'],
    ])
  })

  it('keeps the order of a sender, also of one with thousands', () => {
    const names = Array.from({ length: 5_000 }, (_, n) => `a1 ${n}`)
    const queue = fill(names)
    const taken: string[] = []
    for (let n = 0; n < 5_000; n++) {
      taken.push(queue.shift() as string)
      // Later entries of others are served in between, and stop nobody.
      if (n % 100 === 0) queue.push('other', { organizationId: 'b', sender: 1 }, 1)
    }
    while (queue.size > 0) taken.push(queue.shift() as string)
    expect(taken.filter(name => name !== 'other')).toEqual(names)
    expect(taken.filter(name => name === 'other')).toHaveLength(50)
  })

  it('gives back what is taken out of the middle, and serves the rest', () => {
    const queue = fill(['a1 1', 'a1 2', 'a1 3', 'a2 1', 'b1 1'])
    queue.shift()
    expect(queue.remove(name => name === 'a1 2' || name === 'b1 1').sort()).toEqual(['a1 2', 'b1 1'])
    expect(queue.size).toBe(2)
    expect(drain(queue)).toEqual(['a2 1', 'a1 3'])
  })

  it('shares costs: small items that come often get as much as large ones', () => {
    const queue = createFairQueue<string>()
    const costs = { bulk: 1_500, phones: 1, colleague: 1 }
    const served = { bulk: 0, phones: 0, colleague: 0 }
    for (let n = 0; n < 64; n++) queue.push('bulk', { organizationId: 'a', sender: 1 }, costs.bulk)
    // Each of these comes back when it has been served.
    const pushSmall = (n: number) => {
      queue.push('phones', { organizationId: 'b', sender: n % 50 }, costs.phones)
      queue.push('colleague', { organizationId: 'a', sender: 2 }, costs.colleague)
    }
    for (let n = 0; n < 2_000; n++) pushSmall(n)
    while (served.bulk < 10 * costs.bulk) {
      const name = queue.shift() as keyof typeof costs
      served[name] += costs[name]
      if (name !== 'bulk') pushSmall(served.phones)
    }
    expect(served.colleague / served.bulk).toBeGreaterThan(0.8)
    expect(served.phones / (served.bulk + served.colleague)).toBeGreaterThan(0.8)
  })

  it('gives no earlier turn to a sender that leaves and comes back', () => {
    const queue = createFairQueue<string>()
    const push = (name: string, cost: number) => queue.push(name, { organizationId: name, sender: 1 }, cost)
    for (let n = 0; n < 20; n++) push('steady', 1)
    push('large', 10)
    const order: string[] = []
    while (order.length < 12) {
      const name = queue.shift() as string
      order.push(name)
      if (name === 'large') push('large', 10)
    }
    expect(order).toEqual(['steady', 'large', ...Array(9).fill('steady'), 'large'])
  })

  it('keeps nothing of an item that was taken, while its sender waits for its next turn', async () => {
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc') as () => void
    const queue = createFairQueue<object>()
    const pushLarge = () => {
      const item = { bytes: Buffer.alloc(1024) }
      queue.push(item, { organizationId: 'a', sender: 1 }, 1_000)
      return new WeakRef(item)
    }
    const taken = pushLarge()
    queue.push({}, { organizationId: 'a', sender: 2 }, 1)
    for (let n = 0; n < 10; n++) queue.push({}, { organizationId: 'b', sender: 1 }, 1)
    for (let n = 0; n < 5; n++) queue.shift()
    await until('it is collected', () => {
      gc()
      return taken.deref() === undefined
    })
  })
})
