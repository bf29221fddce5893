import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createHoldMetrics } from '../src/hold-metrics.ts'

it('A long hold of the embedded session is logged once somebody may be waiting, and is measured in any case', async () => {
  const registry = new Registry()
  const logged: unknown[] = []
  let isPrepared = false
  const onHold = createHoldMetrics(
    registry,
    { warn: (about: unknown) => void logged.push(about) },
    () => isPrepared,
  )
  const hold = { lane: 'requests', ms: 300, processorMs: 200, longest: 'SELECT\n  1' } as const
  onHold(hold)
  expect(logged).toEqual([])
  isPrepared = true
  onHold({ ...hold, ms: 250 })
  expect(logged).toEqual([])
  onHold(hold)
  expect(logged).toEqual([{ lane: 'requests', ms: 300, processorMs: 200, statement: 'SELECT 1' }])
  expect(await registry.metrics()).toContain('fieldline_database_hold_seconds_count{lane="requests"} 3')
})
