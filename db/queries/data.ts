import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { OvertakenError } from '../failures.ts'
import { type RecordText, recordText, searchText, type UniqueValue, uniqueValues } from '../record-text.ts'
import { dataRecords, type Values } from '../schema/data-records.ts'
import type { Field } from '../schema/flows.ts'
import type { DataType } from './data-types.ts'

/**
 * Data records. Row-level security does not protect them (it would prevent the use of their indexes), and the tenant
 * role has no grant on them: every query takes the organization first; `test/api/data.test.ts` shows that organizations
 * stay separate.
 */
const HIDDEN = ['search'] as const

export type DataRecord = Shown<typeof dataRecords, (typeof HIDDEN)[number]>

export interface NewRecord {
  _id: string
  data: Values
}

/** A unique value that a record could not get, and the record that has it. */
export interface TakenValue {
  recordId: string
  field: string
  takenBy: string
}

export const RECORD_COLUMNS = shownColumns(dataRecords, 'd', HIDDEN)

/** The time in an identifier of version 7, in milliseconds since 1970. */
const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

/** A unique value, and the record that is to have it. */
export interface NewKey extends UniqueValue {
  recordId: string
}

export const newKeys = (fields: readonly Field[], records: readonly NewRecord[]): NewKey[] =>
  records.flatMap(({ _id, data }) => uniqueValues(fields, data).map(unique => ({ ...unique, recordId: _id })))

/**
 * Reserves unique values for records, and returns those that other records have. Two writers of the same value wait for
 * each other; the values are sorted, so that they never deadlock. Throws OvertakenError if a record gave up a value at the
 * moment at which it was taken here.
 */
export async function insertKeys(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  keys: readonly NewKey[],
): Promise<TakenValue[]> {
  if (keys.length === 0) return []
  const sorted = [...keys].sort(
    (a, b) => compare(a.name, b.name) || compare(a.value, b.value) || compare(a.recordId, b.recordId),
  )
  const [inserted] = await tx.query<{ count: number }>(
    `WITH inserted AS (
       INSERT INTO data_keys (organization_id, data_type_id, field, value, record_id)
       SELECT $1, $2, * FROM unnest($3::text[], $4::text[], $5::uuid[]) ON CONFLICT DO NOTHING RETURNING 1)
     SELECT count(*)::int4 AS count FROM inserted`,
    [
      organizationId,
      dataTypeId,
      sorted.map(({ name }) => name),
      sorted.map(({ value }) => value),
      sorted.map(({ recordId }) => recordId),
    ],
  )
  if (inserted?.count === keys.length) return []
  const holders = await listHolders(tx, organizationId, dataTypeId, keys)
  if (holders.length < keys.length) throw new OvertakenError('A unique value was given up meanwhile')
  return holders.filter(isOther)
}

/** The given unique values that other records have. */
export async function listTakenValues(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  keys: readonly NewKey[],
): Promise<TakenValue[]> {
  return keys.length === 0 ? [] : (await listHolders(tx, organizationId, dataTypeId, keys)).filter(isOther)
}

const isOther = ({ recordId, takenBy }: TakenValue) => recordId !== takenBy

/** The records that have these unique values. */
const listHolders = (
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  keys: readonly NewKey[],
): Promise<TakenValue[]> =>
  tx.query(
    `SELECT w.record_id AS "recordId", w.field, k.record_id AS "takenBy"
     FROM unnest($3::text[], $4::text[], $5::uuid[], $6::text[]) AS w(name, value, record_id, field)
     CROSS JOIN LATERAL (SELECT record_id FROM data_keys
       WHERE organization_id = $1 AND data_type_id = $2 AND field = w.name AND value = w.value LIMIT 1) k`,
    [
      organizationId,
      dataTypeId,
      keys.map(({ name }) => name),
      keys.map(({ value }) => value),
      keys.map(({ recordId }) => recordId),
      keys.map(({ field }) => field),
    ],
  )

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Releases the values that a record has in these unique fields. */
async function deleteKeys(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  fields: readonly Field[],
  { _id, data }: NewRecord,
): Promise<void> {
  const given = uniqueValues(fields, data)
  if (given.length === 0) return
  await tx.query(
    `DELETE FROM data_keys k USING unnest($3::text[], $4::text[]) AS w(field, value)
     WHERE k.organization_id = $1 AND k.data_type_id = $2 AND k.field = w.field AND k.value = w.value
       AND k.record_id = $5`,
    [organizationId, dataTypeId, given.map(({ name }) => name), given.map(({ value }) => value), _id],
  )
}

