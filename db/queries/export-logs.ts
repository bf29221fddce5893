import { acrossOrganizations, newId, notify, type Queryable } from '../client.ts'
import { conditions, type Page, type PageRequest, readPage, storedBytes } from './page.ts'
import { deleteSome } from './prune.ts'
import { ROOT } from './root.ts'

export const EXPORT_RESOURCES = ['data', 'tasks'] as const
export type ExportResource = (typeof EXPORT_RESOURCES)[number]
export const EXPORT_FORMATS = ['xlsx', 'json'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
/**
 * How places appear in a spreadsheet: as text in one cell, or in one column each for latitude, longitude and address.
 */
export const EXPORT_PLACES = ['text', 'columns'] as const
export const EXPORT_STATUSES = ['queued', 'processing', 'completed', 'failed'] as const

/** An export as the interface shows it. */
export interface ExportLog {
  _id: string
  resource: ExportResource
  dataType: { _id: string; name: string } | null
  format: ExportFormat
  filter: { [key: string]: string }
  fields: string[] | null
  places: (typeof EXPORT_PLACES)[number]
  direct: boolean
  status: (typeof EXPORT_STATUSES)[number]
  total: number | null
  processed: number
  progress: number
  error: string | null
  fileName: string
  fileBytes: number | null
  createdBy: { _id: string; name: string } | null
  startedAt: Date | null
  finishedAt: Date | null
  expiresAt: Date
  createdAt: Date
  updatedAt: Date
}

/** The request for an export. */
export interface ExportOrder {
  resource: ExportResource
  dataTypeId: string | null
  format: ExportFormat
  filter: { [key: string]: string }
  fields: string[] | null
  places: (typeof EXPORT_PLACES)[number]
}

const DAYS_KEPT = 30
/**
 * The files of exports that a root of organizations may have (fair/roots.ts), the newest first: all roots share a disk.
 */
const KEPT_BYTES = 10 * 1024 ** 3

const ALIVE = `e.created_at > now() - interval '${DAYS_KEPT} days'`

const COLUMNS = `e.id AS "_id", e.resource,
  CASE WHEN t.id IS NULL THEN NULL ELSE json_build_object('_id', t.id, 'name', t.name) END AS "dataType",
  e.format, e.filter, e.fields, e.places, e.is_direct AS direct, e.status, e.total::float8 AS total,
  e.processed::float8 AS processed, e.progress, e.error, e.file_name AS "fileName", e.file_bytes::float8 AS "fileBytes",
  CASE WHEN u.id IS NULL THEN NULL ELSE json_build_object('_id', u.id, 'name', u.name) END AS "createdBy",
  e.started_at AS "startedAt", e.finished_at AS "finishedAt",
  e.created_at + interval '${DAYS_KEPT} days' AS "expiresAt", e.created_at AS "createdAt", e.updated_at AS "updatedAt"`
const FROM = `export_logs e
  LEFT JOIN data_types t ON t.organization_id = e.organization_id AND t.id = e.data_type_id
  LEFT JOIN users u ON u.organization_id = e.organization_id AND u.id = e.user_id`

export const EXPORT_LOG_SORTS = { createdAt: { sql: 'e.created_at', type: 'timestamptz' } } as const

/** The user whose exports are visible; null for those of all users. */
type Of = string | null

export function listExportLogs(
  tx: Queryable,
  of: Of,
  filter: { [name in 'resource' | 'status' | 'format' | 'dataTypeId' | 'userId']?: string | undefined },
  page: PageRequest,
): Promise<Page<ExportLog>> {
  const { where, values, add } = conditions()
  where.push(ALIVE)
  if (of !== null) add('e.user_id = ?::uuid', of)
  if (filter.resource) add('e.resource = ?', filter.resource)
  if (filter.status) add('e.status = ?', filter.status)
  if (filter.format) add('e.format = ?', filter.format)
  if (filter.dataTypeId) add('e.data_type_id = ?::uuid', filter.dataTypeId)
  if (filter.userId) add('e.user_id = ?::uuid', filter.userId)
  return readPage(
    tx,
    {
      columns: COLUMNS,
      from: FROM,
      where,
      values,
      bytes: `1000 + ${storedBytes('e.filter', 'e.fields', 'e.error')}`,
      id: 'e.id',
      sorts: EXPORT_LOG_SORTS,
      search: ['e.file_name'],
    },
    page,
  )
}

/** An export of the organization with the fields in its file, or null. */
export async function findExportLog(
  tx: Queryable,
  of: Of,
  id: string,
): Promise<{ log: ExportLog; keys: string[] } | null> {
  const [row] = await tx.query<ExportLog & { fileKeys: string[] }>(
    `SELECT ${COLUMNS}, e.keys AS "fileKeys" FROM ${FROM}
     WHERE e.id = $1 AND ${ALIVE} AND ($2::uuid IS NULL OR e.user_id = $2)`,
    [id, of],
  )
  if (!row) return null
  const { fileKeys, ...log } = row
  return { log, keys: fileKeys }
}

/** The existing ones among these exports, each with its creator. */
export function listExportLogsById(
  tx: Queryable,
  ids: readonly string[],
): Promise<(ExportLog & { madeBy: string | null })[]> {
  return tx.query(
    `SELECT ${COLUMNS}, e.user_id AS "madeBy" FROM ${FROM} WHERE e.id = ANY($1::uuid[]) AND ${ALIVE}`,
    [ids],
  )
}

/** The number of waiting and running exports of the organization. */
export async function countUnfinishedExports(tx: Queryable): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT count(*)::int4 AS count FROM export_logs WHERE status IN ('queued', 'processing')`,
  )
  return row?.count ?? 0
}

/** Notifies watchers when the transaction commits. */
const notifyWatchers = (tx: Queryable, organizationId: string, recordId: string) =>
  notify(tx, { kind: 'record', topic: 'exports', organizationId, recordId })

/** Changes an export, and notifies watchers. */
async function change(tx: Queryable, id: string, set: string, values: readonly unknown[]): Promise<void> {
  const [row] = await tx.query<{ organizationId: string }>(
    `UPDATE export_logs SET ${set}, updated_at = now()
     WHERE id = $1 AND status IN ('queued', 'processing') RETURNING organization_id AS "organizationId"`,
    [id, ...values],
  )
  if (row) await notifyWatchers(tx, row.organizationId, id)
}

/** Stores an export that waits, or with `done` one that was answered directly. Returns its identifier. */
export async function insertExportLog(
  tx: Queryable,
  organizationId: string,
  order: ExportOrder & { userId: string; fileName: string },
  done: { keys: readonly string[]; count: number } | null,
): Promise<string> {
  const id = newId()
  await tx.query(
    `INSERT INTO export_logs (id, organization_id, user_id, resource, data_type_id, format, filter, fields, places, file_name,
       is_direct, status, keys, total, processed, progress, started_at, finished_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9, $10, $11::boolean, CASE WHEN $11 THEN 'completed' ELSE 'queued' END, $12, $13::int8,
       coalesce($13, 0), CASE WHEN $11 THEN 1 ELSE 0 END, CASE WHEN $11 THEN now() END, CASE WHEN $11 THEN now() END)`,
    [
      id,
      organizationId,
      order.userId,
      order.resource,
      order.dataTypeId,
      order.format,
      JSON.stringify(order.filter),
      order.fields,
      order.places,
      order.fileName,
      done !== null,
      done?.keys ?? [],
      done?.count ?? null,
    ],
  )
  await notifyWatchers(tx, organizationId, id)
  return id
}

/** Starts an export in a job, from its beginning; null if it was deleted or has ended. */
export async function beginExport(
  tx: Queryable,
  id: string,
): Promise<(ExportOrder & { userId: string | null }) | null> {
  const [row] = await tx.query<ExportOrder & { userId: string | null }>(
    `UPDATE export_logs e SET status = 'processing', processed = 0, progress = 0, total = NULL,
       started_at = coalesce(started_at, now()), updated_at = now()
     WHERE e.id = $1 AND e.status IN ('queued', 'processing') AND ${ALIVE}
     RETURNING resource, data_type_id AS "dataTypeId", format, filter, fields, places, user_id AS "userId"`,
    [id],
  )
  return row ?? null
}

export function updateExportProgress(
  tx: Queryable,
  id: string,
  { total, processed, progress }: Pick<ExportLog, 'total' | 'processed' | 'progress'>,
): Promise<void> {
  return change(tx, id, 'total = $2, processed = $3, progress = $4', [total, processed, progress])
}

/** Files beyond the maximum of a root are forgotten, the oldest first. */
export async function completeExport(
  tx: Queryable,
  id: string,
  file: { keys: readonly string[]; count: number; bytes: number },
): Promise<void> {
  await change(
    tx,
    id,
    `status = 'completed', keys = $2, total = $3, processed = $3, progress = 1, file_bytes = $4, finished_at = now()`,
    [file.keys, file.count, file.bytes],
  )
  await acrossOrganizations(tx, () =>
    tx.query(
      `UPDATE export_logs e SET file_bytes = NULL FROM (
         SELECT l.id, sum(l.file_bytes) OVER (ORDER BY l.finished_at DESC, l.id DESC) AS kept
         FROM organizations o JOIN export_logs l ON l.organization_id = o.id
         WHERE ${ROOT} = (
           SELECT ${ROOT} FROM organizations o JOIN export_logs own ON own.organization_id = o.id WHERE own.id = $2)
           AND l.file_bytes IS NOT NULL) k
       WHERE k.id = e.id AND k.kept > $1::float8 AND e.id <> $2`,
      [KEPT_BYTES, id],
    ),
  )
}

/** `error` is a sentence for the user who ordered it. */
export function failExport(tx: Queryable, id: string, error: string): Promise<void> {
  return change(tx, id, `status = 'failed', error = $2, finished_at = now()`, [error])
}

/** The exports among these, of any organization, that have a file or are still being written. */
export async function listKeptFiles(db: Queryable, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db.query<{ id: string }>(
    `SELECT id FROM export_logs e WHERE id = ANY($1::uuid[]) AND ${ALIVE}
       AND (status IN ('queued', 'processing') OR file_bytes IS NOT NULL)`,
    [ids],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Deletes expired exports. */
export const pruneExportLogs = (db: Queryable): Promise<boolean> =>
  deleteSome(db, 'export_logs', `created_at < now() - interval '${DAYS_KEPT} days'`)
