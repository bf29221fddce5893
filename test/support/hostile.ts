import type { JsonSchema } from './openapi.ts'
import type { Path } from './references.ts'

/** Values that some column, parser or index does not accept, and those at the limits of what it accepts. */
export const HOSTILE: readonly unknown[] = [
  ...['', ' ', ',', '\0', 'a\0b', '\ud800', '%', "'", '__proto__', 'null', 'x'.repeat(3_000)],
  ...['NaN', 'Infinity', '-Infinity', 'infinity', '-infinity', '1e400', '1e18', '-1', '0', '99999999999'],
  ...['-8000000000000000', '8000000000000000', '8640000000000000', '9223372036854775808', '1e308'],
  ...[
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+14:00',
    '9999-12-31T23:59:59-14:00',
    '2026-02-30T00:00:00Z',
    `2026-11-23T15:42:02.${'3'.repeat(130)}Z`,
  ],
  ...[
    '0000-01-01 00:00:00+00',
    '999999-01-01 00:00:00+00',
    '9999-99-99 99:99:99+99',
    '4714-11-24 00:00:00+00 BC',
  ],
  ...['0190aaaa-0000-7000-8000-000000000000', '0190AAAA-0000-7000-8000-000000000000,x', '180,90,-180,-90'],
  ...[0, -0, -1, 1.5, 5e-324, 1e18, 1e308, -1e308, 2 ** 31, 2 ** 53, -(2 ** 63), 99_999_999_999],
  ...[null, true, false, [], {}, [null], [''], [[]], { a: { b: null } }, { __proto__: 1 }, [0, 'x', {}]],
]

export const TEXTS = HOSTILE.filter(value => typeof value === 'string')

/**
 * One of this many values is tried in a place, and the others in the next places of its kind: `SHARE=1` tries all, for
 * minutes.
 */
export const SHARE = Number(process.env.SHARE ?? 10)

let turn = 0

/** Whether the next value is one to try. */
export const isInTurn = () => turn++ % SHARE === 0

const MAX_DEPTH = 8

type Resolve = (schema: JsonSchema) => JsonSchema

/**
 * Every place in a value that a schema describes, including the value itself; the first item stands for all of an
 * array.
 */
export function listPlaces(schema: JsonSchema, resolve: Resolve): { place: Path; schema: JsonSchema }[] {
  const walk = (inner: JsonSchema, place: Path): { place: Path; schema: JsonSchema }[] => {
    const known = resolve(inner)
    const here = { place, schema: inner }
    if (place.length >= MAX_DEPTH) return [here]
    const below = Object.entries(known.properties ?? {}).flatMap(([name, property]) =>
      walk(property, [...place, name]),
    )
    return [here, ...below, ...(known.items ? walk(known.items, [...place, 0]) : [])]
  }
  return walk(schema, [])
}

/** Values of a wrong type are all rejected by the first check: this many of each are tried. */
const OF_OTHER_TYPES = 4

/** The values to try where a schema applies: every value of its types, and some of each other type. */
export function hostileTo(schema: JsonSchema, resolve: Resolve): readonly unknown[] {
  const types = typesOf(schema, resolve)
  if (types.size === 0) return HOSTILE
  const tried = new Map<string, number>()
  return HOSTILE.filter(value => {
    const type = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
    tried.set(type, (tried.get(type) ?? 0) + 1)
    return types.has(type) || (tried.get(type) as number) <= OF_OTHER_TYPES
  })
}

/** The types that a schema names; none if any of its parts accepts everything. */
function typesOf(schema: JsonSchema, resolve: Resolve): Set<string> {
  if (!schema.anyOf) {
    const { type = [] } = schema.$ref ? resolve(schema) : schema
    return new Set([type].flat().map(name => (name === 'integer' ? 'number' : name)))
  }
  const all = schema.anyOf.map(one => typesOf(one, resolve))
  return all.some(({ size }) => size === 0) ? new Set() : new Set(all.flatMap(types => [...types]))
}

/** `value` with another value at a place; missing parts on the way are created. */
export function put(value: unknown, [step, ...rest]: Path, leaf: unknown): unknown {
  if (step === undefined) return leaf
  if (step === 0) return [put(Array.isArray(value) ? value[0] : undefined, rest, leaf)]
  const object = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  return { ...object, [step]: put((object as { [key: string]: unknown })[step], rest, leaf) }
}

const get = (value: unknown, place: Path): unknown =>
  place.reduce((inner, step) => (inner as { [key: string]: unknown })[step], value)

/** The places of an existing value, such as a cursor. */
function placesOf(value: unknown): Path[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[]]
  return [[], ...Object.entries(value).flatMap(([key, inner]) => placesOf(inner).map(path => [key, ...path]))]
}

const LIKE_A_TIME = /^\d{4,6}-\d\d-\d\d[T ]/
const isLikeATime = (value: unknown) => typeof value === 'string' && LIKE_A_TIME.test(value)

/**
 * A cursor with each of its keys replaced, a time by every other one. All lists reject invalid cursors in one place:
 * see `NO_CURSORS`.
 */
export function forge(cursor: string | undefined): string[] {
  if (cursor === undefined || cursor === null) return NO_CURSORS
  const keys = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown
  const places = placesOf(keys).filter(({ length }) => length > 0)
  const forged = places.flatMap(place =>
    HOSTILE.filter(value => isInTurn() || (isLikeATime(value) && isLikeATime(get(keys, place)))).map(value =>
      encode(put(keys, place, value)),
    ),
  )
  return [...forged, `${cursor}x`, cursor.slice(1)]
}

const encode = (value: unknown) => Buffer.from(toText(value) ?? '').toString('base64url')

/** As JSON; 1e400 and the like are written by hand, since JSON.stringify turns them into null. */
export const toText = (value: unknown): string | undefined =>
  value === undefined ? undefined : JSON.stringify(value)

/** Texts that are no cursors. */
export const NO_CURSORS = [
  ...[...HOSTILE, 'x', '[]', '{}'].map(encode),
  ...HOSTILE.map(value => (typeof value === 'string' ? value : '!')),
]

export type Query = { [name: string]: unknown }

const toParameter = (value: unknown): string => (typeof value === 'string' ? value : (toText(value) ?? ''))

/** A query, with values other than texts as JSON. */
export const toQuery = (query: Query): string =>
  Object.entries(query)
    .map(
      ([name, value]) =>
        `${encodeURIComponent(name)}=${encodeURIComponent(toParameter(value).toWellFormed())}`,
    )
    .join('&')
