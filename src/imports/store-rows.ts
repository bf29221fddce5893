import { isDeepStrictEqual } from 'node:util'
import { isUuid, newId, type Queryable } from '../../db/client.ts'
import { insertRecords, lockRecords, type NewRecord } from '../../db/queries/data.ts'
import {
  findRecordsByKey,
  listTakenValues,
  lockRecordsByKey,
  type RecordChange,
  updateRecords,
} from '../../db/queries/data-in-bulk.ts'
import { type DataType, listDataTypesById } from '../../db/queries/data-types.ts'
import type { Import, ImportStep, RowError } from '../../db/queries/imports.ts'
import { insertEvents } from '../../db/queries/webhook-deliveries.ts'
import type { Values } from '../../db/schema/data-records.ts'
import type { Field } from '../../db/schema/flows.ts'
import { uniqueValue } from '../../db/unique-value.ts'
import type { DataAccess } from '../api/data/access.ts'
import { isAbsent } from '../api/data/values.ts'
import { quote, type ReadRow } from './read-rows.ts'

/** Somebody else has taken a unique value meanwhile: the same rows again, and they are told. A serialization failure. */
class OvertakenError extends Error {
  readonly code = '40001'
}

/** What rows are stored as. The type is held by the transaction. */
export interface Target {
  organizationId: string
  type: DataType
  mode: Import['mode']
  dryRun: boolean
  /** Keys of the fields that have a column. */
  mapped: readonly string[]
  /** What whoever sent the file may see. */
  access: DataAccess
}

type Outcome = Omit<ImportStep, 'processed' | 'progress'>

