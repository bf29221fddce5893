import { notify, type Queryable } from '../client.ts'
import type { Undo } from './import-steps.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'
import { deleteSome } from './prune.ts'
import { ROOT } from './root.ts'

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
/** Headings by the keys of fields; for a place, those of its latitude, its longitude and optionally its address. */
export type Mapping = { [key: string]: string | string[] }

/** An error of a value, or of a whole row if it names no field. `value` is the original text in the file. */
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
  /** Whether the line that declares the delimiter counts in row numbers, as before 0071. */
  countsSep: boolean
  /**
   * The primary key of its type when the file was accepted; null for no key, and for imports before this was stored.
   */
  primaryKey: string | null
  total: number | null
  processed: number
  created: number
  updated: number
  unchanged: number
  failed: number
  progress: number
  error: string | null
  failures: (RowError & { row: number })[]
  /** Whether its records are samples. */
  isSample: boolean
  /** Whether batches of it are left that can be undone. */
  isRemembered: boolean
  undo: Undo | null
  createdAt: Date
  updatedAt: Date
  startedAt: Date | null
  finishedAt: Date | null
}

const COLUMNS = `i.id AS "_id", i.user_id AS "userId", i.status, i.file_name AS "fileName", i.format,
  i.data_type_id AS "dataTypeId", i.data_type_name AS "dataTypeName", i.mode, i.dry_run AS "dryRun", i.mapping,
  i.counts_sep AS "countsSep", i.primary_key AS "primaryKey", i.total,
  i.processed, i.created, i.updated, i.unchanged, i.failed, i.progress, i.error, i.failures, i.is_sample AS "isSample",
  EXISTS (SELECT FROM import_steps s WHERE s.organization_id = i.organization_id AND s.import_id = i.id) AS "isRemembered", i.undo,
  i.created_at AS "createdAt",
  i.updated_at AS "updatedAt", i.started_at AS "startedAt", i.finished_at AS "finishedAt"`

/** 30 days (specification 2.3), whenever they are deleted; an import in progress stays. */
const ALIVE = `(i.created_at > now() - interval '30 days' OR i.status IN ('queued', 'processing'))`

/** Its rows are still to be read, or failed and can be downloaded as a file. */
const NEEDS_FILE = `(i.status IN ('queued', 'processing') OR i.failed > 0)`

export const IMPORT_SORTS = { createdAt: { sql: 'i.id', type: 'uuid' } } as const

/** The maximum of failures in the record itself (contract section 5). */
const SHOWN_FAILURES = 1_000

