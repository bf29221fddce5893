import type { Mapping } from '../../../db/queries/imports.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { isStorable } from '../../../db/text.ts'
import { type Cell, cellText, isBlank } from '../../sheets/cell.ts'
import { unimportable } from '../../sheets/file-error.ts'
import { headingsOf, placeHeadingsOf } from '../../sheets/headings.ts'
import type { Header } from '../../sheets/open-source.ts'
import { listed, quote } from '../../sheets/quotes.ts'
import { fold } from '../../sheets/values/fold.ts'
import { readPlace } from '../../sheets/values/places.ts'
import { MAX_HEADING_CHARACTERS } from './limits.ts'
import { proposePlaces } from './propose-places.ts'

/** The data type that a mapping is made for. */
export interface Mappable {
  name: string
  fields: readonly (Pick<Field, 'key' | 'label'> & {
    /** The type, because a place may have its degrees in two columns. */
    type?: Field['type']
    /** Whether the sender may not see the field: its column is found, but its label is not disclosed. */
    isHidden?: boolean
  })[]
}

/** A mapping that came with a file, directly or as an import config. */
export interface GivenMapping {
  mapping: Mapping
  isConfig: boolean
}

/**
 * A heading's name for comparison: without case and surrounding blanks, and with composed letters, which macOS may
 * decompose.
 */
const nameOf = (heading: string) => heading.trim().normalize().toLowerCase()

/** Checks the headings of a file; an empty one is a column without a name. Throws if a heading occurs twice. */
export function checkHeadings(headings: readonly string[]): void {
  if (headings.every(heading => heading === '')) {
    throw unimportable('The file has no header: its first row has to name the columns.')
  }
  const seen = new Set<string>()
  const twice = new Set<string>()
  for (const heading of headings) {
    if (heading.length > MAX_HEADING_CHARACTERS) {
      throw unimportable(
        `The column "${quote(heading, 40)}" has a name of more than ${MAX_HEADING_CHARACTERS} characters: shorten it.`,
      )
    }
    if (!isStorable(heading)) {
      throw unimportable(
        `The name of the column "${quote(heading)}" has a character that cannot be stored: rename it.`,
      )
    }
    const key = nameOf(heading)
    if (heading !== '' && seen.has(key)) twice.add(heading)
    seen.add(key)
  }
  if (twice.size > 0) {
    throw unimportable(`The header names these columns twice: ${listed([...twice])}. Rename one of each.`)
  }
}

/** Maps columns to fields, as the given mapping says or else as the names suggest. Throws if no column fits. */
export function chooseMapping(
  type: Mappable,
  given: Mapping | null,
  header: Header,
  sample: readonly (readonly Cell[])[] = [],
): Mapping {
  if (given) return resolveMapping(given, header)
  const proposed = proposeMapping(type.fields, header.headings, sample)
  if (Object.keys(proposed).length > 0) return proposed
  const labels = type.fields.filter(({ isHidden }) => !isHidden).map(({ label }) => label)
  const names = labels.length > 0 ? `: ${listed(labels)}` : ''
  throw unimportable(
    `No column of the file is called like a field of ${type.name}${names}. ${taken(header)} Name the columns so, with nothing above their names, or give a mapping.`,
  )
}

/**
 * Proposes a mapping from the names alone: the heading of an export, the label or the key, first exactly, then without
 * case, accents and punctuation. A heading that fits two fields is proposed for neither. A place gets columns of
 * degrees if it has no column, or one that holds addresses; `sample` is the first rows below the header.
 */
