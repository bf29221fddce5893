import type { Queryable } from '../../db/client.ts'

/** The catalogue of a database: the definition of each object by a name that says its kind. */
export interface Catalogue {
  definitions: Map<string, string>
  /** The file of each table's rows, which is another one after a rewrite. */
  files: Map<string, string>
}

/** Tables that grow with the work: a lock on them while an index is built or rows are rewritten stops the work. */
const BIG =
  /^(points|tails|rejections|data_records|data_keys|tasks|audit_log|geofence_events|webhook_\w+|jobs|judged_\w+)$/

const OBJECTS = `
  WITH own AS (SELECT c.oid, relname, relkind, relfilenode FROM pg_class c
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = c.oid AND deptype = 'e')
      AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid))
  SELECT 'table ' || relname AS name, relkind::text AS definition, relfilenode::text AS file FROM own
  UNION ALL SELECT 'column ' || relname || '.' || attname,
      format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' required' ELSE '' END
        || CASE WHEN atthasdef OR attidentity <> '' THEN ' filled' ELSE '' END, NULL
    FROM own JOIN pg_attribute ON attrelid = own.oid AND attnum > 0 AND NOT attisdropped WHERE relkind <> 'S'
  UNION ALL SELECT 'constraint ' || relname || '.' || conname,
      pg_get_constraintdef(k.oid) || ' on ' || coalesce((SELECT string_agg(attname, ',') FROM pg_attribute
        WHERE attrelid = own.oid AND attnum = ANY (conkey)), ''), NULL
    FROM own JOIN pg_constraint k ON conrelid = own.oid WHERE contype IN ('c', 'f', 'u', 'p', 'x')
  UNION ALL SELECT 'index ' || own.relname || '.' || i.indexrelid::regclass,
      CASE WHEN indisunique THEN 'unique' ELSE 'plain' END || ' on ' || coalesce((SELECT string_agg(attname, ',')
        FROM pg_attribute WHERE attrelid = own.oid AND attnum = ANY (indkey)), ''), NULL
    FROM own JOIN pg_index i ON i.indrelid = own.oid
  UNION ALL SELECT 'function ' || p.oid::regprocedure, format_type(prorettype, NULL), NULL
    FROM pg_proc p WHERE pronamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = p.oid AND deptype = 'e')`

export async function readCatalogue(db: Queryable): Promise<Catalogue> {
  const rows = await db.query<{ name: string; definition: string; file: string | null }>(OBJECTS)
  return {
    definitions: new Map(rows.map(({ name, definition }) => [name, definition])),
    files: new Map(rows.flatMap(({ name, file }) => (file === null ? [] : [[name.slice(6), file]]))),
  }
}

/** The changes beside which a process of the release before could not work on. */
export function findBreaks(before: Catalogue, after: Catalogue): string[] {
  const breaks: string[] = []
  for (const [name, definition] of before.definitions) {
    const now = after.definitions.get(name)
    if (now === definition || name.startsWith('index ')) continue
    // A looser rule than before admits all rows that the release before writes.
    if (name.startsWith('constraint ') && (now === undefined || isWider(definition, now))) continue
    if (name.startsWith('column ') && now === definition.replace(' required', '')) continue
    if (name.startsWith('column ') && now === `${definition} filled`) continue
    breaks.push(
      now === undefined ? `takes away the ${name}` : `changes the ${name} from ${definition} to ${now}`,
    )
  }
  const isNew = (name: string) => !before.definitions.has(name)
  for (const [name, definition] of after.definitions) {
    const [, kind, table = '', rest = ''] = /^(\w+) (\w+)(?:\.(.*))?$/.exec(name) ?? []
    if (!isNew(name) || isNew(`table ${table}`)) continue
    if (kind === 'column' && definition.includes(' required') && !definition.includes(' filled'))
      breaks.push(`adds the ${name}, which the release before does not fill`)
    // Rows of the release before have no value in a new column, and no two such rows are equal.
    if (kind === 'index' && definition.startsWith('unique') && !columnsOf(definition).some(isNewIn(table)))
      breaks.push(`adds the unique ${name}, which may refuse what the release before writes`)
    // A row without a value in one column of a foreign key refers to nothing.
    const isReference = definition.startsWith('FOREIGN KEY') && columnsOf(definition).some(isNewIn(table))
    if (kind === 'constraint' && !isReference && !columnsOf(definition).every(isNewIn(table)))
      breaks.push(`adds the ${name} (${rest}), which may refuse what the release before writes`)
  }
  return breaks

  function isNewIn(table: string): (column: string) => boolean {
    return column => isNew(`column ${table}.${column}`)
  }
}

const columnsOf = (definition: string) => definition.split(' on ').at(-1)?.split(',') ?? []

/** Whether a check lists all the texts that it listed before. */
function isWider(before: string, now: string): boolean {
  const texts = (definition: string) => new Set(definition.match(/'[^']*'/g))
  const shape = (definition: string) => definition.replace(/'[^']*'(::text)?(, )?/g, '')
  return shape(before) === shape(now) && [...texts(before)].every(text => texts(now).has(text))
}

/** The changes that lock a big table for as long as it takes to read or write all of it. */
export function findLongLocks(before: Catalogue, after: Catalogue): string[] {
  const long: string[] = []
  for (const [table, file] of before.files) {
    const now = after.files.get(table)
    if (BIG.test(table) && now !== undefined && now !== file) long.push(`rewrites every row of ${table}`)
  }
  for (const name of after.definitions.keys()) {
    const [, kind, table = ''] = /^(index|constraint) (\w+)\./.exec(name) ?? []
    if (!kind || before.definitions.has(name) || !before.files.has(table) || !BIG.test(table)) continue
    const definition = after.definitions.get(name) ?? ''
    if (kind === 'index') long.push(`builds the ${name} under a lock that keeps everybody from writing`)
    else if (!definition.includes('NOT VALID'))
      long.push(`checks every row for the ${name} (NOT VALID does not)`)
  }
  return long
}
