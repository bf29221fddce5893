import { expect, it } from 'vitest'
import type { UnknownReference } from '../../db/queries/unknown-references.ts'
import { divide } from '../../ingest/connections/unknowns.ts'

const reference = (name: string, times: readonly number[]): UnknownReference => ({
  reference: name,
  messages: 1,
  lastMessageAt: 0,
  points: times.map(recordedAt => ({ recordedAt }) as UnknownReference['points'][number]),
})
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at)

it('Of the points of an unknown tracker those alone are stored that may stay: the newest 100', () => {
  const [[only] = []] = divide([reference('a', [...upTo(5_000), ...upTo(5_000)])])
  expect(only?.points.map(({ recordedAt }) => recordedAt)).toEqual(upTo(5_000).reverse().slice(0, 100))
})

it('Unknown trackers are stored a hundred and a thousand points at a time, each of them once', () => {
  const few = upTo(250).map(at => reference(`few ${at}`, [at]))
  const many = upTo(25).map(at => reference(`many ${at}`, upTo(90)))
  const parts = divide([...few, ...many])
  expect(parts.flat().map(one => one.reference)).toEqual([...few, ...many].map(one => one.reference))
  for (const part of parts) {
    expect(part.length).toBeLessThanOrEqual(100)
    expect(part.flatMap(({ points }) => points).length).toBeLessThanOrEqual(1_000)
  }
})
