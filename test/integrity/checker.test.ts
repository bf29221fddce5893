import { describe, expect, it } from 'vitest'
import type { Client } from '../support/client.ts'
import { checkHistories } from './checker.ts'
import type { Publisher, SentPoint } from './publisher.ts'

const pointAt = (n: number): SentPoint => ({
  lat: n,
  lng: -n,
  timestamp: new Date(Date.UTC(2026, 0, 1) + n * 10).toISOString(),
  speed: 1,
  heading: 0,
  attributes: { n },
})

/** Ten points were sent. The last two are not acknowledged. */
const publisher = (waiting = new Set([8, 9])) => {
  const device = { id: 'one', key: '' }
  return {
    device,
    sent: 10,
    waiting,
    newest: '',
    connections: 1,
    pointAt,
    pace: () => {},
    finish: async () => {},
  } satisfies Publisher
}

/** Checks a history that has two pages. */
function check(points: object[], of: Publisher = publisher()) {
  const get = async (path: string) => {
    const second = path.endsWith('cursor=second')
    const data = second ? points.slice(3) : points.slice(0, 3)
    return {
      status: 200,
      body: { data, pagination: { nextCursor: second ? null : 'second' } },
      headers: new Headers(),
    }
  }
  return checkHistories({ get } as unknown as Client, [of])
}

const first = (count: number) => Array.from({ length: count }, (_, n) => pointAt(n))
const kept = { acknowledged: 8, lost: 0, doubled: 0, altered: 0, invented: 0 }

describe('The checker', () => {
  it('finds every point, also those that were stored and not acknowledged', async () => {
    expect(await check(first(8))).toEqual({ ...kept, stored: 8 })
    expect(await check(first(10))).toEqual({ ...kept, stored: 10 })
    expect(await check(first(10), publisher(new Set()))).toEqual({ ...kept, acknowledged: 10, stored: 10 })
  })

  it('counts lost points', async () => {
    expect(await check(first(7))).toEqual({ ...kept, stored: 7, lost: 1 })
  })

  it('counts duplicate points', async () => {
    expect(await check([...first(8), pointAt(2), pointAt(2), pointAt(5)])).toEqual({
      ...kept,
      stored: 11,
      doubled: 2,
    })
  })

  it('counts altered points, whichever value differs', async () => {
    const points: object[] = first(8)
    points[1] = { ...pointAt(1), lat: 1.000001 }
    points[4] = { ...pointAt(4), speed: null }
    points[6] = { ...pointAt(6), attributes: { n: 7 } }
    expect(await check(points)).toEqual({ ...kept, stored: 8, altered: 3 })
  })

  it('counts points that nobody sent', async () => {
    expect(
      await check([...first(8), pointAt(10), { ...pointAt(3), timestamp: '2026-01-01T00:00:00.035Z' }]),
    ).toEqual({
      ...kept,
      stored: 10,
      invented: 2,
    })
  })
})
