import { eq } from 'drizzle-orm'
import { newId, type Queryable } from '../client.ts'
import { type Shown, shownColumns } from '../columns.ts'
import { importConfigs } from '../schema/import-configs.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'

export type ImportConfig = Shown<typeof importConfigs>
export type NewImportConfig = Pick<ImportConfig, 'name' | 'dataTypeId' | 'mapping' | 'writtenFor'>

const COLUMNS = shownColumns(importConfigs, 'c')

export const IMPORT_CONFIG_SORTS = {
  name: { sql: 'lower(c.name)', type: 'text' },
  createdAt: { sql: 'c.created_at', type: 'timestamptz' },
} as const

export function listImportConfigs(
  tx: Queryable,
  { dataTypeId }: { dataTypeId?: string | undefined },
  page: PageRequest,
): Promise<Page<ImportConfig>> {
  const { where, values, add } = conditions()
  if (dataTypeId !== undefined) add('c.data_type_id::text = ?', dataTypeId.toLowerCase())
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: 'import_configs c',
      where,
      values,
      bytes: storedBytes('c.mapping', 'c.written_for'),
      id: 'c.id',
      sorts: IMPORT_CONFIG_SORTS,
      search: ['c.name'],
    },
    page,
  )
}

/** An import config of the organization, or null. */
export async function findImportConfig(tx: Queryable, id: string): Promise<ImportConfig | null> {
  const [row] = await tx.query<ImportConfig>(`SELECT ${COLUMNS} FROM import_configs c WHERE c.id = $1`, [id])
  return row ?? null
}

export async function insertImportConfig(
  tx: Queryable,
  organizationId: string,
  config: NewImportConfig,
): Promise<string> {
  const id = newId()
  await tx.orm.insert(importConfigs).values({ id, organizationId, ...config })
  return id
}

/** Changes a config, and returns it; null if it was deleted. */
export async function updateImportConfig(
  tx: Queryable,
  id: string,
  { name, dataTypeId, mapping, writtenFor }: NewImportConfig,
): Promise<ImportConfig | null> {
  const [row] = await tx.query<ImportConfig>(
    `UPDATE import_configs c SET name = $2, data_type_id = $3, mapping = $4::jsonb, written_for = $5::jsonb,
       updated_at = now() WHERE c.id = $1 RETURNING ${COLUMNS}`,
    [id, name, dataTypeId, JSON.stringify(mapping), JSON.stringify(writtenFor)],
  )
  return row ?? null
}

export async function deleteImportConfig(tx: Queryable, id: string): Promise<void> {
  await tx.orm.delete(importConfigs).where(eq(importConfigs.id, id))
}
