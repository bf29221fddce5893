import type { Queryable } from '../client.ts'
import { searchText, type UniqueValue, uniqueValues } from '../record-text.ts'
import type { Values } from '../schema/data-records.ts'
import type { Field } from '../schema/flows.ts'
import { insertKeys, type NewKey, type NewRecord, newKeys, type TakenValue } from './data.ts'
import type { DataType } from './data-types.ts'

// Many records in few statements, for imports. Like db/queries/data.ts every query takes the organization first.

/** The records that have these values of a unique field, by the value; held until the transaction ends where they are to change. */
export async function findRecordsByKey(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  field: Field,
  values: readonly string[],
  hold: '' | 'FOR UPDATE OF d' = '',
): Promise<Map<string, NewRecord>> {
  const rows = await tx.query<NewRecord & { value: string }>(
    `SELECT k.value, d.id AS "_id", d.data FROM data_keys k
     JOIN data_records d ON d.organization_id = $1 AND d.id = k.record_id
     WHERE k.organization_id = $1 AND k.data_type_id = $2 AND k.field = $3 AND k.value = ANY($4::text[])
     ORDER BY d.id ${hold}`,
    [organizationId, dataTypeId, field.key, values],
  )
  return new Map(rows.map(({ value, _id, data }) => [value, { _id, data }]))
}

/** The records that have these values of a unique field, held against deletion: their identifiers by the value. */
export async function lockRecordsByKey(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  field: string,
  values: readonly string[],
): Promise<Map<string, string>> {
  const rows = await tx.query<{ value: string; id: string }>(
    `SELECT k.value, d.id FROM data_keys k JOIN data_records d ON d.organization_id = $1 AND d.id = k.record_id
     WHERE k.organization_id = $1 AND k.data_type_id = $2 AND k.field = $3 AND k.value = ANY($4::text[])
     ORDER BY d.id FOR KEY SHARE OF d`,
    [organizationId, dataTypeId, field, values],
  )
  return new Map(rows.map(({ value, id }) => [value, id]))
}

/** A record that the transaction holds, and its values afterwards. */
export interface RecordChange {
  _id: string
  before: Values
  data: Values
}

/** Replaces the values of records. Returns the unique values that are taken; then the transaction must not commit. */
export async function updateRecords(
  tx: Queryable,
  organizationId: string,
  type: Pick<DataType, '_id' | 'fields'>,
  changes: readonly RecordChange[],
): Promise<TakenValue[]> {
  if (changes.length === 0) return []
  const leaving: UniqueValue[] = []
  const coming: NewKey[] = []
  for (const { _id, before, data } of changes) {
    const moved = type.fields.filter(
      field => field.unique && JSON.stringify(before[field.key]) !== JSON.stringify(data[field.key]),
    )
    leaving.push(...uniqueValues(moved, before))
    coming.push(...newKeys(moved, [{ _id, data }]))
  }
  if (leaving.length > 0) {
    await tx.query(
      `DELETE FROM data_keys k USING unnest($3::text[], $4::text[]) AS w(field, value)
       WHERE k.organization_id = $1 AND k.data_type_id = $2 AND k.field = w.field AND k.value = w.value`,
      [organizationId, type._id, leaving.map(({ field }) => field), leaving.map(({ value }) => value)],
    )
  }
  const taken = await insertKeys(tx, organizationId, type._id, coming)
  if (taken.length > 0) return taken
  const sorted = [...changes].sort((a, b) => (a._id < b._id ? -1 : 1))
  await tx.query(
    `UPDATE data_records d SET data = c.data::jsonb, search = c.search, updated_at = now()
     FROM unnest($2::uuid[], $3::text[], $4::text[]) AS c(id, data, search)
     WHERE d.organization_id = $1 AND d.id = c.id`,
    [
      organizationId,
      sorted.map(({ _id }) => _id),
      sorted.map(({ data }) => JSON.stringify(data)),
      sorted.map(({ data }) => searchText(data)),
    ],
  )
  return []
}
