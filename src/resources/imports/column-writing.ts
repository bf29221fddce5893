import type { Field } from '../../../db/schema/flows.ts'
import type { Cell } from '../../sheets/cell.ts'
import { orderOf } from '../../sheets/values/dates.ts'
import { plainDigits } from '../../sheets/values/digits.ts'
import { decimalOf } from '../../sheets/values/numbers.ts'
import { convert, isShort, type Style } from './convert.ts'

/**
 * `1.234` is a number in every language and `03/04/2026` a day, but with different meanings. If the other rows of a
 * column show how it is written, they decide; otherwise the organization's language does. If they show both ways, such
 * a text is an error. Cells that are refused do not count.
 */

/** How the texts of a column are written. Null means both ways. */
export type Shown = Partial<Pick<Style, 'decimal' | 'monthFirst' | 'pointsMonthFirst'>>

const isShortText = (cell: Cell): cell is string => typeof cell === 'string' && isShort(cell)
const isOfDays = ({ type }: Field) => type === 'date' || type === 'datetime'

/** Whether texts of this type of field can be ambiguous. */
export const hasAmbiguousTexts = (field: Field): boolean => field.type === 'number' || isOfDays(field)

/** Whether a cell can be read in two ways. */
export function isUnclear(field: Field, cell: Cell, style: Style): boolean {
  if (!isShortText(cell)) return false
  if (field.type === 'number')
    return /[.,]\d{3}(?!\d)/.test(plainDigits(cell)) && decimalOf(cell, style) === 'either'
  return isOfDays(field) && orderOf(cell)?.first === 'either'
}

/** Collects the cells of a column and finds out how it is written. */
export function createColumnWriting(field: Field, style: Style): { add(cell: Cell): void; shown(): Shown } {
  const decimals = new Set<'.' | ','>()
  const monthFirst = new Set<boolean>()
  const pointsMonthFirst = new Set<boolean>()
  const hasValue = (cell: Cell) => 'value' in convert(field, cell, style)

  return {
    add(cell) {
      if (!isShortText(cell)) return
      if (field.type === 'number') {
        const decimal = decimalOf(cell, style)
        if (decimal !== null && decimal !== 'either' && hasValue(cell)) decimals.add(decimal)
        return
      }
      const order = orderOf(cell)
      if (order && order.first !== 'either' && hasValue(cell))
        (order.isOfPoints ? pointsMonthFirst : monthFirst).add(order.first === 'month')
    },
    shown: () => ({
      ...toShown('decimal', decimals),
      ...toShown('monthFirst', monthFirst),
      ...toShown('pointsMonthFirst', pointsMonthFirst),
    }),
  }
}

const toShown = <Name extends string, Value>(name: Name, seen: ReadonlySet<Value>) =>
  (seen.size === 0 ? {} : { [name]: seen.size === 1 ? [...seen][0] : null }) as {
    [name in Name]?: Value | null
  }
