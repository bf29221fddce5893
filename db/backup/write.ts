import { foldEmail } from '../email-address.ts'
import { type BackedTable, JOBS, type Run, SEQUENCES } from './tables.ts'

/**
 * Stores the rows of a backup in one transaction. Keys of subjects belong to a server, so each subject gets a new one, and
 * so do accounts whose e-mail address is there already: temporary tables map the old ones.
 *
 * Whoever wrote the archive may be a stranger to this server. So every row belongs to the one organization, whatever it
 * says, and nothing in it is a session of a person, or a job that works on what its payload names.
 */
export const MAPS = `
  CREATE TEMPORARY TABLE restored_subjects (old int4 PRIMARY KEY, key int4 NOT NULL) ON COMMIT DROP;
  CREATE TEMPORARY TABLE restored_accounts (old uuid PRIMARY KEY, id uuid NOT NULL, is_new boolean NOT NULL) ON COMMIT DROP;
  SET LOCAL timezone = 'UTC'`

export interface Writing {
  run: Run
  organizationId: string
  /** The accounts are those of this server from the beginning: their times and roots stay, and the oldest runs it. */
  keepsAccounts: boolean
}

type At = (column: string) => string

/** Stores rows, given as a JSON array of arrays of texts in the order of the columns. */
export async function writeRows(writing: Writing, table: BackedTable, rows: string): Promise<void> {
  const { columns, kind, name } = table
  const { run, keepsAccounts, organizationId } = writing
  const at: At = column => {
    const index = columns.findIndex(({ name }) => name === column)
    return `(v->>${index})::${columns[index]?.type}`
  }
  if (name === 'subjects') return writeSubjects(writing, table, at, rows)
  // A provider's identity is bound to an account by the provider's word, and an archive is none.
  if (name === 'account_identities' && !keepsAccounts) return
  if (kind === 'accounts') await mapAccounts(run, at, rows)
  const isKept = (column: string) => keepsAccounts && STANDING[name]?.includes(column)
  const values = columns.map(({ name: column }) =>
    isKept(column) ? at(column) : expressionOf(table, column, at(column)),
  )
  const names = columns.map(({ name }) => `"${name}"`).join(', ')
  await run({
    text: `INSERT INTO "${name}" (${names}) SELECT ${values.join(', ')}
      FROM json_array_elements($1::json) v CROSS JOIN (SELECT $2::uuid AS id) own ${joinOf(table, at)}`,
    values: [rows, organizationId],
  })
}

/** Columns that decide about rights on a server and shares there (fair/roots.ts). */
const STANDING: { [table: string]: readonly string[] } = {
  accounts: ['created_at', 'root'],
  organizations: ['created_at', 'root'],
  jobs: ['root'],
}

/** The rows that are stored, with what their values are made of. */
function joinOf({ kind, name }: BackedTable, at: At): string {
  if (kind === 'subject') return `JOIN restored_subjects s ON s.old = ${at('subject_key')}`
  if (kind === 'accounts') return `JOIN restored_accounts a ON a.old = ${at('id')} AND a.is_new`
  if (kind === 'account') return `JOIN restored_accounts a ON a.old = ${at('account_id')} AND a.is_new`
  if (kind === 'keys') {
    return `JOIN users u ON u.id = ${at('user_id')} AND u.organization_id = own.id AND u.account_id IS NULL
      WHERE ${at('key_digest')} IS NOT NULL`
  }
  return name === 'jobs' ? `WHERE ${at('kind')} IN (${JOBS.map(kind => `'${kind}'`).join(', ')})` : ''
}

/** The value that a column gets, for what belongs to the server that wrote the archive. */
function expressionOf({ name, kind }: BackedTable, column: string, given: string): string {
  if (column === 'organization_id' || (name === 'organizations' && column === 'id')) return 'own.id'
  if (column === 'subject_key')
    return kind === 'subject' ? 's.key' : `(SELECT key FROM restored_subjects s WHERE s.old = ${given})`
  if (column === 'account_id') return `(SELECT id FROM restored_accounts a WHERE a.old = ${given})`
  // Positions in the log of another server.
  if (name === 'newest_fixes' && column === 'log_partition') return '0'
  if (name === 'newest_fixes' && column === 'log_offset') return '-1'
  if (name === 'newest_fixes' && column === 'replaced_offset') return 'NULL'
  if (name === 'connection_states' && column === 'held_by') return 'NULL'
  if (name === 'connection_states' && column === 'held_until') return `'-infinity'`
  if (name === 'jobs' && column === 'status') return `'queued'`
  if (name === 'jobs' && column === 'lease_until') return 'NULL'
  // The archive may name the root of anybody. The organization and its members share one.
  if (name === 'organizations' && column === 'root') return 'NULL'
  if (column === 'root') return 'own.id'
  // The owners of the oldest organization run the server: no restored one becomes that.
  if (name === 'organizations' && column === 'created_at')
    return `greatest(${given}, (SELECT min(created_at) FROM organizations WHERE deleted_at IS NULL) + interval '1 microsecond')`
  if (kind !== 'accounts') return given
  if (column === 'id') return 'a.id'
  // The oldest account runs the server: no restored account becomes that.
  if (column === 'created_at') return 'now()'
  if (column === 'registered_in') return `(SELECT id FROM organizations o WHERE o.id = ${given})`
  return given
}

