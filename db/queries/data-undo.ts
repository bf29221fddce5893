import type { Queryable } from '../client.ts'
import type { Values } from '../schema/data-records.ts'
import type { NewRecord } from './data.ts'

// Records that an import wrote and that are to be as before. As in db/queries/data.ts, every query takes the
// organization first.

/** A record, and whether nobody has changed it since an import wrote it. */
export interface WrittenRecord extends NewRecord {
  isAsWritten: boolean
}

/**
 * The existing records among these, locked in the order of their identifiers. A created record is as it was written while its
 * times are equal, a changed one while its last change is that of the batch.
 */
export function lockWritten(
  tx: Queryable,
  organizationId: string,
  ids: readonly string[],
  changedAt: string | null,
): Promise<WrittenRecord[]> {
  return tx.query(
    `SELECT id AS "_id", data, updated_at = coalesce($3::timestamptz, created_at) AS "isAsWritten"
     FROM data_records WHERE organization_id = $1 AND id = ANY($2::uuid[]) ORDER BY id FOR UPDATE`,
    [organizationId, ids, changedAt],
  )
}

/** The records among these that another record refers to by one of these fields. */
export async function listReferredByOthers(
  tx: Queryable,
  organizationId: string,
  ids: readonly string[],
  fields: readonly { dataTypeId: string; key: string }[],
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `SELECT DISTINCT r.id FROM unnest($3::uuid[], $4::text[]) AS f(type, key) CROSS JOIN unnest($2::uuid[]) AS r(id)
     CROSS JOIN LATERAL (SELECT FROM data_records
       WHERE organization_id = $1 AND data_type_id = f.type AND data @> jsonb_build_object(f.key, r.id)
         AND id <> ALL($2::uuid[]) LIMIT 1) d`,
    [organizationId, ids, fields.map(({ dataTypeId }) => dataTypeId), fields.map(({ key }) => key)],
  )
  return rows.map(({ id }) => id)
}

/** Deletes records that the transaction has locked, with the unique values that they have. */
export async function deleteRecords(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  keys: readonly { name: string; value: string; recordId: string }[],
  ids: readonly string[],
): Promise<void> {
  await tx.query(
    `DELETE FROM data_keys k USING unnest($3::text[], $4::text[], $5::uuid[]) AS w(field, value, record_id)
     WHERE k.organization_id = $1 AND k.data_type_id = $2 AND k.field = w.field AND k.value = w.value
       AND k.record_id = w.record_id`,
    [
      organizationId,
      dataTypeId,
      keys.map(({ name }) => name),
      keys.map(({ value }) => value),
      keys.map(({ recordId }) => recordId),
    ],
  )
  await tx.query('DELETE FROM data_records WHERE organization_id = $1 AND id = ANY($2::uuid[])', [
    organizationId,
    ids,
  ])
}

/** The values of fields that a type has. */
export const knownValues = (data: Values, fields: readonly { key: string }[]): Values =>
  Object.fromEntries(fields.flatMap(({ key }) => (Object.hasOwn(data, key) ? [[key, data[key]]] : [])))
