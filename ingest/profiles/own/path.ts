import { JSONPathEnvironment, JSONPathError, type JSONPathQuery, jsonpath, TokenKind } from 'json-p3'
import type { Context, ROOTS } from './context.ts'
import { compileFilter } from './filter.ts'

const { NameSelector, IndexSelector, SliceSelector, WildcardSelector, FilterSelector } = jsonpath.selectors

/** Finds the first value that is accepted; undefined if there is none, which JSON does not have. */
export type Find = (context: Context, accepts: Accepts) => unknown
/** The same from a value on. */
export type FindIn = (from: unknown, context: Context, accepts: Accepts) => unknown
export type Accepts = (value: unknown) => boolean

type Segment = JSONPathQuery['segments'][number]
type Selector = Segment['selectors'][number]

export const MAX_PATH_CHARACTERS = 256

const environment = new JSONPathEnvironment()

/**
 * Compiles a path of a message, `$.payload.position.lat`, which begins with one of `roots`. Throws an Error that says
 * what is wrong with it. `isWhole` tells whether it stands for the whole of its root.
 */
export function compilePath(
  path: string,
  roots: readonly string[],
): { find: Find; root: string; isWhole: boolean } {
  const segments = parse(path)
  refuseDescendants(segments)
  const [first, ...rest] = segments
  const root =
    first?.selectors.length === 1 && first.selectors[0] instanceof NameSelector && first.selectors[0].name
  if (typeof root !== 'string' || !roots.includes(root)) {
    throw new Error(`A path begins with ${roots.map(name => `$.${name}`).join(', ')}.`)
  }
  const name = root as (typeof ROOTS)[number]
  const find = compileSegments(rest)
  return {
    find: (context, accepts) => find(context[name], context, accepts),
    root,
    isWhole: rest.length === 0,
  }
}

/** Compiles a path in a text that holds JSON: `$.lat`. */
export const compileInnerPath = (path: string): FindIn => compileSegments(parse(path))

/** The segments of a JSONPath (RFC 9535) without descendants. */
function parse(path: string): readonly Segment[] {
  if (path.length > MAX_PATH_CHARACTERS) {
    throw new Error(`A path has at most ${MAX_PATH_CHARACTERS} characters.`)
  }
  try {
    return environment.compile(path).segments
  } catch (error) {
    if (!(error instanceof JSONPathError)) throw error
    throw new Error(
      `This is not a JSONPath, at character ${error.token.index + 1} of ${JSON.stringify(path)}.`,
    )
  }
}

function refuseDescendants(segments: readonly Segment[]): void {
  if (segments.some(({ token }) => token.kind === TokenKind.DDOT)) {
    throw new Error('A path names each level: it has no descendants (..).')
  }
}

function compileSegments(segments: readonly Segment[]): FindIn {
  refuseDescendants(segments)
  const selectors = segments.map(segment => segment.selectors)
  const names = selectors.map(([one, ...others]) =>
    others.length === 0 && one instanceof NameSelector ? one.name : null,
  )
  if (names.every(name => name !== null)) return compileNames(names)
  return selectors.reduceRight<FindIn>((next, some) => compileSelectors(some, next), acceptIt)
}

const acceptIt: FindIn = (value, _context, accepts) => (accepts(value) ? value : undefined)

/** A property of an object that was read from JSON, or undefined. */
function propertyOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  // Names such as `constructor` are inherited.
  return Object.hasOwn(value, name) ? (value as { [name: string]: unknown })[name] : undefined
}

/** The usual path, which names one value. */
function compileNames(names: readonly string[]): FindIn {
  return (from, context, accepts) => {
    context.take(names.length + 1)
    let value = from
    for (const name of names) {
      value = propertyOf(value, name)
      if (value === undefined) return undefined
    }
    return accepts(value) ? value : undefined
  }
}

function compileSelectors(selectors: readonly Selector[], next: FindIn): FindIn {
  const [only, ...others] = selectors.map(selector => compileSelector(selector, next))
  if (only && others.length === 0) return only
  const all = only ? [only, ...others] : []
  return (from, context, accepts) => {
    for (const one of all) {
      const found = one(from, context, accepts)
      if (found !== undefined) return found
    }
    return undefined
  }
}

function compileSelector(selector: Selector, next: FindIn): FindIn {
  if (selector instanceof NameSelector) {
    const { name } = selector
    return (from, context, accepts) => {
      context.take(1)
      const value = propertyOf(from, name)
      return value === undefined ? undefined : next(value, context, accepts)
    }
  }
  if (selector instanceof IndexSelector) {
    const { index } = selector
    return (from, context, accepts) => {
      context.take(1)
      const value = Array.isArray(from) ? from.at(index) : undefined
      return value === undefined ? undefined : next(value, context, accepts)
    }
  }
  if (selector instanceof WildcardSelector) return forEach(next, childrenOf)
  if (selector instanceof SliceSelector) {
    const { start, stop, step } = selector
    return forEach(next, (from, context) => sliceOf(from, context, { start, stop, step: step ?? 1 }))
  }
  if (selector instanceof FilterSelector) {
    const passes = compileFilter(selector.expression, compileSegments)
    const test: FindIn = (value, context, accepts) =>
      passes(value, context) ? next(value, context, accepts) : undefined
    return forEach(test, childrenOf)
  }
  throw new Error('A path consists of names, indexes, slices, wildcards and filters.')
}

type Children = (from: unknown, context: Context) => readonly unknown[]

const forEach =
  (next: FindIn, children: Children): FindIn =>
  (from, context, accepts) => {
    for (const value of children(from, context)) {
      context.take(1)
      const found = next(value, context, accepts)
      if (found !== undefined) return found
    }
    return undefined
  }

const NONE: readonly unknown[] = []

function childrenOf(from: unknown, context: Context): readonly unknown[] {
  if (Array.isArray(from)) return from
  if (typeof from !== 'object' || from === null) return NONE
  return context.valuesOf(from)
}

/** [RFC 9535, 2.3.4.2] */
function sliceOf(
  from: unknown,
  context: Context,
  { start, stop, step }: { start?: number | undefined; stop?: number | undefined; step: number },
): readonly unknown[] {
  if (!Array.isArray(from) || step === 0) return NONE
  const { length } = from
  const normalize = (index: number) => (index >= 0 ? index : length + index)
  const clamp = (index: number, min: number, max: number) => Math.min(Math.max(normalize(index), min), max)
  const up = step > 0
  const first =
    start === undefined ? (up ? 0 : length - 1) : up ? clamp(start, 0, length) : clamp(start, -1, length - 1)
  const end =
    stop === undefined ? (up ? length : -1) : up ? clamp(stop, 0, length) : clamp(stop, -1, length - 1)
  const values: unknown[] = []
  for (let index = first; up ? index < end : index > end; index += step) values.push(from[index])
  context.take(1 + values.length)
  return values
}
