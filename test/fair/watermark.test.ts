import { expect, it } from 'vitest'
import { isOver } from '../../fair/watermark.ts'

it('An amount is over the high mark until it has fallen to the low one', () => {
  let over = false
  const seen = [9, 10, 11, 8, 6, 5, 6, 10, 11].map(amount => {
    over = isOver(over, amount, 10)
    return over
  })
  expect(seen).toEqual([false, false, true, true, true, false, false, false, true])
})
