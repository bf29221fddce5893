import { and, eq, sql } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { dataTypes } from '../schema/data-types.ts'
import { type Page, type PageRequest, readPage, storedBytes } from './page.ts'

export type DataType = Shown<typeof dataTypes>

export type NewDataType = Pick<DataType, 'name' | 'type' | 'primaryKey' | 'fields'>

const COLUMNS = shownColumns(dataTypes, 't')

export const DATA_TYPE_SORTS = {
  name: { sql: 'lower(t.name)', type: 'text' },
  createdAt: { sql: 't.created_at', type: 'timestamptz' },
} as const

// Records are read and written across organizations (db.system), and sometimes these queries run there too, so each
// takes the organization.

export function listDataTypes(
  db: Queryable,
  organizationId: string,
  page: PageRequest,
): Promise<Page<DataType>> {
  return readPage(
    db,
    {
      columns: COLUMNS,
      from: 'data_types t',
      where: ['t.organization_id = $1'],
      values: [organizationId],
      bytes: storedBytes('t.fields'),
      id: 't.id',
      sorts: DATA_TYPE_SORTS,
      search: ['t.name'],
    },
    page,
  )
}

/** Those of these data types that exist in the organization; all of them without identifiers. */
export function listDataTypesById(
  db: Queryable,
  organizationId: string,
  ids?: readonly string[],
): Promise<DataType[]> {
  return db.query(
    `SELECT ${COLUMNS} FROM data_types t
     WHERE t.organization_id = $1 AND ($2::uuid[] IS NULL OR t.id = ANY($2)) ORDER BY t.id`,
    [organizationId, ids ?? null],
  )
}

/**
 * The keys of the fields of these data types, if they exist in the organization. The other properties of fields are not
 * read.
 */
export function listFieldKeys(
  db: Queryable,
  organizationId: string,
  ids: readonly string[],
): Promise<{ _id: string; keys: string[] }[]> {
  return db.query(
    `SELECT t.id AS _id, jsonb_path_query_array(t.fields, '$[*].key') AS keys FROM data_types t
     WHERE t.organization_id = $1 AND t.id = ANY($2::uuid[])`,
    [organizationId, ids],
  )
}

/**
 * The lock on the type until the transaction ends: `share` against changes to it, `update` against writing records too.
 */
type Hold = '' | 'FOR SHARE' | 'FOR UPDATE'

/** A data type of the organization by its identifier or its name, or null. */
export async function findDataType(
  db: Queryable,
  organizationId: string,
  which: { dataTypeId: string } | { dataTypeName: string },
  hold: Hold = '',
): Promise<DataType | null> {
  const [column, value] =
    'dataTypeId' in which ? ['t.id = $2::uuid', which.dataTypeId] : ['t.name = $2', which.dataTypeName]
  const [row] = await db.query<DataType>(
    `SELECT ${COLUMNS} FROM data_types t WHERE t.organization_id = $1 AND ${column} ${hold}`,
    [organizationId, value],
  )
  return row ?? null
}

export async function insertDataType(
  tx: Queryable,
  organizationId: string,
  dataType: NewDataType & { isSample?: boolean },
): Promise<string> {
  const id = newId()
  await tx.orm.insert(dataTypes).values({ id, organizationId, ...dataType })
  return id
}

export async function updateDataType(
  tx: Queryable,
  organizationId: string,
  id: string,
  dataType: NewDataType,
): Promise<void> {
  const { name, type, primaryKey, fields } = dataType
  await tx.orm
    .update(dataTypes)
    .set({ name, type, primaryKey, fields, updatedAt: sql`now()` })
    .where(and(eq(dataTypes.organizationId, organizationId), eq(dataTypes.id, id)))
}

/** Deletes a data type. Violates a foreign key (class 23) while records of it exist. */
export async function deleteDataType(tx: Queryable, organizationId: string, id: string): Promise<void> {
  await tx.orm
    .delete(dataTypes)
    .where(and(eq(dataTypes.organizationId, organizationId), eq(dataTypes.id, id)))
}

/** The name of a flow or another data type that refers to this one, or null. */
export async function findUserOfDataType(
  tx: Queryable,
  organizationId: string,
  id: string,
): Promise<string | null> {
  const [row] = await tx.query<{ name: string }>(
    `SELECT name FROM data_types
     WHERE organization_id = $1 AND id <> $2 AND fields @> jsonb_build_array(jsonb_build_object('dataTypeId', $2::text))
     UNION ALL
     SELECT name FROM flows WHERE organization_id = $1 AND (data_type_id = $2 OR
       steps @> jsonb_build_array(jsonb_build_object('fields', jsonb_build_array(jsonb_build_object('dataTypeId', $2::text)))))
     LIMIT 1`,
    [organizationId, id],
  )
  return row?.name ?? null
}

/** Deletes the sample types that have no records and no references. */
export async function deleteEmptySampleTypes(tx: Queryable, organizationId: string): Promise<void> {
  await tx.query(
    `DELETE FROM data_types t WHERE t.organization_id = $1 AND t.is_sample
       AND NOT EXISTS (SELECT FROM data_records d WHERE d.organization_id = $1 AND d.data_type_id = t.id)
       AND NOT EXISTS (SELECT FROM flows f WHERE f.organization_id = $1 AND f.data_type_id = t.id)
       AND NOT EXISTS (SELECT FROM data_types o WHERE o.organization_id = $1 AND o.id <> t.id
         AND o.fields @> jsonb_build_array(jsonb_build_object('dataTypeId', t.id::text)))`,
    [organizationId],
  )
}
