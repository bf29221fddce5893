import type { Database } from '../../db/client.ts'

// The rows of an organization, found by the column organization_id: a new table is covered without further code.

/** A pattern of the identifiers that the server creates (UUIDv7), in SQL and in JavaScript. */
export const IDENTIFIER = '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}'

interface Table {
  name: string
  hasId: boolean
  hasHub: boolean
}

const tables = new WeakMap<Database, Promise<Table[]>>()

function listTables(db: Database): Promise<Table[]> {
  const known = tables.get(db) ?? readTables(db)
  tables.set(db, known)
  return known
}

function readTables(db: Database): Promise<Table[]> {
  return db.system.query(
    `SELECT c.relname AS name,
       EXISTS (SELECT FROM pg_attribute i WHERE i.attrelid = c.oid AND i.attname = 'id' AND i.atttypid = 'uuid'::regtype)
         AS "hasId",
       EXISTS (SELECT FROM pg_attribute i WHERE i.attrelid = c.oid AND i.attname = 'hub_id' AND NOT i.attisdropped)
         AS "hasHub"
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE a.attname = 'organization_id' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND c.relnamespace = 'public'::regnamespace ORDER BY 1`,
  )
}

const camel = (text: string) => text.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
const singular = (table: string) => table.replace(/ies$/, 'y').replace(/s$/, '')

/** One identifier of each kind of record, under the name that bodies use for it: `hubId`, `dataTypeId`. */
export async function listOneOfEach(
  db: Database,
  organizationId: string,
  hubId?: string,
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const { name, hasId, hasHub } of await listTables(db)) {
    if (!hasId || (hubId && !hasHub)) continue
    const [row] = await db.system.query<{ id: string }>(
      `SELECT id FROM ${name} WHERE organization_id = $1 ${hubId ? 'AND hub_id = $2' : ''} ORDER BY id LIMIT 1`,
      hubId ? [organizationId, hubId] : [organizationId],
    )
    if (row) found.set(`${camel(singular(name))}Id`, row.id)
  }
  return found
}

/** Every identifier in any row of the organization: none of them may be in another organization's answer. */
export async function listAllIds(db: Database, organizationId: string): Promise<Set<string>> {
  const ids = new Set<string>()
  for (const { name } of await listTables(db)) {
    const rows = await db.system.query<{ id: string }>(
      `SELECT DISTINCT (regexp_matches(t::text, $2, 'g'))[1] AS id FROM ${name} t WHERE organization_id = $1`,
      [organizationId, IDENTIFIER],
    )
    for (const { id } of rows) ids.add(id)
  }
  return ids
}

/** A digest of the organization's rows in each table, its people's accounts and sessions, and its points. */
export async function digestRows(db: Database, organizationId: string): Promise<{ [table: string]: string }> {
  const members = 'SELECT id FROM users WHERE organization_id = $1'
  const subjects = 'SELECT key FROM subjects WHERE organization_id = $1'
  const sources = [
    ...(await listTables(db)).flatMap(({ name }) => {
      // Deleted when it is judged, a moment later.
      if (name === 'geofence_spans') return []
      // The time when a user or device was last heard from is written with a delay.
      const still = `SELECT to_jsonb(r) - 'last_active_at' - 'last_seen_at' AS t`
      return [[name, `(${still} FROM ${name} r WHERE organization_id = $1) rows`]] as const
    }),
    ['organizations', 'organizations t WHERE id = $1'],
    ['sessions', `sessions t WHERE user_id IN (${members})`],
    ['accounts', 'accounts t WHERE id IN (SELECT account_id FROM users WHERE organization_id = $1)'],
    ['points', `points t WHERE subject_key IN (${subjects})`],
    ['newest_fixes', `newest_fixes t WHERE subject_key IN (${subjects})`],
  ] as const
  // One statement, since it is called often.
  const digests = sources.map(
    ([name, from]) =>
      `SELECT '${name}' AS name, count(*) || ' ' || coalesce(md5(string_agg(t::text, '' ORDER BY t::text)), '') AS digest
       FROM ${from}`,
  )
  const rows = await db.system.query<{ name: string; digest: string }>(digests.join(' UNION ALL '), [
    organizationId,
  ])
  return Object.fromEntries(rows.map(({ name, digest }) => [name, digest]))
}

/** The e-mail addresses of an organization's users. */
export async function listEmails(db: Database, organizationId: string): Promise<string[]> {
  const rows = await db.system.query<{ email: string }>(
    'SELECT email FROM users u JOIN accounts a ON a.id = account_id WHERE organization_id = $1',
    [organizationId],
  )
  return rows.map(({ email }) => email)
}
