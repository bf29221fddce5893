import { describe, expect, it } from 'vitest'
import { learnRoots } from '../../db/roots.ts'
import { createFairQueue } from '../../stream/fair-queue.ts'

function fill(names: readonly string[]) {
  const queue = createFairQueue<string>()
  for (const name of names) {
    queue.push(name, { organizationId: name[0] ?? '', sender: Number(name[1]) })
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
      // What comes meanwhile is served between, and keeps nobody from going on.
      if (n % 100 === 0) queue.push('other', { organizationId: 'b', sender: 1 })
    }
    while (queue.size > 0) taken.push(queue.shift() as string)
    expect(taken.filter(name => name !== 'other')).toEqual(names)
    expect(taken.filter(name => name === 'other')).toHaveLength(50)
  })

  it('gives back what is taken out of the middle, and serves the rest', () => {
    const queue = fill(['a1 1', 'a1 2', 'a1 3', 'a2 1', 'b1 1'])
    queue.shift()
    expect(queue.remove(name => name === 'a1 2' || name === 'b1 1')).toEqual(['b1 1', 'a1 2'])
    expect(queue.size).toBe(2)
    expect(drain(queue)).toEqual(['a2 1', 'a1 3'])
  })
})
