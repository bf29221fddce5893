import type { Field } from '../../db/schema/flows.ts'
import { fold } from './values/fold.ts'

/**
 * The headings of a type's fields in a spreadsheet, by key. A heading is the field's label. The key is added if another
 * field's label looks the same, because a file with two such columns would be ambiguous. An import finds the columns by
 * the same headings.
 */
export function headingsOf(fields: readonly Pick<Field, 'key' | 'label'>[]): Map<string, string> {
  const headings = new Map(fields.map(({ key, label }) => [key, label]))
  const names = fields.map(({ label }) => fold(label))
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const isAlone = (name: string | undefined) => name !== undefined && name !== '' && counts.get(name) === 1
  const taken = new Set(names.filter(isAlone))
  const numbers = new Map<string, number>()
  for (const [at, { key, label }] of fields.entries()) {
    if (isAlone(names[at])) continue
    const named = (n: number) => (n === 1 ? `${label} (${key})` : `${label} (${key} ${n})`)
    // Hundreds of keys may look the same without case and underscores: each continues at the last number used.
    const alike = fold(named(1))
    let n = numbers.get(alike) ?? 1
    while (taken.has(fold(named(n)))) n++
    numbers.set(alike, n)
    const heading = named(n)
    taken.add(fold(heading))
    headings.set(key, heading)
  }
  return headings
}

/** The parts of a place that have a column of their own, in order. */
export const PLACE_PARTS = ['lat', 'lng', 'address'] as const
export type PlaceHeadings = [latitude: string, longitude: string, address: string]

/** The three headings of each place, by the key of its field; no other heading looks the same. */
export function placeHeadingsOf(
  fields: readonly (Pick<Field, 'key' | 'label'> & { type?: Field['type'] })[],
): Map<string, PlaceHeadings> {
  const headings = headingsOf(fields)
  const taken = new Set([...headings.values()].map(fold))
  const places = new Map<string, PlaceHeadings>()
  for (const { key, label } of fields.filter(({ type }) => type === 'location')) {
    const named = (n: number): PlaceHeadings => {
      const name = n === 0 ? headings.get(key) : n === 1 ? `${label} (${key})` : `${label} (${key} ${n})`
      return [`${name} latitude`, `${name} longitude`, `${name} address`]
    }
    let n = 0
    while (named(n).some(heading => taken.has(fold(heading)))) n++
    for (const heading of named(n)) taken.add(fold(heading))
    places.set(key, named(n))
  }
  return places
}
