import type { JsonSchema } from './openapi.ts'
import type { Path } from './references.ts'

/** Values that some column, parser or index does not take, and those at the ends of what it takes. */
export const HOSTILE: readonly unknown[] = [
  ...['', ' ', ',', '\0', 'a\0b', '\ud800', '%', "'", '__proto__', 'null', 'x'.repeat(3_000)],
  ...['NaN', 'Infinity', '-Infinity', 'infinity', '-infinity', '1e400', '1e18', '-1', '0', '99999999999'],
  ...['-8000000000000000', '8000000000000000', '8640000000000000', '9223372036854775808', '1e308'],
  ...[
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+14:00',
    '9999-12-31T23:59:59-14:00',
    '2026-02-30T00:00:00Z',
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

const MAX_DEPTH = 8

/** Every place of what a schema describes, itself among them; the first item stands for all of an array. */
export function listPlaces(schema: JsonSchema, resolve: (schema: JsonSchema) => JsonSchema): Path[] {
  const walk = (inner: JsonSchema, at: Path): Path[] => {
    const known = resolve(inner)
    if (at.length >= MAX_DEPTH) return [at]
    const below = Object.entries(known.properties ?? {}).flatMap(([name, property]) =>
      walk(property, [...at, name]),
    )
    return [at, ...below, ...(known.items ? walk(known.items, [...at, 0]) : [])]
  }
  return walk(schema, [])
}

/** `value` with something else at a place; whatever is missing on the way is made. */
export function put(value: unknown, [step, ...rest]: Path, leaf: unknown): unknown {
  if (step === undefined) return leaf
  if (step === 0) return [put(Array.isArray(value) ? value[0] : undefined, rest, leaf)]
  const object = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  return { ...object, [step]: put((object as { [key: string]: unknown })[step], rest, leaf) }
}

/** The places of a value that is there: of a cursor, say. */
export function placesOf(value: unknown): Path[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[]]
  return [[], ...Object.entries(value).flatMap(([key, inner]) => placesOf(inner).map(path => [key, ...path]))]
}
