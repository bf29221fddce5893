import { notify, type Queryable } from '../client.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'

export const IMPORT_STATUSES = [
  'queued',
  'processing',
  'completed',
  'completed_with_errors',
  'failed',
  'cancelled',
] as const
export const IMPORT_MODES = ['create', 'upsert'] as const
export const IMPORT_FORMATS = ['csv', 'json', 'xlsx'] as const

export type ImportFormat = (typeof IMPORT_FORMATS)[number]
/** The heading of a column by the key of the field that it goes to. */
export type Mapping = { [key: string]: string }

/** What is wrong with a value, or with a whole row where it names no field. `value` is as it stands in the file. */
export interface RowError {
  field: string | null
  value: string | null
  message: string
}

export interface Import {
  _id: string
  userId: string
  status: (typeof IMPORT_STATUSES)[number]
  fileName: string
  format: ImportFormat
  dataTypeId: string
  dataTypeName: string
  mode: (typeof IMPORT_MODES)[number]
  dryRun: boolean
  mapping: Mapping
  total: number | null
  processed: number
  created: number
  updated: number
  unchanged: number
  failed: number
  progress: number
  error: string | null
  failures: (RowError & { row: number })[]
  createdAt: Date
  updatedAt: Date
  startedAt: Date | null
  finishedAt: Date | null
}

const COLUMNS = `i.id AS "_id", i.user_id AS "userId", i.status, i.file_name AS "fileName", i.format,
  i.data_type_id AS "dataTypeId", i.data_type_name AS "dataTypeName", i.mode, i.dry_run AS "dryRun", i.mapping, i.total,
  i.processed, i.created, i.updated, i.unchanged, i.failed, i.progress, i.error, i.failures, i.created_at AS "createdAt",
  i.updated_at AS "updatedAt", i.started_at AS "startedAt", i.finished_at AS "finishedAt"`

export const IMPORT_SORTS = { createdAt: { sql: 'i.id', type: 'uuid' } } as const

/** The imports into these types; null is any. */
export function listImports(
  tx: Queryable,
  dataTypeIds: readonly string[] | null,
  filter: { status?: string | undefined; dataTypeId?: string | undefined; dryRun?: boolean | undefined },
  page: PageRequest,
): Promise<Page<Import>> {
  const { where, values, add } = conditions()
  if (dataTypeIds) add('i.data_type_id = ANY(?::uuid[])', dataTypeIds)
  if (filter.status !== undefined) add('i.status = ?', filter.status)
  if (filter.dataTypeId !== undefined) add('i.data_type_id::text = ?', filter.dataTypeId.toLowerCase())
  if (filter.dryRun !== undefined) add('i.dry_run = ?', filter.dryRun)
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: 'imports i',
      where,
      values,
      bytes: storedBytes('i.failures', 'i.mapping'),
      id: 'i.id',
      sorts: IMPORT_SORTS,
      search: ['i.file_name'],
    },
    page,
  )
}

/** An import of the organization, or null. `hold` keeps it from changing until the transaction ends. */
export async function findImport(
  tx: Queryable,
  id: string,
  hold: '' | 'FOR UPDATE' = '',
): Promise<Import | null> {
  const [row] = await tx.query<Import>(`SELECT ${COLUMNS} FROM imports i WHERE i.id = $1 ${hold}`, [id])
  return row ?? null
}

export function listImportsById(tx: Queryable, ids: readonly string[]): Promise<Import[]> {
  return tx.query(`SELECT ${COLUMNS} FROM imports i WHERE i.id = ANY($1::uuid[])`, [ids])
}

/** Whoever watches is told when the transaction commits. */
const tell = (tx: Queryable, organizationId: string, recordId: string) =>
  notify(tx, { kind: 'record', topic: 'imports', organizationId, recordId })

/** Ends an import that has not ended. Without a status it is complete. */
export async function endImport(
  tx: Queryable,
  organizationId: string,
  id: string,
  end: { status: 'failed' | 'cancelled'; error?: string | null } | { status: 'completed' },
): Promise<void> {
  const done = end.status === 'completed'
  await tx.query(
    `UPDATE imports SET finished_at = now(), updated_at = now(), error = $3,
       status = CASE WHEN $2 <> 'completed' THEN $2 WHEN failed > 0 THEN 'completed_with_errors' ELSE $2 END,
       progress = CASE WHEN $4 THEN 1 ELSE progress END, total = CASE WHEN $4 THEN processed ELSE total END
     WHERE id = $1 AND status IN ('queued', 'processing')`,
    [id, end.status, 'error' in end ? (end.error ?? null) : null, done],
  )
  await tell(tx, organizationId, id)
}

/** Removes imports that are older than 30 days (specification 2.3); their failures go with them. */
export async function pruneImports(db: Queryable): Promise<void> {
  await db.query(
    `DELETE FROM imports WHERE id IN (
       SELECT id FROM imports WHERE created_at < now() - interval '30 days'
         AND status NOT IN ('queued', 'processing') ORDER BY created_at LIMIT 100)`,
  )
}
