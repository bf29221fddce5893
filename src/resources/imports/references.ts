import { isUuid, type Queryable } from '../../../db/client.ts'
import { lockRecords } from '../../../db/queries/data.ts'
import { lockRecordsByKey } from '../../../db/queries/data-in-bulk.ts'
import { listDataTypesById } from '../../../db/queries/data-types.ts'
import type { RowError } from '../../../db/queries/imports.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { keyNames } from './key-names.ts'
import type { ReadRow } from './read-rows.ts'
import type { Target } from './target.ts'

/** By the referring field. */
export type References = ReadonlyMap<
  string,
  {
    /** The possible meanings of each text, the likeliest first. */
    names: ReadonlyMap<string, readonly string[]>
    /** The identifiers of the records found. */
    records: ReadonlyMap<string, string>
  }
>

/** Looks up the references of rows: by the primary key of the other type if the sender may see it, otherwise by `_id`. */
export async function findReferences(
  tx: Queryable,
  { organizationId, access, format, style }: Target,
  fields: readonly Field[],
  rows: readonly Values[],
): Promise<References> {
  if (fields.length === 0) return new Map()
  const ids = fields.flatMap(({ dataTypeId }) => dataTypeId ?? [])
  const types = await listDataTypesById(tx, organizationId, [...new Set(ids)])
  const found: Map<string, { names: Map<string, readonly string[]>; records: Map<string, string> }> =
    new Map()
  for (const field of fields) {
    const texts = new Set(rows.flatMap(values => (values[field.key] ?? []) as string))
    const other = types.find(({ _id }) => _id === field.dataTypeId)
    const otherKey = other?.fields.find(({ key }) => key === other.primaryKey)
    const byKey = [...texts].map(
      text => [text, otherKey ? keyNames(otherKey, text, format, style) : []] as const,
    )
    // Finding a record by a hidden value would confirm the value.
    const records =
      other && otherKey && !access.hides(other._id, otherKey.key)
        ? await lockRecordsByKey(tx, organizationId, other._id, otherKey, [
            ...new Set(byKey.flatMap(([, names]) => names)),
          ])
        : new Map<string, string>()
    const left = byKey.flatMap(([text, names]) => (names.some(name => records.has(name)) ? [] : idOf(text)))
    const known = await lockRecords(
      tx,
      organizationId,
      left.filter(id => isUuid(id)),
    )
    for (const id of left) {
      const ofType = known.get(id)
      if (ofType && (field.dataTypeId === null || field.dataTypeId === ofType)) records.set(id, id)
    }
    found.set(field.key, {
      names: new Map(byKey.map(([text, names]) => [text, [...names, idOf(text)]])),
      records,
    })
  }
  return found
}

/** The text as a possible `_id`. */
const idOf = (text: string) => text.trim().toLowerCase()

/** A reference to a record that a row of the same batch creates. */
export interface Resolved {
  field: string
  text: string
  id: string
}

export const nothingToReferTo = (field: string, value: string): RowError => ({
  field,
  value,
  message: 'There is no such record to refer to.',
})

/** Replaces texts by identifiers. In a dry run references to rows of the same file succeed, except to those that failed. */
export function resolveReferences(
  values: Values,
  read: ReadRow,
  { dryRun, missed }: Target,
  references: References,
  byKey: ReadonlyMap<string, string>,
): { broken: RowError[]; inBatch: Resolved[] } {
  const broken: RowError[] = []
  const inBatch: Resolved[] = []
  for (const [key, { names, records }] of references) {
    const text = values[key]
    if (typeof text !== 'string') continue
    const isOwn = read.toEarlier.includes(key)
    const meant = names.get(text) ?? []
    const of = (name: string) => records.get(name) ?? (isOwn ? byKey.get(name) : undefined)
    const id = meant.map(of).find(one => one !== undefined)
    const isMade = dryRun && isOwn && !meant.some(name => missed.has(name))
    if (id === undefined) {
      if (!isMade) broken.push(nothingToReferTo(key, text))
      continue
    }
    values[key] = id
    if (isOwn && meant.some(name => byKey.get(name) === id)) inBatch.push({ field: key, text, id })
  }
  return { broken, inBatch }
}
