import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Arcs, packArcs, unpackArcs } from '../../console/map/arcs.ts'

describe('The outlines of the world', () => {
  it('are the same after they were packed', () => {
    const step = fc.tuple(
      fc.integer({ min: -100_000, max: 100_000 }),
      fc.integer({ min: -100_000, max: 100_000 }),
    )
    fc.assert(
      fc.property(fc.array(fc.array(step)), arcs => {
        expect(unpackArcs(packArcs(arcs as Arcs))).toEqual(arcs)
      }),
    )
  })
})