export function proposeMapping(
  fields: Mappable['fields'],
  headings: readonly string[],
  sample: readonly (readonly Cell[])[] = [],
): Mapping {
  const mapping: Mapping = {}
  const taken = new Set<string>()
  const take = (key: string, columns: string | string[]) => {
    mapping[key] = columns
    for (const heading of [columns].flat()) taken.add(heading)
  }
  const known = new Set(headings)
  for (const [key, heading] of headingsOf(fields)) if (known.has(heading)) take(key, heading)
  for (const [key, exported] of placeHeadingsOf(fields)) {
    const isThere = exported.every(heading => known.has(heading) && !taken.has(heading))
    if (isThere && !Object.hasOwn(mapping, key)) take(key, exported)
  }
  for (const name of [(text: string) => text, fold]) {
    const columns = groupBy(headings, name)
    for (const nameOf of [
      (field: Pick<Field, 'label'>) => field.label,
      (field: Pick<Field, 'key'>) => field.key,
    ]) {
      for (const [wanted, [field, ...others]] of groupBy(fields, one => name(nameOf(one)))) {
        if (!field || others.length > 0 || Object.hasOwn(mapping, field.key)) continue
        const [alike, ...more] = (columns.get(wanted) ?? []).filter(heading => !taken.has(heading))
        if (alike !== undefined && more.length === 0) take(field.key, alike)
      }
    }
  }
  const columns = headings.map((heading, at) => ({ heading, cells: sample.map(cells => cells[at] ?? null) }))
  /** The field's column, if it appears to hold addresses. */
  const addressOf = (key: string): string | null => {
    const { heading, cells = [] } = columns.find(one => one.heading === mapping[key]) ?? {}
    const texts = cells.filter(cell => !isBlank(cell)).map(cellText)
    return heading !== undefined && texts.length > 0 && texts.every(text => readPlace(text) === null)
      ? heading
      : null
  }
  const places = fields.filter(
    ({ key, type }) => type === 'location' && (!Object.hasOwn(mapping, key) || addressOf(key) !== null),
  )
  if (places.length === 0) return mapping
  const free = columns.filter(({ heading }) => heading !== '' && !taken.has(heading))
  const proposed = Object.entries(proposePlaces(places, fields, free)).map(([key, [lat, lng, address]]) => {
    const own = addressOf(key) ?? address
    return [key, [lat, lng, ...(own === undefined ? [] : [own])]] as const
  })
  return { ...mapping, ...Object.fromEntries(proposed) } as Mapping
}

/** Groups items by name. Each name is computed once, however many are compared. */
function groupBy<One>(all: readonly One[], nameOf: (one: One) => string): Map<string, One[]> {
  const groups = new Map<string, One[]>()
  for (const one of all) {
    const name = nameOf(one)
    const group = groups.get(name)
    if (group) group.push(one)
    else if (name !== '') groups.set(name, [one])
  }
  return groups
}

/** The mapping with the file's own spelling of the headings. Throws if the file lacks a heading. */
export function resolveMapping(given: Mapping, header: Header): Mapping {
  const { headings } = header
  const named = headings.filter(heading => heading !== '')
  // The exact spelling comes first, because keys of JSON may differ only in case.
  const byName = new Map([
    ...named.map(heading => [nameOf(heading), heading] as const),
    ...named.map(heading => [heading, heading] as const),
  ])
  const find = (heading: string) => byName.get(heading.trim()) ?? byName.get(nameOf(heading))
  const missing = headingsIn(given).filter(heading => find(heading) === undefined)
  if (missing.length > 0) {
    throw unimportable(`The file has no column ${listed(missing)}. ${taken(header)}`)
  }
  const resolve = (heading: string) => find(heading) as string
  return Object.fromEntries(
    Object.entries(given).map(([key, columns]) => [
      key,
      typeof columns === 'string' ? resolve(columns) : columns.map(resolve),
    ]),
  )
}

/** All headings in a mapping. */
export const headingsIn = (mapping: Mapping): string[] => Object.values(mapping).flat()

/**
 * Names the row that was read as the header, so that users notice a title above it. JSON keys are not listed: some
 * fields of the type may be hidden.
 */
const taken = ({ row, headings }: Header) =>
  row === null
    ? 'The columns of JSON are the keys of the fields of its data type.'
    : `Row ${row} was taken for the names of the columns: ${listed(headings.filter(heading => heading !== ''))}.`
