import { notify, type Queryable } from '../client.ts'
import type { Values } from '../schema/data-records.ts'

/**
 * The records that imports created and replaced, batch by batch. An undo takes the newest batch first, and in it a few records at a time
 * from the end of the list: the row is what is left to do, so nothing is done twice however often it begins again.
 */
export interface ImportStepRow {
  row: number
  /** When the batch was stored, as text: a Date has no microseconds. */
  at: string
  created: string[]
  /** Each the JSON of `Replaced`. */
  replaced: string[]
}

/** A record that an import changed, with its values before. */
export interface Replaced {
  _id: string
  data: Values
}

export const UNDO_STATUSES = ['queued', 'processing', 'completed', 'failed'] as const

/** How far an undo is. */
export interface Undo {
  status: (typeof UNDO_STATUSES)[number]
  deleted: number
  restored: number
  /** The records that were left alone, by the reason. */
  left: { [reason in (typeof LEFT)[number]]: number }
  error: string | null
  startedAt: string
  finishedAt: string | null
}

export const LEFT = ['changed', 'gone', 'referred', 'unfit', 'forgotten'] as const

/** The bytes of all steps of an organization. Beyond it an import is not remembered. */
const MAX_BYTES = 1024 ** 3
const UUID_BYTES = 16

/** The bytes that an organization's imports may still remember. */
export async function measureStepRoom(tx: Queryable): Promise<number> {
  const [row] = await tx.query<{ bytes: number }>(
    'SELECT coalesce(sum(step_bytes), 0)::float8 AS bytes FROM imports WHERE step_bytes > 0',
  )
  return Math.max(0, MAX_BYTES - (row?.bytes ?? 0))
}

/**
 * Remembers what a batch created and replaced, in its transaction. Returns the bytes that it takes; 0 where there is no
 * room, or nothing to remember.
 */
export async function insertStep(
  tx: Queryable,
  organizationId: string,
  importId: string,
  step: { row: number; created: readonly string[]; replaced: readonly Replaced[] },
  room: number,
): Promise<number> {
  const { row, created } = step
  const replaced = step.replaced.map(({ _id, data }) => JSON.stringify({ _id, data }))
  const bytes = replaced.reduce((sum, text) => sum + text.length, created.length * UUID_BYTES)
  if (bytes === 0 || bytes > room) return 0
  await tx.query(
    `WITH counted AS (UPDATE imports SET step_bytes = step_bytes + $6 WHERE id = $2)
     INSERT INTO import_steps (organization_id, import_id, row, created, replaced)
     VALUES ($1, $2, $3, $4::uuid[], $5::text[])`,
    [organizationId, importId, row, created, replaced, bytes],
  )
  return bytes
}

/** The number of records that an import remembers. */
export async function countRemembered(tx: Queryable, importId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(
    `SELECT coalesce(sum(cardinality(created) + cardinality(replaced)), 0)::int4 AS count
     FROM import_steps WHERE import_id = $1`,
    [importId],
  )
  return row?.count ?? 0
}

/**
 * The next records to undo: the last ones of the newest batch, created ones first. Those that were replaced have at most so
 * many bytes together, unless one alone has more. Null where none are left.
 */
export async function findNextStep(
  tx: Queryable,
  importId: string,
  limit: { created: number; replaced: number; bytes: number },
): Promise<ImportStepRow | null> {
  const [step] = await tx.query<ImportStepRow>(
    `SELECT row, at::text AS at,
       created[greatest(1, cardinality(created) - $2::int4 + 1):] AS created,
       CASE WHEN created <> '{}' OR replaced = '{}' THEN '{}' ELSE ARRAY(
         SELECT text FROM (
           SELECT text, place, sum(octet_length(text)) OVER later AS bytes, row_number() OVER later AS nth
           FROM unnest(replaced) WITH ORDINALITY AS r(text, place) WINDOW later AS (ORDER BY place DESC)) counted
         WHERE nth <= $3::int4 AND (nth = 1 OR bytes <= $4::int4) ORDER BY place) END AS replaced
     FROM import_steps WHERE import_id = $1 ORDER BY row DESC LIMIT 1`,
    [importId, limit.created, limit.replaced, limit.bytes],
  )
  return step ?? null
}

/** Takes these records from a batch, which goes with its last one. */
export async function shrinkStep(
  tx: Queryable,
  importId: string,
  { row, created, replaced }: ImportStepRow,
): Promise<void> {
  await tx.query(
    `UPDATE import_steps SET created = created[:cardinality(created) - $3::int4],
       replaced = replaced[:cardinality(replaced) - $4::int4] WHERE import_id = $1 AND row = $2`,
    [importId, row, created.length, replaced.length],
  )
  await tx.query(
    `DELETE FROM import_steps WHERE import_id = $1 AND row = $2 AND created = '{}' AND replaced = '{}'`,
    [importId, row],
  )
}

/** Notes how far an undo is, and tells watchers of the import. */
export async function writeUndo(
  tx: Queryable,
  organizationId: string,
  importId: string,
  undo: Undo,
): Promise<void> {
  await tx.query(
    `UPDATE imports SET undo = $2::jsonb, updated_at = now(),
       step_bytes = CASE WHEN $3 THEN 0 ELSE step_bytes END WHERE id = $1`,
    [importId, JSON.stringify(undo), undo.status === 'completed'],
  )
  await notify(tx, { kind: 'record', topic: 'imports', organizationId, recordId: importId })
}
