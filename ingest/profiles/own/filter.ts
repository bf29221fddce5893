import { type JSONPathQuery, jsonpath } from 'json-p3'
import type { Context } from './context.ts'

const {
  LogicalExpression,
  InfixExpression,
  PrefixExpression,
  RelativeQuery,
  StringLiteral,
  NumberLiteral,
  BooleanLiteral,
  NullLiteral,
} = jsonpath.expressions

type Expression = InstanceType<typeof LogicalExpression>['expression']
type Test = (value: unknown, context: Context) => boolean
/** Compiles a path below `@`. */
export type CompileQuery = (
  segments: JSONPathQuery['segments'],
) => (from: unknown, context: Context, accepts: () => boolean) => unknown
/** One side of a comparison: a value, or undefined for nothing. */
type Operand = (value: unknown, context: Context) => unknown

const any = () => true

/** Compiles the condition of a filter. Throws an Error that says what a profile may not have. [RFC 9535, 2.3.5] */
export function compileFilter(expression: Expression, compileQuery: CompileQuery): Test {
  if (expression instanceof LogicalExpression) return compileFilter(expression.expression, compileQuery)
  if (expression instanceof PrefixExpression) {
    const inner = compileFilter(expression.right, compileQuery)
    return (value, context) => {
      context.take(1)
      return !inner(value, context)
    }
  }
  if (expression instanceof RelativeQuery) {
    const find = compileQuery(expression.path.segments)
    return (value, context) => find(value, context, any) !== undefined
  }
  if (!(expression instanceof InfixExpression)) {
    throw new Error(
      'A filter compares values below @ with constants: it has no functions and does not look at $.',
    )
  }
  const { left, operator, right } = expression
  if (operator === '&&' || operator === '||') {
    const [first, second] = [compileFilter(left, compileQuery), compileFilter(right, compileQuery)]
    return (value, context) => {
      context.take(1)
      const holds = first(value, context)
      return operator === '&&' ? holds && second(value, context) : holds || second(value, context)
    }
  }
  if (left instanceof RelativeQuery && right instanceof RelativeQuery) {
    throw new Error('A filter compares with constants, not with another value of the message.')
  }
  const [one, other] = [compileOperand(left, compileQuery), compileOperand(right, compileQuery)]
  const compare = COMPARISONS[operator]
  if (!compare) throw new Error(`A filter has no operator ${operator}.`)
  return (value, context) => {
    context.take(1)
    return compare(one(value, context), other(value, context))
  }
}

function compileOperand(expression: Expression, compileQuery: CompileQuery): Operand {
  if (expression instanceof RelativeQuery) {
    const find = compileQuery(expression.path.segments)
    return (value, context) => find(value, context, any)
  }
  if (expression instanceof NullLiteral) return () => null
  if (
    expression instanceof StringLiteral ||
    expression instanceof NumberLiteral ||
    expression instanceof BooleanLiteral
  ) {
    const { value } = expression
    return () => value
  }
  throw new Error('A filter compares values below @ with constants.')
}

/** One side is a constant, so equality never compares lists or objects. [RFC 9535, 2.3.5.2.2] */
const isLess = (left: unknown, right: unknown) =>
  (typeof left === 'number' && typeof right === 'number' && left < right) ||
  (typeof left === 'string' && typeof right === 'string' && left < right)

const COMPARISONS: { readonly [operator: string]: (left: unknown, right: unknown) => boolean } = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '<': isLess,
  '<=': (left, right) => isLess(left, right) || left === right,
  '>': (left, right) => isLess(right, left),
  '>=': (left, right) => isLess(right, left) || left === right,
}
