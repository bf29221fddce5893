import { isDeepStrictEqual } from 'node:util'
import { isUuid, newId, type Queryable } from '../../../db/client.ts'
import { OvertakenError } from '../../../db/failures.ts'
import {
  insertRecordTexts,
  listTakenValues,
  lockRecords,
  type NewRecord,
  newKeys,
} from '../../../db/queries/data.ts'
import {
  findRecordsByKey,
  lockRecordsByKey,
  type RecordChange,
  updateRecords,
} from '../../../db/queries/data-in-bulk.ts'
import { type DataType, listDataTypesById } from '../../../db/queries/data-types.ts'
import type { Import, ImportStep, RowError } from '../../../db/queries/imports.ts'
import { insertEvents } from '../../../db/queries/webhook-events.ts'
import type { RecordText } from '../../../db/record-text.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import type { Field } from '../../../db/schema/flows.ts'
import type { DataAccess } from '../data/access.ts'
import { complete } from './complete.ts'
import type { Style } from './convert.ts'
import { keyNames } from './key-names.ts'
import { MAX_MISSED_KEYS } from './limits.ts'
import { type MadeRecord, makeRecord, type ReadRow } from './read-rows.ts'
import { differingIn, OF_HIDDEN_FIELD, reportOf } from './report.ts'

/** The target of the rows. The transaction locks the type. */
export interface Target {
  organizationId: string
  type: DataType
  mode: Import['mode']
  dryRun: boolean
  /** Keys of the fields that have a column. */
  mapped: readonly string[]
  /** The data that the sender may see. */
  access: DataAccess
  format: Import['format']
  /** Whether its new records are samples. */
  isSample: boolean
  /** The style for reading the texts of references. */
  style: Style
  /** Keys of rows that create no record, in a dry run: references to them fail. Only the first ones are kept. */
  missed: Set<string>
}

type Outcome = Omit<ImportStep, 'processed' | 'progress'>