async function writeSubjects(
  { run, organizationId }: Writing,
  { columns }: BackedTable,
  at: At,
  rows: string,
): Promise<void> {
  const others = columns.map(({ name }) => name).filter(name => name !== 'key')
  const given = (name: string) => (name === 'organization_id' ? '$2::uuid' : at(name))
  await run({
    text: `WITH given AS (SELECT ${columns.map(({ name }) => `${given(name)} AS "${name}"`).join(', ')}
        FROM json_array_elements($1::json) v),
      stored AS (INSERT INTO subjects (${others.map(name => `"${name}"`).join(', ')})
        SELECT ${others.map(name => `"${name}"`).join(', ')} FROM given RETURNING id, key)
      INSERT INTO restored_subjects SELECT given.key, stored.key FROM given JOIN stored USING (id)`,
    values: [rows, organizationId],
  })
}

/** Somebody who has an account here keeps it, with its password. */
async function mapAccounts(run: Run, at: At, rows: string): Promise<void> {
  await run({
    text: `INSERT INTO restored_accounts
      SELECT ${at('id')}, coalesce(known.id, CASE WHEN taken.id IS NULL THEN ${at('id')} ELSE gen_random_uuid() END),
        known.id IS NULL
      FROM json_array_elements($1::json) v
        LEFT JOIN accounts known ON known.folded_email = ${at('folded_email')}
        LEFT JOIN accounts taken ON taken.id = ${at('id')}`,
    values: [rows],
  })
}

/**
 * An account that is found under another address than its own would get the mails, and the invitations, of somebody else; one of no
 * member would wait for somebody to invite its address.
 */
async function checkAccounts(run: Run, organizationId: string): Promise<void> {
  const added = (await run({
    text: `SELECT email, folded_email AS folded,
        EXISTS (SELECT FROM users u WHERE u.account_id = accounts.id AND u.organization_id = $1) AS "isMember"
      FROM accounts JOIN restored_accounts a ON a.id = accounts.id AND a.is_new`,
    values: [organizationId],
  })) as { email: string; folded: string; isMember: boolean }[]
  if (added.some(({ email, folded, isMember }) => !isMember || foldEmail(email) !== folded))
    throw new Error('The archive has an account of no member, or under an address that is not its own.')
}

/** What waits for a job that stays behind (JOBS) has ended, so that it can be asked for again. */
async function endWork(run: Run, organizationId: string): Promise<void> {
  await run({
    text: `UPDATE imports SET undo = undo || jsonb_build_object('status', 'failed', 'finishedAt', now(),
        'error', 'The organization was restored meanwhile. Ask for it again.')
      WHERE organization_id = $1 AND undo->>'status' IN ('queued', 'processing')`,
    values: [organizationId],
  })
  await run({
    text: `UPDATE invitations SET mail = 'failed', mail_job = NULL, sealed_token = NULL
      WHERE organization_id = $1 AND mail = 'waiting'`,
    values: [organizationId],
  })
}

/** A sequence that an archive could move to its end would stop the server. */
const MAX_POSITION = 2 ** 52

export interface Finished {
  /** The addresses of members whose account was here before, and keeps its password. */
  known: string[]
}

/** After the last row: what triggers have counted meanwhile is as it was, and sequences go on above the restored values. */
export async function finishRestoration(
  run: Run,
  { organizationId, visibilityVersion }: { organizationId: string; visibilityVersion: string },
): Promise<Finished> {
  await run({
    text: 'UPDATE organizations SET visibility_version = $2::int8 WHERE id = $1',
    values: [organizationId, visibilityVersion],
  })
  await checkAccounts(run, organizationId)
  await endWork(run, organizationId)
  for (const [sequence, columns] of Object.entries(SEQUENCES)) {
    const highest = columns.map(
      ([table, column]) => `(SELECT max(${column}) FROM ${table} WHERE organization_id = $1)`,
    )
    const [found] = (await run({
      text: `SELECT greatest(${highest.join(', ')})::float8 AS highest`,
      values: [organizationId],
    })) as { highest: number | null }[]
    if ((found?.highest ?? 0) > MAX_POSITION)
      throw new Error(`A position of the archive is above ${MAX_POSITION}, which no server has reached.`)
    await run({
      text: `SELECT setval('${sequence}', highest) FROM (SELECT greatest(${highest.join(', ')}) AS highest) restored
        WHERE highest > (SELECT last_value FROM ${sequence})`,
      values: [organizationId],
    })
  }
  const known = (await run({
    text: `SELECT email FROM accounts JOIN restored_accounts a ON a.id = accounts.id AND NOT a.is_new ORDER BY email`,
    values: [],
  })) as { email: string }[]
  return { known: known.map(({ email }) => email) }
}
