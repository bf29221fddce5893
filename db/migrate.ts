import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Driver, SetUpSession } from './drivers/driver.ts'
import { prepareExtensions } from './extensions.ts'
import { foldStoredAddresses } from './fold-stored-addresses.ts'
import { MIGRATIONS } from './folders.ts'
import { lockUntilCommit } from './locks.ts'
import { prepareTenantRole } from './tenant-role.ts'

/** The parts of migrations that SQL cannot compute: each runs after its file, in the same transaction. */
const COMPUTED: { [file: string]: (run: SetUpSession['run']) => Promise<void> } = {
  '0087_folded_addresses.sql': foldStoredAddresses,
}

/**
 * Brings the schema up to date: applies the SQL files of the folder in the order of their names, each once, forward
 * only, in one transaction under a lock. Processes that start together take turns, and a failing file leaves nothing
 * behind.
 */
export async function migrate(driver: Driver, folder = MIGRATIONS): Promise<{ applied: string[] }> {
  const applied: string[] = []
  await driver.setUp(async ({ run, exec }) => {
    await lockUntilCommit(
      { query: (text, values = []) => run({ text, values }) as Promise<never[]> },
      'migrations',
    )
    await run({
      text: `CREATE TABLE IF NOT EXISTS schema_migrations (
        name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
      values: [],
    })
    const rows = (await run({
      text: 'SELECT name, isfinite(applied_at) AS dated FROM schema_migrations',
      values: [],
    })) as { name: string; dated: boolean }[]
    const done = new Set(rows.map(row => row.name))
    const files = readdirSync(folder)
      .filter(name => name.endsWith('.sql'))
      .sort()
    const unknown = [...done].filter(name => !files.includes(name))
    if (unknown.length > 0) {
      throw new Error(
        `The database was set up by a newer version of Fieldline (${unknown.join(', ')}): start that one or a newer one, ` +
          'or give this one another database.',
      )
    }
    if (done.size === 0) {
      await prepareExtensions(run)
      await prepareTenantRole(run)
    }
    if (rows.some(({ dated }) => !dated)) await run({ text: DATE_TEMPLATE, values: [] })
    for (const name of files) {
      if (done.has(name)) continue
      await exec(readFileSync(join(folder, name), 'utf8'))
      await COMPUTED[name]?.(run)
      await run({ text: 'INSERT INTO schema_migrations (name) VALUES ($1)', values: [name] })
      applied.push(name)
    }
  })
  return { applied }
}

/**
 * Before a database becomes a template (db/drivers/pglite-template.ts): removes the times that migrations wrote, which
 * are set at the first start.
 */
export const UNDATE_TEMPLATE = `WITH undated AS (UPDATE schema_migrations SET applied_at = '-infinity')
  UPDATE clock SET seen_at = '-infinity'`

const DATE_TEMPLATE = `WITH dated AS (UPDATE schema_migrations SET applied_at = now() WHERE NOT isfinite(applied_at))
  UPDATE clock SET seen_at = now() WHERE NOT isfinite(seen_at)`