/** Stores rows in a transaction across organizations, or returns the result that storing would have. */
export async function storeRows(tx: Queryable, target: Target, rows: readonly ReadRow[]): Promise<Outcome> {
  const { organizationId, type, mode, dryRun, mapped } = target
  const keyField = type.fields.find(({ key }) => key === type.primaryKey)
  const failed = new Map<number, RowError[]>()
  const warnings = new Map(
    rows.filter(read => read.warnings.length > 0).map(read => [read.row, read.warnings]),
  )
  const textOf = new Map(rows.map(({ row, values }) => [row, values]))
  // The label of a hidden field must not be disclosed unless the row itself has a value for the field.
  const withoutHidden = (row: number, error: RowError) =>
    error.field !== null &&
    target.access.hides(type._id, error.field) &&
    !Object.hasOwn(JSON.parse(textOf.get(row) as string), error.field)
      ? OF_HIDDEN_FIELD
      : error
  const fail = (row: number, ...found: RowError[]) => {
    const errors = found.map(error => withoutHidden(row, error))
    const before = failed.get(row)
    failed.set(row, reportOf(before ? [...before, ...errors] : [...errors, ...(warnings.get(row) ?? [])]))
  }
  for (const { row, errors } of rows) if (errors.length > 0) failed.set(row, errors)
  const readable = rows.filter(({ row, repeats }) => !failed.has(row) && !repeats)

  // A dry run must not reveal hidden values: it could try them unnoticed, by the million.
  const isWithheld = (key: string) => dryRun && target.access.hides(type._id, key)
  const keys = readable.flatMap(({ key }) => key ?? [])
  const known =
    keyField && !isWithheld(keyField.key)
      ? await findRecordsByKey(
          tx,
          organizationId,
          type._id,
          keyField,
          [...new Set(keys)],
          mode === 'upsert' && !dryRun ? 'FOR UPDATE OF d' : '',
        )
      : new Map<string, NewRecord>()
  const referring = type.fields.filter(field => field.type === 'reference' && mapped.includes(field.key))
  // A row's texts suffice, unless a record exists already or references have to be looked up.
  const parsed = referring.length > 0 ? readable.map(({ values }): Values => JSON.parse(values)) : []
  const references = await findReferences(tx, target, referring, parsed)
  const refersToOwn = referring.some(({ dataTypeId }) => dataTypeId === type._id)
  const miss = ({ key, errors }: ReadRow) => {
    // The first of two rows with one key counts, and may have created its record.
    const isSecond = errors.some(({ field }) => field === type.primaryKey)
    if (dryRun && refersToOwn && key !== null && !isSecond && target.missed.size < MAX_MISSED_KEYS)
      target.missed.add(key)
  }
  for (const read of rows) if (failed.has(read.row)) miss(read)
  /** The rows that refer to records which earlier rows create. */
  const dependents = new Map<number, Resolved[]>()

  // In order, because a row may refer to an earlier one.
  const created: (RecordText & { _id: string; row: number; key: string | null })[] = []
  const changed: (RecordChange & { row: number })[] = []
  const byKey = new Map<string, string>()
  let unchanged = rows.filter(({ row, repeats }) => repeats && !failed.has(row)).length
  for (const [at, read] of readable.entries()) {
    const { row, key } = read
    const before = key === null ? undefined : known.get(key)
    const values: Values | undefined = parsed[at] ?? (before && JSON.parse(read.values))
    const { broken, inBatch } = values
      ? resolveReferences(values, read, target, references, byKey)
      : { broken: [], inBatch: [] }
    if (inBatch.length > 0) dependents.set(row, inBatch)
    if (!before) {
      const known = read.made as MadeRecord
      // Found references do not change which required values are missing.
      const made = values && !('lacks' in known) ? makeRecord(type.fields, mapped, values) : known
      if ('lacks' in made || broken.length > 0) {
        fail(row, ...broken, ...('lacks' in made ? made.lacks : []))
        miss(read)
      } else {
        const _id = newId()
        const { data, search, unique } = made
        created.push({ data, search, unique, _id, row, key })
        if (key !== null) byKey.set(key, _id)
      }
      continue
    }
    const given = values as Values
    const { data, errors } = complete(type.fields, mapped, given, before.data)
    if (broken.length + errors.length > 0) fail(row, ...broken, ...errors)
    else if (maySeeAll(target, given) && isDeepStrictEqual(before.data, data)) unchanged++
    else if (mode === 'upsert') changed.push({ _id: before._id, before: before.data, data, row })
    else {
      const field = keyField as Field
      const differing = maySeeAll(target, given)
        ? type.fields.filter(({ key }) => !isDeepStrictEqual(before.data[key], data[key]))
        : []
      const how = differingIn(differing.map(({ label }) => label))
      const message = `There is a record with this ${field.label} already${how}.`
      fail(row, { field: field.key, value: String(given[field.key]), message })
    }
  }

  // Primary keys were looked up above.
  const createdValues = created.flatMap(({ _id, unique, key }) =>
    unique
      .filter(({ field }) => key === null || field !== type.primaryKey)
      .map(value => ({ ...value, recordId: _id })),
  )
  const newValues = [
    ...createdValues,
    ...newKeys(
      type.fields.filter(({ key }) => key !== type.primaryKey),
      changed,
    ),
  ].filter(({ field }) => !isWithheld(field))
  const taken = await listTakenValues(tx, organizationId, type._id, newValues)
  const rowOf = new Map(taken.length > 0 ? [...created, ...changed].map(one => [one._id, one]) : [])
  for (const { recordId, field } of taken) {
    const { row, data } = rowOf.get(recordId) as { row: number; data: string | Values }
    const values: Values = typeof data === 'string' ? JSON.parse(data) : data
    const label = type.fields.find(({ key }) => key === field)?.label
    const message = `Another record has this ${label} already.`
    fail(row, { field, value: String(values[field]), message })
  }
  // A row that depends on a record that is not created fails too; rows that depend on that one come after it.
  const ids = new Map(created.map(({ row, _id }) => [row, _id]))
  const unmade = new Set(created.filter(({ row }) => failed.has(row)).map(({ _id }) => _id))
  for (const [row, inBatch] of dependents) {
    const lost = inBatch.filter(({ id }) => unmade.has(id))
    if (lost.length === 0) continue
    fail(row, ...lost.map(({ field, text }) => nothingToReferTo(field, text)))
    const own = ids.get(row)
    if (own !== undefined) unmade.add(own)
  }
  for (const read of readable) {
    const own = ids.get(read.row)
    if (own !== undefined && unmade.has(own)) miss(read)
  }
  const toCreate = created.filter(({ row }) => !failed.has(row))
  const toChange = changed.filter(({ row }) => !failed.has(row))
  if (!dryRun) await write(tx, target, toCreate, toChange)
  return {
    created: toCreate.length,
    updated: toChange.length,
    unchanged,
    failed: [...failed].map(([row, errors]) => ({ row, errors })).sort((a, b) => a.row - b.row),
  }
}

/**
 * Whether the sender may see all given values: otherwise comparing them would reveal hidden ones. A missing value is
 * compared with itself.
 */
const maySeeAll = ({ access, type }: Target, given: Values) =>
  Object.keys(given).every(key => !access.hides(type._id, key))

async function write(
  tx: Queryable,
  { organizationId, type, isSample }: Target,
  created: readonly (RecordText & { _id: string })[],
  changed: readonly RecordChange[],
): Promise<void> {
  const taken = [
    ...(await updateRecords(tx, organizationId, type, changed)),
    ...(created.length > 0 ? await insertRecordTexts(tx, organizationId, type._id, created, isSample) : []),
  ]
  // The same rows are stored again, and those with the value fail.
  if (taken.length > 0) throw new OvertakenError('A unique value was taken meanwhile')
  await insertEvents(tx, organizationId, {
    event: 'data-source-created',
    dataTypeId: type._id,
    payloads: created.map(({ data }) => data),
  })
}

/** By the referring field. */
type References = ReadonlyMap<
  string,
  {
    /** The possible meanings of each text, the likeliest first. */
    names: ReadonlyMap<string, readonly string[]>
    /** The identifiers of the records found. */
    records: ReadonlyMap<string, string>
  }
>

/** Looks up the references of rows: by the primary key of the other type if the sender may see it, otherwise by `_id`. */
async function findReferences(
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
interface Resolved {
  field: string
  text: string
  id: string
}

const nothingToReferTo = (field: string, value: string): RowError => ({
  field,
  value,
  message: 'There is no such record to refer to.',
})

/** Replaces texts by identifiers. In a dry run references to rows of the same file succeed, except to those that failed. */
function resolveReferences(
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
