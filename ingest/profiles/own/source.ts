import type { Scalar, Source } from '../../../db/schema/tracker-profiles.ts'
import { readNumber } from '../numbers.ts'
import type { Context } from './context.ts'
import { ProfileFault } from './fault.ts'
import { type Accepts, compileInnerPath, type FindIn } from './path.ts'
import type { PathCompiler } from './paths.ts'
import { compileUnit } from './units.ts'

/** Reads a value from a message; undefined if none of its paths holds something. */
export type Read = (context: Context) => unknown

/** Whether a tracker sent this for a value that it does not have. */
export const isNothing = (value: unknown) =>
  value === undefined || value === null || value === '' || value === 'null' || value === 'nil'

export const isSomething: Accepts = value => !isNothing(value)

/** Compiles a source of the field, or of a reference or an attribute, whose name is no field. */
export function compileSource(
  source: Source,
  field: string,
  where: readonly (string | number)[],
  paths: PathCompiler,
): Read {
  const { from, json, split, unit, absent } = source
  const finds = from.map((path, index) => paths.compile(path, [...where, 'from', index]).find)
  const inner = json ? paths.at([...where, 'json', 'path'], () => compileInnerPath(json.path)) : null
  const convert = paths.at([...where, 'unit'], () => compileUnit(field, unit ?? null))
  const holds = compileAbsent(absent ?? [])
  if (finds.length === 0) throw new ProfileFault([...where, 'from'], 'A source has at least one path.')
  const refine = compileSteps(inner, split ?? null, holds)
  return context => {
    for (const find of finds) {
      const found = find(context, holds)
      const value = refine && found !== undefined ? refine(found, context) : found
      if (value !== undefined) return convert(value)
    }
    return undefined
  }
}

/** The steps between the value of a path and the value of the source. */
function compileSteps(
  inner: FindIn | null,
  split: Source['split'] | null,
  holds: Accepts,
): ((value: unknown, context: Context) => unknown) | null {
  if (!inner && !split) return null
  return (value, context) => {
    const read = inner ? readInner(value, inner, context, holds) : value
    const part = split && read !== undefined ? partOf(read, split, context) : read
    return holds(part) ? part : undefined
  }
}

function readInner(value: unknown, inner: FindIn, context: Context, holds: Accepts): unknown {
  const parsed = typeof value === 'string' ? context.parse(value) : value
  return parsed === undefined ? undefined : inner(parsed, context, holds)
}

/** Searching a text for a separator passes some dozen characters in the time of a step. */
const CHARACTERS_PER_STEP = 16

function partOf(
  value: unknown,
  { by, index }: { by: string; index: number },
  context: Context,
): string | undefined {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') return undefined
  let from = 0
  for (let part = 0; ; part++) {
    const end = text.indexOf(by, from)
    const until = end === -1 ? text.length : end
    context.take(1 + Math.ceil((until - from) / CHARACTERS_PER_STEP))
    if (part === index) return text.slice(from, until).trim()
    if (end === -1) return undefined
    from = end + by.length
  }
}

/** Whether a value is something, and none of those that stand for nothing; `-1` stands for "-1" as well. */
function compileAbsent(absent: readonly Scalar[]): Accepts {
  if (absent.length === 0) return isSomething
  const listed = new Set<unknown>(absent)
  const numbers = new Set(absent.filter(value => typeof value === 'number'))
  return value => {
    if (isNothing(value) || listed.has(value)) return false
    if (numbers.size === 0 || typeof value !== 'string') return true
    const number = readNumber(value)
    return number === null || !numbers.has(number)
  }
}
