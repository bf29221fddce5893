import { isUuid } from '../ids.ts'
import { type BackedTable, JOBS, type Run } from './tables.ts'

/** Reads the rows of an organization, each as a JSON array of the texts of its values, which every database reads alike. */

/** A batch is kept in memory: rows of points have under 1 KiB, others may have a hundred times that. */
const ROWS_AT_ONCE = { subject: 5_000, other: 500 }

/** The first statement of the transaction: everything is read at one moment, and every value has one text. */
export const AT_ONE_MOMENT = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
  SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO'; SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1`

export interface Owner {
  organizationId: string
  /** The keys of its subjects. */
  subjects: number[]
}

export async function findOwner(
  run: Run,
  organizationId: string,
): Promise<(Owner & { name: string }) | null> {
  if (!isUuid(organizationId)) return null
  const [found] = (await run({
    text: 'SELECT name FROM organizations WHERE id = $1 AND deleted_at IS NULL',
    values: [organizationId],
  })) as { name: string }[]
  if (!found) return null
  const rows = (await run({
    text: 'SELECT key FROM subjects WHERE organization_id = $1 ORDER BY key',
    values: [organizationId],
  })) as { key: number }[]
  return { organizationId, name: found.name, subjects: rows.map(({ key }) => key) }
}

/** The times of the oldest and the newest point; null without points. */
export async function findSpan(run: Run, { subjects }: Owner): Promise<{ from: number; to: number } | null> {
  const [span] = (await run({
    text: `SELECT (extract(epoch FROM min(first)) * 1000)::float8 AS from, (extract(epoch FROM max(last)) * 1000)::float8 AS to
      FROM unnest($1::int4[]) key, LATERAL (
        SELECT min(recorded_at) AS first, max(recorded_at) AS last FROM points WHERE subject_key = key) span`,
    values: [subjects],
  })) as { from: number | null; to: number | null }[]
  return span?.from == null || span.to == null ? null : { from: span.from, to: span.to }
}

/** The rows of a table in batches. */
export async function* readRows(run: Run, table: BackedTable, owner: Owner): AsyncGenerator<string[]> {
  const line = `json_build_array(${table.columns.map(({ name }) => `t.${quote(name)}::text`).join(', ')})::text AS line`
  if (table.kind !== 'subject') {
    yield* readCursor(
      run,
      `SELECT ${line} FROM ${quote(table.name)} t WHERE ${CONDITION[table.kind](table, owner)}`,
      ROWS_AT_ONCE.other,
    )
    return
  }
  // By the index of each subject: the table has everybody's.
  for (const key of owner.subjects)
    yield* readCursor(
      run,
      `SELECT ${line} FROM ${quote(table.name)} t WHERE subject_key = ${key}`,
      ROWS_AT_ONCE.subject,
    )
}

/** Cursors take no parameters: the identifier was checked, and keys are numbers. */
const CONDITION: {
  [Kind in Exclude<BackedTable['kind'], 'subject'>]: (table: BackedTable, owner: Owner) => string
} = {
  organization({ name }, { organizationId }) {
    const own = `${name === 'organizations' ? 'id' : 'organization_id'} = '${organizationId}'`
    const kinds = JOBS.map(kind => `'${kind}'`).join(', ')
    return name === 'jobs' ? `${own} AND kind IN (${kinds}) AND status IN ('queued', 'running')` : own
  },
  accounts: (_, owner) => `id IN (${members(owner, 'account_id')})`,
  account: (_, owner) => `account_id IN (${members(owner, 'account_id')})`,
  keys: (_, owner) =>
    `key_digest IS NOT NULL AND user_id IN (${members(owner, 'id')} AND account_id IS NULL)`,
}

const members = ({ organizationId }: Owner, column: string) =>
  `SELECT ${column} FROM users WHERE organization_id = '${organizationId}'`

async function* readCursor(run: Run, select: string, atOnce: number): AsyncGenerator<string[]> {
  await run({ text: `DECLARE backup NO SCROLL CURSOR FOR ${select}`, values: [] })
  for (;;) {
    const rows = (await run({ text: `FETCH ${atOnce} FROM backup`, values: [] })) as { line: string }[]
    if (rows.length > 0) yield rows.map(({ line }) => line)
    if (rows.length < atOnce) break
  }
  await run({ text: 'CLOSE backup', values: [] })
}

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`