/** New records with identifiers in the given order. */
export const newRecords = (values: readonly Values[]): NewRecord[] =>
  values.map(data => ({ _id: newId(), data }))

/**
 * Creates records of a type that the transaction has locked (`findDataType` FOR SHARE). Returns the unique values that
 * are taken; then the transaction must not commit.
 */
export function insertRecords(
  tx: Queryable,
  organizationId: string,
  { _id: dataTypeId, fields }: Pick<DataType, '_id' | 'fields'>,
  records: readonly NewRecord[],
  isSample = false,
): Promise<TakenValue[]> {
  const texts = records.map(({ _id, data }) => ({ _id, ...recordText(fields, data) }))
  return insertRecordTexts(tx, organizationId, dataTypeId, texts, isSample)
}

/**
 * Separates texts that are sent to the database as one, which saves both sides the quotation of an array: 5 µs a
 * record. JSON escapes this character, and a search text does not contain it.
 */
const SEPARATOR = '\u001f'

/** The same for records that are written as texts already. */
export async function insertRecordTexts(
  tx: Queryable,
  organizationId: string,
  dataTypeId: string,
  records: readonly (RecordText & { _id: string })[],
  isSample = false,
): Promise<TakenValue[]> {
  const keys = records.flatMap(({ _id, unique }) => unique.map(value => ({ ...value, recordId: _id })))
  const taken = await insertKeys(tx, organizationId, dataTypeId, keys)
  if (taken.length > 0) return taken
  const join = (of: (record: RecordText & { _id: string }) => string | number) =>
    records.map(of).join(SEPARATOR)
  await tx.query(
    `INSERT INTO data_records (id, organization_id, data_type_id, data, search, is_sample, created_at, updated_at)
     SELECT id::uuid, $1, $2, data::jsonb, coalesce(search, ''), $3, to_timestamp(at::float8 / 1000), to_timestamp(at::float8 / 1000)
     FROM unnest(string_to_array($4, $8), string_to_array($5, $8), string_to_array($6, $8), string_to_array($7, $8))
       AS r(id, data, search, at)`,
    [
      organizationId,
      dataTypeId,
      isSample,
      join(({ _id }) => _id),
      join(({ data }) => data),
      join(({ search }) => search),
      join(({ _id }) => timeOf(_id)),
      SEPARATOR,
    ],
  )
  return []
}

/** Replaces the values of a record that the transaction has locked. Returns the unique values that are taken. */
export async function updateRecord(
  tx: Queryable,
  organizationId: string,
  type: DataType,
  before: DataRecord,
  data: Values,
): Promise<TakenValue[]> {
  const changed = type.fields.filter(
    ({ key }) => JSON.stringify(before.data[key]) !== JSON.stringify(data[key]),
  )
  await deleteKeys(tx, organizationId, type._id, changed, before)
  const taken = await insertKeys(tx, organizationId, type._id, newKeys(changed, [{ _id: before._id, data }]))
  if (taken.length > 0) return taken
  await tx.query(
    `UPDATE data_records SET data = $3::jsonb, search = $4, updated_at = now()
     WHERE organization_id = $1 AND id = $2`,
    [organizationId, before._id, JSON.stringify(data), searchText(data)],
  )
  return []
}

export async function deleteRecord(
  tx: Queryable,
  organizationId: string,
  type: DataType,
  record: DataRecord,
): Promise<void> {
  await deleteKeys(tx, organizationId, type._id, type.fields, record)
  await tx.query('DELETE FROM data_records WHERE organization_id = $1 AND id = $2', [
    organizationId,
    record._id,
  ])
}

/** A record of the organization, or null. `hold` locks it until the transaction ends. */
export async function findRecord(
  db: Queryable,
  organizationId: string,
  id: string,
  hold: '' | 'FOR UPDATE' = '',
): Promise<DataRecord | null> {
  const [row] = await db.query<DataRecord>(
    `SELECT ${RECORD_COLUMNS} FROM data_records d WHERE d.organization_id = $1 AND d.id = $2 ${hold}`,
    [organizationId, id],
  )
  return row ?? null
}