/** Stores rows in a transaction across organizations, or says what would become of them. */
export async function storeRows(tx: Queryable, target: Target, rows: readonly ReadRow[]): Promise<Outcome> {
  const { organizationId, type, mode, dryRun } = target
  const keyField = type.fields.find(({ key }) => key === type.primaryKey)
  const keyOf = (values: Values): string | null => {
    const value = keyField && values[keyField.key]
    return keyField && !isAbsent(value) ? uniqueValue(keyField, value) : null
  }
  const failed = new Map<number, RowError[]>()
  const fail = (row: number, ...errors: RowError[]) =>
    failed.set(row, [...(failed.get(row) ?? []), ...errors])
  for (const { row, errors } of rows) if (errors.length > 0) fail(row, ...errors)
  const readable = rows.filter(({ row, repeats }) => !failed.has(row) && !repeats)

  const keys = readable.flatMap(({ values }) => keyOf(values) ?? [])
  const known = keyField
    ? await findRecordsByKey(
        tx,
        organizationId,
        type._id,
        keyField,
        [...new Set(keys)],
        mode === 'upsert' && !dryRun ? 'FOR UPDATE OF d' : '',
      )
    : new Map<string, NewRecord>()
  const references = await findReferences(tx, target, readable)

  // In their order: a row may refer to one before it.
  const created: (NewRecord & { row: number })[] = []
  const changed: (RecordChange & { row: number })[] = []
  const byKey = new Map<string, string>()
  let unchanged = rows.filter(({ row, repeats }) => repeats && !failed.has(row)).length
  for (const read of readable) {
    const values = { ...read.values }
    const broken = resolveReferences(values, read, target, references, byKey)
    const key = keyOf(values)
    const before = key === null ? undefined : known.get(key)
    const { data, errors } = complete(target, values, before?.data)
    if (broken.length + errors.length > 0) fail(read.row, ...broken, ...errors)
    else if (!before) {
      const _id = newId()
      created.push({ _id, data, row: read.row })
      if (key !== null) byKey.set(key, _id)
    } else if (mode === 'upsert') {
      // Whoever may not see a value may not try whether it is this one either.
      if (!seesMapped(target) || !isDeepStrictEqual(before.data, data))
        changed.push({ _id: before._id, before: before.data, data, row: read.row })
      else unchanged++
    } else if (seesMapped(target) && isDeepStrictEqual(before.data, data)) unchanged++
    else {
      const field = keyField as Field
      const message = `There is a record with this ${field.label} already, and this row differs from it.`
      fail(read.row, { field: field.key, value: quote(String(values[field.key])), message })
    }
  }

  const taken = await listTakenValues(tx, organizationId, type, [...created, ...changed])
  const rowOf = new Map([...created, ...changed].map(({ _id, row, data }) => [_id, { row, data }]))
  for (const { recordId, field } of taken) {
    const { row, data } = rowOf.get(recordId) as { row: number; data: Values }
    const label = type.fields.find(({ key }) => key === field)?.label
    const message = `Another record has this ${label} already.`
    fail(row, { field, value: quote(String(data[field])), message })
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

const seesMapped = ({ access, type, mapped }: Target) => mapped.every(key => !access.hides(type._id, key))

async function write(
  tx: Queryable,
  { organizationId, type }: Target,
  created: readonly NewRecord[],
  changed: readonly RecordChange[],
): Promise<void> {
  const records = created.map(({ _id, data }) => ({ _id, data }))
  const taken = [
    ...(await updateRecords(tx, organizationId, type, changed)),
    ...(records.length > 0 ? await insertRecords(tx, organizationId, type, records) : []),
  ]
  if (taken.length > 0) throw new OvertakenError('A unique value was taken meanwhile')
  await insertEvents(tx, organizationId, {
    event: 'data-source-created',
    dataTypeId: type._id,
    payloads: records.map(({ data }) => JSON.stringify(data)),
  })
}

/** All values of a record: those of the row over those that it has; where it is new, defaults where there is no column. */
function complete(
  { type, mapped }: Target,
  values: Values,
  before: Values | undefined,
): { data: Values; errors: RowError[] } {
  const data: [string, unknown][] = []
  const errors: RowError[] = []
  for (const { key, label, required, default: usual } of type.fields) {
    let value = Object.hasOwn(values, key) ? values[key] : before?.[key]
    // An empty cell means no value, and a required one has to have some.
    if (isAbsent(value) && !before && (required || !mapped.includes(key))) value = usual
    if (!isAbsent(value)) data.push([key, value])
    else if (required) errors.push({ field: key, value: null, message: `${label} is required.` })
  }
  return { data: Object.fromEntries(data), errors }
}

/** By the field that refers, the records that texts name. */
type References = ReadonlyMap<string, ReadonlyMap<string, string>>

/** What the references of rows lead to: by the primary key of the other type where that may be seen, else by `_id`. */
async function findReferences(tx: Queryable, target: Target, rows: readonly ReadRow[]): Promise<References> {
  const { organizationId, type, access, mapped } = target
  const fields = type.fields.filter(field => field.type === 'reference' && mapped.includes(field.key))
  if (fields.length === 0) return new Map()
  const ids = fields.flatMap(({ dataTypeId }) => dataTypeId ?? [])
  const types = await listDataTypesById(tx, organizationId, [...new Set(ids)])
  const found = new Map<string, Map<string, string>>()
  for (const field of fields) {
    const texts = new Set(rows.flatMap(({ values }) => (values[field.key] ?? []) as string))
    const records = new Map<string, string>()
    found.set(field.key, records)
    const other = types.find(({ _id }) => _id === field.dataTypeId)
    const otherKey = other?.fields.find(({ key }) => key === other.primaryKey)
    // Finding a record by a value that is not to be seen would confirm the value.
    if (other && otherKey && !access.hides(other._id, otherKey.key)) {
      const asked = new Map([...texts].map(text => [uniqueValue(otherKey, text), text]))
      const keys = await lockRecordsByKey(tx, organizationId, other._id, otherKey.key, [...asked.keys()])
      for (const [value, id] of keys) records.set(asked.get(value) as string, id)
    }
    const left = [...texts].filter(text => !records.has(text) && isUuid(text))
    const known = await lockRecords(
      tx,
      organizationId,
      left.map(text => text.toLowerCase()),
    )
    for (const text of left) {
      const ofType = known.get(text.toLowerCase())
      if (ofType && (field.dataTypeId === null || field.dataTypeId === ofType))
        records.set(text, text.toLowerCase())
    }
  }
  return found
}

/** Puts identifiers in the place of texts. What a dry run refers to in the same file would be there. */
function resolveReferences(
  values: Values,
  read: ReadRow,
  { type, dryRun }: Target,
  references: References,
  byKey: ReadonlyMap<string, string>,
): RowError[] {
  const errors: RowError[] = []
  const keyField = type.fields.find(({ key }) => key === type.primaryKey)
  for (const [key, records] of references) {
    const text = values[key]
    if (typeof text !== 'string') continue
    const isOwn = read.toEarlier.includes(key)
    const id = records.get(text) ?? (isOwn && keyField ? byKey.get(uniqueValue(keyField, text)) : undefined)
    if (id !== undefined) values[key] = id
    else if (!(dryRun && isOwn)) {
      errors.push({ field: key, value: quote(text), message: 'There is no such record to refer to.' })
    }
  }
  return errors
}
