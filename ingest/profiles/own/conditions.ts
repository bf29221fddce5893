import type { Condition, Scalar } from '../../../db/schema/tracker-profiles.ts'
import { readNumber } from '../numbers.ts'
import type { Context } from './context.ts'
import { ProfileFault } from './fault.ts'
import type { PathCompiler } from './paths.ts'
import { isSomething } from './source.ts'

/** Why a message has no position by design, or null if the condition holds. */
export type Check = (context: Context) => string | null

export function compileCondition(
  condition: Condition,
  index: number,
  paths: PathCompiler,
): { check: Check; isOfItem: boolean } {
  const { from, is } = condition
  const { find, root } = paths.compile(from, ['when', index, 'from'])
  const values = valuesOf(condition, index)
  const holds = (value: unknown) => {
    if (is === 'exists') return value !== undefined
    if (is === 'missing') return value === undefined
    return values.some(one => isSame(value, one)) === (is !== 'not')
  }
  const why = `It has no position by design: ${from} ${describe(is, values)}.`
  return {
    check: context => (holds(find(context, isSomething)) ? null : why),
    isOfItem: root === 'item',
  }
}

function valuesOf({ is, value }: Condition, index: number): readonly Scalar[] {
  const where = ['when', index, 'value']
  if (is === 'exists' || is === 'missing') return []
  if (is === 'oneOf') {
    if (Array.isArray(value) && value.length > 0) return value
    throw new ProfileFault(where, 'oneOf compares with a list of values.')
  }
  if (value === undefined || Array.isArray(value))
    throw new ProfileFault(where, `${is} compares with one value.`)
  return [value]
}

const describe = (is: Condition['is'], values: readonly Scalar[]) => {
  const listed = values.map(value => JSON.stringify(value)).join(', ')
  return {
    exists: 'holds nothing',
    missing: 'holds something',
    equals: `is not ${listed}`,
    not: `is ${listed}`,
    oneOf: `is none of ${listed}`,
  }[is]
}

/** Trackers write numbers and truth values as texts: "1" is the same as 1, "true" the same as true. */
function isSame(value: unknown, constant: Scalar): boolean {
  if (constant === null) return value === undefined
  if (value === constant) return true
  if (typeof constant === 'boolean') return value === String(constant)
  if (typeof value === 'boolean') return constant === String(value)
  if (typeof value === typeof constant) return false
  const number = readNumber(value)
  return number !== null && number === readNumber(constant)
}
