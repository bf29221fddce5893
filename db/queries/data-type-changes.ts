import { newId, type Queryable } from '../client.ts'
import { uniqueValues } from '../record-text.ts'
import type { Values } from '../schema/data-records.ts'
import type { Field } from '../schema/flows.ts'

/** A change of a data type whose records are checked in steps. Every query takes the organization first. */
export interface TypeChange {
  organizationId: string
  dataTypeId: string
  id: string
  /** The fields whose rules change. */
  keys: readonly string[]
}

/** A record that was written since the change began, with its values before and now; null if it was deleted. */
export interface Touched {
  _id: string
  before: Values
  data: Values | null
}

/**
 * Notes written records from now on. The transaction holds the type FOR UPDATE, so all earlier writes are committed.
 * Ends another change of the type that is in progress.
 */
export async function beginTypeChange(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  keys: readonly string[],
): Promise<TypeChange> {
  const change = { organizationId, dataTypeId, id: newId(), keys }
  await deleteAllTouched(tx, organizationId, dataTypeId)
  await tx.query(
    `INSERT INTO data_type_changes (organization_id, data_type_id, id, keys) VALUES ($1, $2, $3, $4)
     ON CONFLICT (organization_id, data_type_id) DO UPDATE SET id = excluded.id, keys = excluded.keys, stepped_at = now()`,
    [organizationId, dataTypeId, change.id, keys],
  )
  return change
}

/** Locks the change until the transaction ends. Returns false if another change has replaced it, or it was pruned. */
export async function holdTypeChange(tx: Queryable, change: TypeChange): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE data_type_changes SET stepped_at = now()
     WHERE organization_id = $1 AND data_type_id = $2 AND id = $3 RETURNING 1`,
    [change.organizationId, change.dataTypeId, change.id],
  )
  return rows.length > 0
}

/** Stops noting records, and deletes the notes. */
export async function deleteTypeChange(
  tx: Queryable,
  { organizationId, dataTypeId, id }: TypeChange,
): Promise<void> {
  const rows = await tx.query(
    'DELETE FROM data_type_changes WHERE organization_id = $1 AND data_type_id = $2 AND id = $3 RETURNING 1',
    [organizationId, dataTypeId, id],
  )
  if (rows.length > 0) await deleteAllTouched(tx, organizationId, dataTypeId)
}

async function deleteAllTouched(tx: Queryable, organizationId: string, dataTypeId: string): Promise<void> {
  await tx.query('DELETE FROM data_type_touched WHERE organization_id = $1 AND data_type_id = $2', [
    organizationId,
    dataTypeId,
  ])
}

/** The fields whose rules are being changed. They may become references. */
export function listChangingFields(
  db: Queryable,
  organizationId: string,
): Promise<{ dataTypeId: string; key: string }[]> {
  return db.query(
    `SELECT data_type_id AS "dataTypeId", unnest(keys) AS key FROM data_type_changes WHERE organization_id = $1`,
    [organizationId],
  )
}

export async function hasTypeChange(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
): Promise<boolean> {
  const rows = await tx.query(
    'SELECT 1 FROM data_type_changes WHERE organization_id = $1 AND data_type_id = $2',
    [organizationId, dataTypeId],
  )
  return rows.length > 0
}

/**
 * Deletes changes whose process ended between two steps. They have no effect, and records are no longer noted for them.
 */
export async function pruneTypeChanges(db: Queryable): Promise<void> {
  await db.query(`DELETE FROM data_type_changes WHERE stepped_at < now() - interval '10 minutes'`)
}

export function listTouched(
  tx: Queryable,
  { organizationId, dataTypeId, keys }: TypeChange,
  after: string | null,
  limit: number,
): Promise<Touched[]> {
  return tx.query(
    `SELECT t.record_id AS "_id", t.before,
       CASE WHEN d.id IS NOT NULL THEN
         coalesce((SELECT jsonb_object_agg(key, value) FROM jsonb_each(d.data) WHERE key = ANY($3::text[])), '{}')
       END AS data
     FROM data_type_touched t
     LEFT JOIN data_records d ON d.organization_id = $1 AND d.id = t.record_id
     WHERE t.organization_id = $1 AND t.data_type_id = $2 AND ($4::uuid IS NULL OR t.record_id > $4)
     ORDER BY t.record_id LIMIT $5`,
    [organizationId, dataTypeId, keys, after, limit],
  )
}

/** Removes the notes of records that comply with the change, until they are written again. */
export async function deleteTouched(
  tx: Queryable,
  { organizationId, dataTypeId }: TypeChange,
  ids: readonly string[],
): Promise<void> {
  await tx.query(
    `DELETE FROM data_type_touched WHERE organization_id = $1 AND data_type_id = $2 AND record_id = ANY($3::uuid[])`,
    [organizationId, dataTypeId, ids],
  )
}

/** Deletes the unique values that records had before they were written. */
export async function deleteKeysBefore(
  tx: Queryable,
  { organizationId, dataTypeId }: TypeChange,
  fields: readonly Field[],
  touched: readonly Touched[],
): Promise<void> {
  const keys = touched.flatMap(({ _id, before }) =>
    uniqueValues(fields, before).map(({ name, value }) => ({ _id, name, value })),
  )
  if (keys.length === 0) return
  await tx.query(
    `DELETE FROM data_keys k USING unnest($3::text[], $4::text[], $5::uuid[]) AS w(field, value, record_id)
     WHERE k.organization_id = $1 AND k.data_type_id = $2 AND k.field = w.field AND k.value = w.value
       AND k.record_id = w.record_id`,
    [
      organizationId,
      dataTypeId,
      keys.map(({ name }) => name),
      keys.map(({ value }) => value),
      keys.map(({ _id }) => _id),
    ],
  )
}

/** Deletes some of the unique values with this `uniqueName`. Returns their number. */
export async function deleteSomeKeys(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  field: string,
  limit: number,
): Promise<number> {
  const rows = await tx.query(
    `DELETE FROM data_keys WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM data_keys WHERE organization_id = $1 AND data_type_id = $2 AND field = $3 LIMIT $4))
     RETURNING 1`,
    [organizationId, dataTypeId, field, limit],
  )
  return rows.length
}
