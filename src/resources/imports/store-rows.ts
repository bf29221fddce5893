import type { Queryable } from '../../../db/client.ts'
import { OvertakenError } from '../../../db/failures.ts'
import { insertRecordTexts, listTakenValues, type NewRecord, newKeys } from '../../../db/queries/data.ts'
import { findRecordsByKey, type RecordChange, updateRecords } from '../../../db/queries/data-in-bulk.ts'
import type { Replaced } from '../../../db/queries/import-steps.ts'
import type { ImportStep } from '../../../db/queries/imports.ts'
import { insertEvents } from '../../../db/queries/webhook-events.ts'
import type { Values } from '../../../db/schema/data-records.ts'
import { type CheckedRows, checkRows, type FailedRows, rememberMissed } from './check-rows.ts'
import type { ReadRow } from './read-rows.ts'
import { findReferences, nothingToReferTo } from './references.ts'
import { type Created, type Resolution, resolveRows } from './resolve-rows.ts'
import { isWithheld, type Target } from './target.ts'

type Outcome = Omit<ImportStep, 'progress'> & {
  /** The records that were stored, for an undo; none in a dry run. */
  stored: { created: string[]; replaced: Replaced[] }
}

/**
 * Stores rows in a transaction across organizations, or returns the result that storing would have. It stores the first ones
 * alone, `processed` of them, where the records that exist already have more text than a batch may read.
 */
export async function storeRows(tx: Queryable, target: Target, rows: readonly ReadRow[]): Promise<Outcome> {
  const checked = checkRows(target, rows)
  const { failed } = checked

  const known = await findKnown(tx, target, checked)
  const unread = checked.readable.find(({ key }) => key !== null && known.get(key) === null)
  if (unread) return storeRows(tx, target, rows.slice(0, rows.indexOf(unread)))
  const references = await findReferences(tx, target, checked.referring, checked.parsed)
  const resolution = resolveRows(target, checked, known as Known, references)

  await failTaken(tx, target, failed, resolution)
  failDependents(target, checked, resolution)

  const created = resolution.created.filter(({ row }) => !failed.has(row))
  const changed = resolution.changed.filter(({ row }) => !failed.has(row))
  if (!target.dryRun) await write(tx, target, created, changed)
  return {
    processed: rows.length,
    created: created.length,
    updated: changed.length,
    unchanged: checked.repeated + resolution.unchanged,
    failed: failed.list(),
    stored: target.dryRun
      ? { created: [], replaced: [] }
      : {
          created: created.map(({ _id }) => _id),
          replaced: changed.map(({ _id, before }) => ({ _id, data: before })),
        },
  }
}

type Known = ReadonlyMap<string, NewRecord>

/** The records that have the primary keys of the rows already; locked if they are to change. Null beyond what is read. */
async function findKnown(
  tx: Queryable,
  target: Target,
  { readable }: CheckedRows,
): Promise<ReadonlyMap<string, NewRecord | null>> {
  const { organizationId, type, mode, dryRun, maxKnownBytes: maxBytes } = target
  const keyField = type.fields.find(({ key }) => key === type.primaryKey)
  if (!keyField || isWithheld(target, keyField.key)) return new Map()
  const keys = readable.flatMap(({ key }) => key ?? [])
  const hold = mode === 'upsert' && !dryRun ? 'FOR UPDATE OF d' : ''
  return findRecordsByKey(tx, organizationId, type._id, keyField, [...new Set(keys)], { hold, maxBytes })
}

/** Fails the rows with a unique value that another record has. Primary keys have been looked up. */
async function failTaken(
  tx: Queryable,
  target: Target,
  failed: FailedRows,
  { created, changed }: Resolution,
): Promise<void> {
  const { organizationId, type } = target
  const createdValues = created.flatMap(({ _id, unique, key }) =>
    unique
      .filter(({ field }) => key === null || field !== type.primaryKey)
      .map(value => ({ ...value, recordId: _id })),
  )
  const others = type.fields.filter(({ key }) => key !== type.primaryKey)
  const values = [...createdValues, ...newKeys(others, changed)].filter(
    ({ field }) => !isWithheld(target, field),
  )
  const taken = await listTakenValues(tx, organizationId, type._id, values)
  const byId = new Map(taken.length > 0 ? [...created, ...changed].map(one => [one._id, one]) : [])
  for (const { recordId, field } of taken) {
    const { row, data } = byId.get(recordId) as { row: number; data: string | Values }
    const values: Values = typeof data === 'string' ? JSON.parse(data) : data
    const label = type.fields.find(({ key }) => key === field)?.label
    const message = `Another record has this ${label} already.`
    failed.add(row, { field, value: String(values[field]), message })
  }
}

/** Fails the rows that refer to a record that is not created; rows that depend on those come after them. */
function failDependents(
  target: Target,
  { readable, failed }: CheckedRows,
  { created, dependents }: Resolution,
): void {
  const ids = new Map(created.map(({ row, _id }) => [row, _id]))
  const unmade = new Set(created.filter(({ row }) => failed.has(row)).map(({ _id }) => _id))
  for (const [row, inBatch] of dependents) {
    const lost = inBatch.filter(({ id }) => unmade.has(id))
    if (lost.length === 0) continue
    failed.add(row, ...lost.map(({ field, text }) => nothingToReferTo(field, text)))
    const own = ids.get(row)
    if (own !== undefined) unmade.add(own)
  }
  for (const read of readable) {
    const own = ids.get(read.row)
    if (own !== undefined && unmade.has(own)) rememberMissed(target, read)
  }
}

async function write(
  tx: Queryable,
  { organizationId, type, isSample }: Target,
  created: readonly Created[],
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
