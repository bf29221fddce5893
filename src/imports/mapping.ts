import type { Mapping } from '../../db/queries/imports.ts'
import type { Field } from '../../db/schema/flows.ts'
import { headingsOf } from '../data/headings.ts'
import { unimportable } from './file-error.ts'
import { fold } from './values/fold.ts'

/** How many names a sentence lists. */
const NAMED = 10

const listed = (names: readonly string[]) =>
  `${names.slice(0, NAMED).join(', ')}${names.length > NAMED ? ' and others' : ''}`

/** The headings of a file, in their order; an empty one is a column without a name. Refuses those that occur twice. */
export function checkHeadings(headings: readonly string[]): void {
  if (headings.every(heading => heading === '')) {
    throw unimportable('The file has no header: its first row has to name the columns.')
  }
  const seen = new Set<string>()
  const twice = new Set<string>()
  for (const heading of headings) {
    const key = heading.toLowerCase()
    if (heading !== '' && seen.has(key)) twice.add(heading)
    seen.add(key)
  }
  if (twice.size > 0) {
    throw unimportable(`The header names these columns twice: ${listed([...twice])}. Rename one of each.`)
  }
}

/**
 * Which column goes to which field, from their names alone: the heading of an export, the label or the key as it is, then without case, accents
 * and punctuation. What comes in question for two is proposed for none.
 */
export function proposeMapping(fields: readonly Field[], headings: readonly string[]): Mapping {
  const mapping: Mapping = {}
  const taken = new Set<string>()
  for (const [key, heading] of headingsOf(fields)) {
    if (!headings.includes(heading)) continue
    mapping[key] = heading
    taken.add(heading)
  }
  const passes = [(text: string) => text, fold]
  for (const name of passes) {
    for (const names of [(field: Field) => field.label, (field: Field) => field.key]) {
      for (const field of fields) {
        if (Object.hasOwn(mapping, field.key)) continue
        const wanted = name(names(field))
        if (wanted === '' || fields.some(other => other !== field && name(names(other)) === wanted)) continue
        const alike = headings.filter(
          heading => heading !== '' && !taken.has(heading) && name(heading) === wanted,
        )
        if (alike.length !== 1) continue
        mapping[field.key] = alike[0] as string
        taken.add(alike[0] as string)
      }
    }
  }
  return mapping
}

/** The mapping with the headings as the file writes them. Refuses what the file does not have. */
export function resolveMapping(given: Mapping, headings: readonly string[]): Mapping {
  const byName = new Map(
    headings.filter(heading => heading !== '').map(heading => [heading.toLowerCase(), heading]),
  )
  const missing = Object.values(given).filter(heading => !byName.has(heading.trim().toLowerCase()))
  if (missing.length > 0) {
    throw unimportable(
      `The file has no column ${listed(missing)}. Its columns are ${listed(headings.filter(heading => heading !== ''))}.`,
    )
  }
  return Object.fromEntries(
    Object.entries(given).map(([key, heading]) => [key, byName.get(heading.trim().toLowerCase()) as string]),
  )
}
