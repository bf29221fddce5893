import type { Queryable } from '../client.ts'
import { searchText } from '../record-text.ts'
import type { Values } from '../schema/data-records.ts'
import type { Field } from '../schema/flows.ts'
import { uniqueName } from '../unique-value.ts'
import { insertKeys, type NewKey, type NewRecord, newKeys, type TakenValue } from './data.ts'
import type { DataType } from './data-types.ts'

// Handles many records in few statements, for imports. As in db/queries/data.ts, every query takes the organization
// first.

/**
 * The keys of the values $4, in the order of their records, so that records are locked in that order. Each value is
 * looked up by itself: while the statistics do not know the organization yet, a join compared every record of it with
 * every value.
 */
const FOUND_KEYS = `(
  SELECT w.value, w.place, k.record_id FROM unnest($4::text[]) WITH ORDINALITY AS w(value, place)
  CROSS JOIN LATERAL (SELECT record_id FROM data_keys
    WHERE organization_id = $1 AND data_type_id = $2 AND field = $3 AND value = w.value LIMIT 1) k
  ORDER BY k.record_id) k`

/**
 * The records that have these values of a unique field, by the value; locked until the transaction ends if they are to
 * change. In the order of the values, those beyond `maxBytes` of text are null; the first one never is.
 */
export async function findRecordsByKey(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  field: Field,
  values: readonly string[],
  { hold, maxBytes }: { hold: '' | 'FOR UPDATE OF d'; maxBytes: number },
): Promise<Map<string, NewRecord | null>> {
  // The length of a text is known without unpacking it.
  const rows = await tx.query<Omit<NewRecord, 'data'> & { value: string; data: Values | null }>(
    `SELECT value, "_id", CASE WHEN before IS NULL OR before + bytes <= $5::int4 THEN data END AS data FROM (
       SELECT k.value, d.id AS "_id", d.data, d.bytes, sum(d.bytes) OVER (
         ORDER BY k.place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
       FROM ${FOUND_KEYS} CROSS JOIN LATERAL (SELECT id, data, octet_length(search) AS bytes FROM data_records d
         WHERE d.organization_id = $1 AND d.id = k.record_id LIMIT 1 ${hold}) d) found`,
    [organizationId, dataTypeId, uniqueName(field), values, maxBytes],
  )
  return new Map(rows.map(({ value, _id, data }) => [value, data && { _id, data }]))
}

/** The identifiers of the records that have these values of a unique field, by the value; locked against deletion. */
export async function lockRecordsByKey(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  field: Field,
  values: readonly string[],
): Promise<Map<string, string>> {
  const rows = await tx.query<{ value: string; id: string }>(
    `SELECT k.value, d.id FROM ${FOUND_KEYS}
     CROSS JOIN LATERAL (SELECT id FROM data_records d
       WHERE d.organization_id = $1 AND d.id = k.record_id LIMIT 1 FOR KEY SHARE OF d) d`,
    [organizationId, dataTypeId, uniqueName(field), values],
  )
  return new Map(rows.map(({ value, id }) => [value, id]))
}

/** A record that the transaction has locked, and its new values. */
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
  const leaving: NewKey[] = []
  const coming: NewKey[] = []
  for (const { _id, before, data } of changes) {
    const moved = type.fields.filter(
      field => field.unique && JSON.stringify(before[field.key]) !== JSON.stringify(data[field.key]),
    )
    leaving.push(...newKeys(moved, [{ _id, data: before }]))
    coming.push(...newKeys(moved, [{ _id, data }]))
  }
  if (leaving.length > 0) {
    await tx.query(
      `DELETE FROM data_keys WHERE ctid = ANY (ARRAY(
         SELECT k.ctid FROM unnest($3::text[], $4::text[], $5::uuid[]) AS w(field, value, record_id)
         CROSS JOIN LATERAL (SELECT ctid FROM data_keys
           WHERE organization_id = $1 AND data_type_id = $2 AND field = w.field AND value = w.value
             AND data_keys.record_id = w.record_id LIMIT 1 FOR UPDATE) k))`,
      [
        organizationId,
        type._id,
        leaving.map(({ name }) => name),
        leaving.map(({ value }) => value),
        leaving.map(({ recordId }) => recordId),
      ],
    )
  }
  const taken = await insertKeys(tx, organizationId, type._id, coming)
  if (taken.length > 0) return taken
  const sorted = [...changes].sort((a, b) => (a._id < b._id ? -1 : 1))
  // All of the records exist. The index finds the conflict, whatever the statistics know: see FOUND_KEYS.
  await tx.query(
    `INSERT INTO data_records (organization_id, data_type_id, id, data, search)
     SELECT $1, $2, id, data::jsonb, search FROM unnest($3::uuid[], $4::text[], $5::text[]) AS c(id, data, search)
     ON CONFLICT (organization_id, id) DO UPDATE
     SET data = excluded.data, search = excluded.search, updated_at = now()`,
    [
      organizationId,
      type._id,
      sorted.map(({ _id }) => _id),
      sorted.map(({ data }) => JSON.stringify(data)),
      sorted.map(({ data }) => searchText(data)),
    ],
  )
  return []
}