/** The record that has this unique value, which is entered under a name, or null. */
export async function findRecordByKey(
  db: Queryable,
  organizationId: string,
  dataTypeId: string,
  name: string,
  value: string,
): Promise<DataRecord | null> {
  const [row] = await db.query<DataRecord>(
    `SELECT ${RECORD_COLUMNS} FROM data_keys k JOIN data_records d ON d.id = k.record_id AND d.organization_id = $1
     WHERE k.organization_id = $1 AND k.data_type_id = $2 AND k.field = $3 AND k.value = $4`,
    [organizationId, dataTypeId, name, value],
  )
  return row ?? null
}

/** The values of these records, as far as they exist, under some keys. */
export async function listRecordValues(
  db: Queryable,
  organizationId: string,
  ids: readonly string[],
  keys: readonly string[],
): Promise<Map<string, Values>> {
  const rows = await db.query<{ id: string; values: Values | null }>(
    `SELECT d.id, (SELECT jsonb_object_agg(key, value) FROM jsonb_each(d.data) WHERE key = ANY($3::text[])) AS values
     FROM data_records d WHERE d.organization_id = $1 AND d.id = ANY($2::uuid[])`,
    [organizationId, ids, keys],
  )
  return new Map(rows.map(({ id, values }) => [id, values ?? {}]))
}

/**
 * The existing records among these identifiers, with their types. They are locked against deletion unless the caller
 * only reads.
 */
export async function lockRecords(
  tx: Queryable,
  organizationId: string,
  ids: readonly string[],
  lock: '' | 'FOR KEY SHARE' = 'FOR KEY SHARE',
): Promise<Map<string, string>> {
  const rows = await tx.query<{ id: string; dataTypeId: string }>(
    `SELECT id, data_type_id AS "dataTypeId" FROM data_records
     WHERE organization_id = $1 AND id = ANY($2::uuid[]) ORDER BY id ${lock}`,
    [organizationId, ids],
  )
  return new Map(rows.map(row => [row.id, row.dataTypeId]))
}

/** A page of records to check. */
export interface RecordsAfter {
  /** The identifier of the last checked record. */
  after: string | null
  /** The fields whose values are needed. */
  keys: readonly string[]
  limit: number
  /** Returns fewer than `limit` if their texts and numbers exceed this, but at least one. */
  maxBytes: number
}

/**
 * The records of a type that were not written since a change of the type began (`db/queries/data-type-changes.ts`), in the
 * order of their identifiers, after one of them.
 */
export function listRecordsAfter(
  db: Queryable,
  organizationId: string,
  dataTypeId: string,
  { after, keys, limit, maxBytes }: RecordsAfter,
): Promise<NewRecord[]> {
  return db.query(
    `SELECT id AS "_id",
       coalesce((SELECT jsonb_object_agg(key, value) FROM jsonb_each(data) WHERE key = ANY($3::text[])), '{}') AS data
     FROM (
       SELECT id, data,
         sum(octet_length(search)) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
       FROM (
         SELECT id, data, search FROM data_records
         WHERE organization_id = $1 AND data_type_id = $2 AND ($4::uuid IS NULL OR id > $4)
           AND NOT EXISTS (SELECT FROM data_type_touched t
             WHERE t.organization_id = $1 AND t.data_type_id = $2 AND t.record_id = data_records.id)
         ORDER BY id LIMIT $5
       ) asked
     ) fitting WHERE before IS NULL OR before < $6 ORDER BY id`,
    [organizationId, dataTypeId, keys, after, limit, maxBytes],
  )
}

/** The records that refer to this one by these fields, at most `limit`. */
export async function listReferring(
  db: Queryable,
  organizationId: string,
  recordId: string,
  fields: readonly { dataTypeId: string; key: string }[],
  limit: number,
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `SELECT d.id FROM unnest($3::uuid[], $4::text[]) AS f(type, key) CROSS JOIN LATERAL (
       SELECT id FROM data_records WHERE organization_id = $1 AND data_type_id = f.type
         AND data @> jsonb_build_object(f.key, $2::uuid) AND id <> $2::uuid LIMIT $5) d LIMIT $5`,
    [
      organizationId,
      recordId,
      fields.map(({ dataTypeId }) => dataTypeId),
      fields.map(({ key }) => key),
      limit,
    ],
  )
  return [...new Set(rows.map(({ id }) => id))]
}

/** The sample records of an organization. */
export function listSampleRecords(db: Queryable, organizationId: string): Promise<DataRecord[]> {
  return db.query(
    `SELECT ${RECORD_COLUMNS} FROM data_records d WHERE d.organization_id = $1 AND d.is_sample ORDER BY d.id`,
    [organizationId],
  )
}
