import type { components } from '../../api/interface.d.ts'
import type { FieldDefinition } from '../data/data-queries.ts'

/** The heading of a column by the key of its field; of a place perhaps those of its parts. */
export type Mapping = components['schemas']['ImportRecord']['mapping']

/** The purpose of a column: a field, or a part of a place. Empty where it is not imported. */
type Purpose = string

/** The parts of a place, in the order of the columns in a mapping. */
export const PARTS = ['lat', 'lng', 'address'] as const
const PART = '#'
export const partOf = (key: string, part: (typeof PARTS)[number]): Purpose => `${key}${PART}${part}`

const plain = (text: string) =>
  text
    .normalize('NFD')
    .replace(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()

/** Proposes columns by their headings, for a file that the server has refused before it could propose any. */
export function propose(headings: readonly string[], fields: readonly FieldDefinition[]): Mapping {
  const found = fields.map(({ key, label }) => {
    const heading = headings.find(one => plain(one) === plain(key) || plain(one) === plain(label))
    return [key, heading ?? ''] as const
  })
  return Object.fromEntries(found.filter(([, heading]) => heading !== ''))
}

/** The purpose of each heading. */
export function purposesOf(mapping: Mapping): Map<string, Purpose> {
  const purposes = new Map<string, Purpose>()
  for (const [key, columns] of Object.entries(mapping)) {
    if (typeof columns === 'string') purposes.set(columns, key)
    else
      for (const [at, heading] of columns.entries())
        purposes.set(heading, partOf(key, PARTS[at] ?? 'address'))
  }
  return purposes
}

/** The mapping with another purpose of one column. A field has one column, so another one that had it loses it. */
export function withPurpose(mapping: Mapping, heading: string, purpose: Purpose): Mapping {
  const purposes = purposesOf(mapping)
  for (const [other, one] of purposes) if (one === purpose) purposes.delete(other)
  // A place is in one column or in several.
  const [field = ''] = purpose.split(PART)
  for (const [other, one] of purposes) {
    const [ofField = ''] = one.split(PART)
    if (ofField === field && one.includes(PART) !== purpose.includes(PART)) purposes.delete(other)
  }
  if (purpose === '') purposes.delete(heading)
  else purposes.set(heading, purpose)
  return mappingOf(purposes)
}

function mappingOf(purposes: ReadonlyMap<string, Purpose>): Mapping {
  const mapping: Mapping = {}
  for (const [heading, purpose] of purposes) {
    const [key = '', part] = purpose.split(PART)
    if (part === undefined) mapping[key] = heading
    else {
      const parts = (mapping[key] ?? []) as string[]
      parts[PARTS.indexOf(part as (typeof PARTS)[number])] = heading
      mapping[key] = parts
    }
  }
  return mapping
}

/** The mapping as it is sent. A place without its latitude or longitude is none yet. */
export const complete = (mapping: Mapping): Mapping =>
  Object.fromEntries(
    Object.entries(mapping).filter(
      ([, columns]) => typeof columns === 'string' || Boolean(columns[0] && columns[1]),
    ),
  )
