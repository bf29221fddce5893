import { describe, expect, it } from 'vitest'
import { currentDemand, withDemand } from '../../db/demand.ts'
import { createLookup } from '../../db/lookup.ts'
import { BusyError } from '../../fair/semaphore.ts'

/** A lookup whose statements end when the test ends them. */
function create() {
  const statements: { keys: readonly string[]; owner: string | undefined; end: () => void }[] = []
  const find = createLookup(
    keys =>
      new Promise<Map<string, string>>(resolve => {
        const found = new Map(keys.filter(key => !key.startsWith('no')).map(key => [key, `row of ${key}`]))
        statements.push({ keys, owner: currentDemand().owner, end: () => resolve(found) })
      }),
  )
  const ask = (owner: string, keys: readonly string[], signal?: AbortSignal) =>
    withDemand({ lane: 'requests', owner, signal }, () =>
      Promise.all(keys.map(key => find(key).catch((error: unknown) => error))),
    )
  /** Ends one statement after the other until there are no more. */
  const endAll = async () => {
    for (let index = 0; index < statements.length; index++) {
      statements[index]?.end()
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  return { statements, ask, endAll }
}

const keys = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name} ${index}`)

describe('A lookup', () => {
  it('answers each what it asked for', async () => {
    const { ask, endAll } = create()
    const answers = ask('a', ['x', 'nobody', 'y', 'x'])
    await endAll()
    expect(await answers).toEqual(['row of x', null, 'row of y', 'row of x'])
  })

  it('is a few statements for a thousand who ask at once, and every other is in the next one', async () => {
    const { statements, ask, endAll } = create()
    const many = ask('many', keys('no', 1_500))
    const other = ask('other', ['x'])
    await endAll()
    expect(await other).toEqual(['row of x'])
    await many
    expect(statements.map(({ keys }) => keys.includes('x'))).toEqual([false, true, false, false])
  })

  it('refuses more than 2,000 of one address, and of no other', async () => {
    const { ask, endAll } = create()
    const many = ask('many', keys('no', 2_500))
    const other = ask('other', ['x'])
    await endAll()
    expect((await many).filter(answer => answer instanceof BusyError)).toHaveLength(499)
    expect(await other).toEqual(['row of x'])
  })

  it('forgets who has gone, whose going ends nobody else’s statement', async () => {
    const { statements, ask, endAll } = create()
    const leaving = new AbortController()
    const gone = ask('gone', ['a', 'b'], leaving.signal)
    const other = ask('other', ['x'])
    leaving.abort(new Error('gone'))
    await endAll()
    expect(statements.map(({ keys, owner }) => [keys, owner])).toEqual([
      [['a'], undefined],
      [['x'], undefined],
    ])
    expect(await gone).toEqual(['row of a', new Error('gone')])
    expect(await other).toEqual(['row of x'])
  })
})
