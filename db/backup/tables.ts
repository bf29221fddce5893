import type { SetUpSession } from '../drivers/driver.ts'

/**
 * The tables of an organization's backup, by the catalogue: a new table is part of it by its columns, and one whose rows
 * belong to nobody has to be named here (test/db/backup.test.ts).
 */
export type Run = SetUpSession['run']

/**
 * How the rows of an organization are found: by its identifier, by its members' accounts, or by its subjects' keys.
 * `accounts` themselves are a kind of their own, because an account may be there already.
 */
export type Kind = 'organization' | 'accounts' | 'account' | 'subject' | 'keys'

export interface BackedTable {
  name: string
  kind: Kind
  columns: { name: string; type: string }[]
}

/** Tables with rows of organizations or accounts that are left out, with the reason. */
export const LEFT_OUT: { [table: string]: string } = {
  idempotency_keys: 'answers to requests of the last 24 hours',
  rejections: 'messages that were not stored, by their place in the log of their server',
  data_type_changes: 'changes of data types under way, which are asked for again',
  data_type_touched: 'changes of data types under way, which are asked for again',
  known_addresses: 'network addresses from which people signed in',
  login_challenges: 'sign-ins under way',
  sign_in_codes: 'sign-ins under way',
  password_resets: 'links for forgotten passwords, which are asked for again',
}

/** Tables of the server itself. */
export const OF_THE_SERVER = [
  'allowances',
  'clock',
  'health_reports',
  'health_samples',
  'log_ends',
  'log_positions',
  'login_failures',
  'registrations',
  'row_caps',
  'schema_migrations',
]

/**
 * Jobs that work on one record of the organization, and go on where it is restored. Others take what they work on from
 * their payload, which an archive may not say.
 */
export const JOBS = ['import', 'export']

/** Sequences whose values rows keep. After a restoration they go on above those. Identities are given anew. */
export const SEQUENCES: { [sequence: string]: readonly [table: string, column: string][] } = {
  command_numbers: [['commands', 'number']],
  geofence_changes: [['geofence_versions', 'version']],
  webhook_event_positions: [
    ['webhook_events', 'position'],
    ['webhooks', 'position'],
  ],
}

interface Row {
  name: string
  columns: { name: string; type: string; own: boolean }[]
  refers: string[] | null
}

const CATALOGUE = `
  SELECT c.relname AS name,
    (SELECT json_agg(json_build_object('name', attname, 'type', format_type(atttypid, atttypmod),
        'own', attgenerated <> '' OR attidentity <> '') ORDER BY attnum)
      FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns,
    (SELECT json_agg(DISTINCT confrelid::regclass::text) FROM pg_constraint
      WHERE conrelid = c.oid AND contype = 'f' AND confrelid <> c.oid) AS refers
  FROM pg_class c
  WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
    AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid)
    AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = c.oid AND deptype = 'e')
  ORDER BY 1`

/** The tables that are backed up, each after those that it refers to, and the names of tables that nobody has named. */
export async function listTables(run: Run): Promise<{ tables: BackedTable[]; unnamed: string[] }> {
  const rows = (await run({ text: CATALOGUE, values: [] })) as unknown as Row[]
  const tables: BackedTable[] = []
  const unnamed: string[] = []
  for (const { name, columns } of inOrder(rows)) {
    if (LEFT_OUT[name] !== undefined || OF_THE_SERVER.includes(name)) continue
    const kind = kindOf(name, new Set(columns.map(column => column.name)))
    // A subject's key is an identity too, and is kept, so that its points find their subject.
    const kept = columns.filter(({ name: column, own }) => !own || (name === 'subjects' && column === 'key'))
    if (kind) tables.push({ name, kind, columns: kept.map(({ name, type }) => ({ name, type })) })
    else unnamed.push(name)
  }
  return { tables, unnamed }
}

function kindOf(name: string, columns: ReadonlySet<string>): Kind | null {
  if (name === 'organizations' || columns.has('organization_id')) return 'organization'
  if (name === 'accounts') return 'accounts'
  // The secrets of API keys. People sign in again.
  if (name === 'sessions') return 'keys'
  if (columns.has('account_id')) return 'account'
  return columns.has('subject_key') ? 'subject' : null
}

/** Each table after those that it refers to. */
function inOrder(rows: readonly Row[]): Row[] {
  const byName = new Map(rows.map(row => [row.name, row]))
  const done = new Set<Row>()
  const placed: Row[] = []
  const visit = (row: Row) => {
    if (done.has(row)) return
    done.add(row)
    const knowsSubjects = row.columns.some(({ name }) => name === 'subject_key')
    for (const name of [...(row.refers ?? []), ...(knowsSubjects ? ['subjects'] : [])]) {
      const other = byName.get(name)
      if (other) visit(other)
    }
    placed.push(row)
  }
  for (const row of rows) visit(row)
  return placed
}