/** The imports into these types; null means any type. */
export function listImports(
  tx: Queryable,
  dataTypeIds: readonly string[] | null,
  filter: { status?: string | undefined; dataTypeId?: string | undefined; dryRun?: boolean | undefined },
  page: PageRequest,
): Promise<Page<Import>> {
  const { where, values, add } = conditions()
  where.push(ALIVE)
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

/** An import of the organization, or null. `hold` locks it until the transaction ends. */
export async function findImport(
  tx: Queryable,
  id: string,
  hold: '' | 'FOR UPDATE' = '',
): Promise<Import | null> {
  const [row] = await tx.query<Import>(
    `SELECT ${COLUMNS} FROM imports i WHERE i.id = $1 AND ${ALIVE} ${hold}`,
    [id],
  )
  return row ?? null
}

/** Waiting and running imports, and the bytes of stored files. */
export interface ImportRoom {
  unfinished: number
  fileBytes: number
}

/**
 * The waiting and running imports of an organization, and the bytes of files of its whole root (fair/roots.ts); and both
 * for an account in all its organizations. Across organizations.
 */
export async function measureImports(
  tx: Queryable,
  { organizationId, accountId }: { organizationId: string; accountId: string },
): Promise<{ ofAll: ImportRoom; own: ImportRoom }> {
  const unfinished = `i.status IN ('queued', 'processing')`
  const [ofAll] = await tx.query<ImportRoom>(
    `SELECT count(*) FILTER (WHERE ${unfinished} AND i.organization_id = $1)::int4 AS unfinished,
       coalesce(sum(i.file_bytes), 0)::float8 AS "fileBytes"
     FROM organizations o JOIN imports i ON i.organization_id = o.id
     WHERE ${ROOT} = (SELECT ${ROOT} FROM organizations o WHERE o.id = $1) AND ${NEEDS_FILE} AND ${ALIVE}`,
    [organizationId],
  )
  const [own] = await tx.query<ImportRoom>(
    `SELECT count(*) FILTER (WHERE ${unfinished})::int4 AS unfinished, coalesce(sum(i.file_bytes), 0)::float8 AS "fileBytes"
     FROM users u JOIN imports i ON i.organization_id = u.organization_id AND i.user_id = u.id
     WHERE coalesce(u.account_id, u.id) = $1 AND ${NEEDS_FILE} AND ${ALIVE}`,
    [accountId],
  )
  return { ofAll: ofAll as ImportRoom, own: own as ImportRoom }
}

export function listImportsById(tx: Queryable, ids: readonly string[]): Promise<Import[]> {
  return tx.query(`SELECT ${COLUMNS} FROM imports i WHERE i.id = ANY($1::uuid[]) AND ${ALIVE}`, [ids])
}

export type NewImport = Pick<
  Import,
  | '_id'
  | 'userId'
  | 'fileName'
  | 'format'
  | 'dataTypeId'
  | 'dataTypeName'
  | 'mode'
  | 'dryRun'
  | 'mapping'
  | 'primaryKey'
> & { fileBytes: number; isSample?: boolean }

export async function insertImport(tx: Queryable, organizationId: string, given: NewImport): Promise<void> {
  await tx.query(
    `INSERT INTO imports (id, organization_id, user_id, file_name, format, data_type_id, data_type_name, mode, dry_run,
       mapping, primary_key, file_bytes, is_sample)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb, $11, $12, $13)`,
    [
      given._id,
      organizationId,
      given.userId,
      given.fileName,
      given.format,
      given.dataTypeId,
      given.dataTypeName,
      given.mode,
      given.dryRun,
      JSON.stringify(given.mapping),
      given.primaryKey,
      given.fileBytes,
      given.isSample ?? false,
    ],
  )
  await notifyWatchers(tx, organizationId, given._id)
}

/** Notifies watchers when the transaction commits. */
const notifyWatchers = (tx: Queryable, organizationId: string, recordId: string) =>
  notify(tx, { kind: 'record', topic: 'imports', organizationId, recordId })

/** Marks the import as running. Returns false if it has ended. */
export async function beginImport(tx: Queryable, organizationId: string, id: string): Promise<boolean> {
  const rows = await tx.query(
    `UPDATE imports SET status = 'processing', started_at = coalesce(started_at, now()), updated_at = now(),
       counts_sep = counts_sep AND started_at IS NOT NULL
     WHERE id = $1 AND status IN ('queued', 'processing') RETURNING id`,
    [id],
  )
  await notifyWatchers(tx, organizationId, id)
  return rows.length > 0
}

/** The result of some rows. */
export interface ImportStep {
  processed: number
  created: number
  updated: number
  unchanged: number
  /** The failed rows, each with its errors. */
  failed: { row: number; errors: RowError[] }[]
  progress: number
}

/** Counts rows. Returns false if the import has ended: then the transaction must not commit. */
export async function advanceImport(
  tx: Queryable,
  organizationId: string,
  id: string,
  { failed, ...step }: ImportStep,
): Promise<boolean> {
  const shown: Import['failures'] = []
  for (const { row, errors } of failed) {
    if (shown.length >= SHOWN_FAILURES) break
    for (const error of errors) shown.push({ row, ...error })
  }
  const rows = await tx.query(
    `UPDATE imports SET processed = processed + $2, created = created + $3, updated = updated + $4,
       unchanged = unchanged + $5, failed = failed + $6, progress = $7, updated_at = now(),
       failures = CASE WHEN $8::jsonb = '[]' OR jsonb_array_length(failures) >= ${SHOWN_FAILURES} THEN failures
         ELSE jsonb_path_query_array(failures || $8::jsonb, '$[0 to ${SHOWN_FAILURES - 1}]') END
     WHERE id = $1 AND status = 'processing' RETURNING id`,
    [
      id,
      step.processed,
      step.created,
      step.updated,
      step.unchanged,
      failed.length,
      step.progress,
      JSON.stringify(shown.slice(0, SHOWN_FAILURES)),
    ],
  )
  if (failed.length > 0) {
    await tx.query(
      `INSERT INTO import_failures (organization_id, import_id, row, errors)
       SELECT $1, $2, row, errors::jsonb FROM unnest($3::int4[], $4::text[]) AS f(row, errors)`,
      [organizationId, id, failed.map(({ row }) => row), failed.map(({ errors }) => JSON.stringify(errors))],
    )
  }
  await notifyWatchers(tx, organizationId, id)
  return rows.length > 0
}

/**
 * Ends a running or waiting import. Returns true if its file is no longer needed: the caller deletes the file after the
 * commit.
 */
export async function endImport(
  tx: Queryable,
  organizationId: string,
  id: string,
  end: { status: 'failed' | 'cancelled'; error?: string | null } | { status: 'completed' },
): Promise<boolean> {
  const done = end.status === 'completed'
  const [ended] = await tx.query<{ isFileNeeded: boolean }>(
    `UPDATE imports SET finished_at = now(), updated_at = now(), error = $3,
       status = CASE WHEN $2 <> 'completed' THEN $2 WHEN failed > 0 THEN 'completed_with_errors' ELSE $2 END,
       progress = CASE WHEN $4 THEN 1 ELSE progress END, total = CASE WHEN $4 THEN processed ELSE total END
     WHERE id = $1 AND status IN ('queued', 'processing') RETURNING failed > 0 AS "isFileNeeded"`,
    [id, end.status, 'error' in end ? (end.error ?? null) : null, done],
  )
  await notifyWatchers(tx, organizationId, id)
  return ended?.isFileNeeded === false
}

/** The maximum of failed rows in one statement, and of the bytes of their errors. */
const FAILED_AT_ONCE = 1_000
const FAILED_BYTES_AT_ONCE = 256 * 1024

/** A failed row; `errors` is the JSON of `RowError[]`. */
export interface FailedRow {
  row: number
  errors: string
}

/** A page of the failed rows, in their order; an empty one is the end. */
export function listFailedRows(tx: Queryable, importId: string, afterRow: number): Promise<FailedRow[]> {
  return tx.query(
    `SELECT row, errors::text AS errors FROM (
       SELECT row, errors,
         sum(bytes) OVER (ORDER BY row ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
       FROM (
         SELECT row, errors, ${storedBytes('errors')} AS bytes FROM import_failures
         WHERE import_id = $1 AND row > $2 ORDER BY row LIMIT ${FAILED_AT_ONCE}
       ) next
     ) fitting WHERE before IS NULL OR before < ${FAILED_BYTES_AT_ONCE} ORDER BY row`,
    [importId, afterRow],
  )
}

/** The imports among these identifiers whose file is needed, across organizations. Used for sweeping files. */
export async function listImportsWithFile(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    `SELECT i.id FROM imports i WHERE i.id = ANY($1::uuid[]) AND ${ALIVE} AND ${NEEDS_FILE}`,
    [ids],
  )
  return new Set(rows.map(({ id }) => id))
}

/**
 * Deletes some of the expired imports, their failures and batches first: an import has up to a million. Resolves to whether there
 * may be more.
 */
export async function pruneImports(db: Queryable): Promise<boolean> {
  const failures = `(organization_id, import_id) IN (
    SELECT i.organization_id, i.id FROM imports i WHERE NOT ${ALIVE} ORDER BY i.created_at LIMIT 100)`
  if (await deleteSome(db, 'import_failures', failures)) return true
  // A row is a whole batch, of up to some megabytes.
  if (await deleteSome(db, 'import_steps', failures, 100)) return true
  return deleteSome(
    db,
    'imports',
    `id IN (SELECT i.id FROM imports i WHERE NOT ${ALIVE} ORDER BY i.created_at LIMIT 100)`,
    100,
  )
}
