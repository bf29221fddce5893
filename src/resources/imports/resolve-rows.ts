import { isDeepStrictEqual } from 'node:util'
import { newId } from '../../../db/client.ts'
import type { NewRecord } from '../../../db/queries/data.ts'
import type { RecordChange } from '../../../db/queries/data-in-bulk.ts'
import type { RowError } from '../../../db/queries/imports.ts'
import type { RecordText } from '../../../db/record-text.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { Field } from '../../../db/schema/flows.ts'
import { type CheckedRows, rememberMissed } from './check-rows.ts'
import { complete } from './complete.ts'
import { type MadeRecord, makeRecord, type ReadRow } from './read-rows.ts'
import { type References, type Resolved, resolveReferences } from './references.ts'
import { differingIn } from './report.ts'
import { maySeeAll, type Target } from './target.ts'

/** A record that a row creates, as the texts to store. */
export type Created = RecordText & { _id: string; row: number; key: string | null }

/** Resolves the readable rows that have not failed. */
export interface Resolution {
  created: Created[]
  changed: (RecordChange & { row: number })[]
  unchanged: number
  /** The rows that refer to records which earlier rows create, with these references. */
  dependents: Map<number, Resolved[]>
}

/**
 * Resolves each row to the record that it creates, changes or leaves as it is, or to errors. In order, because a row may
 * refer to an earlier one.
 */
export function resolveRows(
  target: Target,
  { readable, parsed, failed }: CheckedRows,
  known: ReadonlyMap<string, NewRecord>,
  references: References,
): Resolution {
  const resolution: Resolution = { created: [], changed: [], unchanged: 0, dependents: new Map() }
  const idsByKey = new Map<string, string>()
  for (const [at, read] of readable.entries()) {
    const { row, key } = read
    const before = key === null ? undefined : known.get(key)
    // A row's texts suffice, unless a record exists already or references have to be looked up.
    const values: Values | undefined = parsed[at] ?? (before && JSON.parse(read.values))
    const { broken, inBatch } = values
      ? resolveReferences(values, read, target, references, idsByKey)
      : { broken: [], inBatch: [] }
    if (inBatch.length > 0) resolution.dependents.set(row, inBatch)
    if (before) {
      const errors = resolveKnown(target, row, before, values as Values, broken, resolution)
      if (errors.length > 0) failed.add(row, ...errors)
      continue
    }
    const made = remake(target, read, values)
    const errors = [...broken, ...('lacks' in made ? made.lacks : [])]
    if (errors.length > 0) {
      failed.add(row, ...errors)
      rememberMissed(target, read)
    } else {
      const { data, search, unique } = made as RecordText
      const _id = newId()
      resolution.created.push({ data, search, unique, _id, row, key })
      if (key !== null) idsByKey.set(key, _id)
    }
  }
  return resolution
}

/** The record of a row without one. Found references do not change which required values are missing. */
function remake({ type, mapped }: Target, read: ReadRow, values: Values | undefined): MadeRecord {
  const made = read.made as MadeRecord
  return values && !('lacks' in made) ? makeRecord(type.fields, mapped, values) : made
}

/** Resolves a row whose record exists. Returns why it fails. */
function resolveKnown(
  target: Target,
  row: number,
  before: NewRecord,
  given: Values,
  broken: readonly RowError[],
  resolution: Resolution,
): RowError[] {
  const { type, mode, mapped } = target
  const { data, errors } = complete(type.fields, mapped, given, before.data)
  if (broken.length + errors.length > 0) return [...broken, ...errors]
  const seesAll = maySeeAll(target, given)
  if (seesAll && isDeepStrictEqual(before.data, data)) {
    resolution.unchanged++
    return []
  }
  if (mode === 'upsert') {
    resolution.changed.push({ _id: before._id, before: before.data, data, row })
    return []
  }
  const field = type.fields.find(({ key }) => key === type.primaryKey) as Field
  const differing = seesAll
    ? type.fields.filter(({ key }) => !isDeepStrictEqual(before.data[key], data[key]))
    : []
  const how = differingIn(differing.map(({ label }) => label))
  const message = `There is a record with this ${field.label} already${how}.`
  return [{ field: field.key, value: String(given[field.key]), message }]
}
