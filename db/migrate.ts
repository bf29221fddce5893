import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Driver } from './drivers/driver.ts'
import { prepareExtensions } from './extensions.ts'
import { takeLock } from './locks.ts'
import { prepareTenantRole } from './tenant-role.ts'

/** The project's own folder, whether this runs from the sources or from dist/. */
const PROJECT = dirname(createRequire(import.meta.url).resolve('#package.json'))
const FOLDER = join(PROJECT, 'db/migrations')

/**
 * Brings the schema up to date: the SQL files of `db/migrations` in the order of their names, each once, forward
 * only, in one transaction under a lock, so that processes which start together take turns.
 */
export async function migrate(driver: Driver): Promise<{ applied: string[] }> {
  const applied: string[] = []
  await driver.setUp(async run => {
    await takeLock({ query: (text, values = []) => run({ text, values }) as Promise<never[]> }, 'migrations')
    await run({
      text: `CREATE TABLE IF NOT EXISTS schema_migrations (
        name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
      values: [],
    })
    const rows = (await run({ text: 'SELECT name FROM schema_migrations', values: [] })) as { name: string }[]
    const done = new Set(rows.map(row => row.name))
    const files = readdirSync(FOLDER)
      .filter(name => name.endsWith('.sql'))
      .sort()
    const unknown = [...done].filter(name => !files.includes(name))
    if (unknown.length > 0) {
      throw new Error(`The database was set up by a newer version of Fieldline (${unknown.join(', ')})`)
    }
    if (done.size === 0) {
      await prepareExtensions(run)
      await prepareTenantRole(run)
    }
    for (const name of files) {
      if (done.has(name)) continue
      for (const text of splitStatements(readFileSync(join(FOLDER, name), 'utf8')))
        await run({ text, values: [] })
      await run({ text: 'INSERT INTO schema_migrations (name) VALUES ($1)', values: [name] })
      applied.push(name)
    }
  })
  return { applied }
}

/**
 * The statements of a migration. Ours end with a semicolon at the end of a line, and what has semicolons inside
 * (DO, functions) stands between dollar quotes.
 */
function splitStatements(sql: string): string[] {
  const statements: string[] = []
  let current = ''
  let quoted = false
  for (const line of sql.split('\n')) {
    if (!quoted && (line.startsWith('--') || line.trim() === '')) continue
    current += `${line}\n`
    if ((line.match(/\$\$/g) ?? []).length % 2 === 1) quoted = !quoted
    if (!quoted && line.trimEnd().endsWith(';')) {
      statements.push(current)
      current = ''
    }
  }
  if (current.trim()) throw new Error(`A migration ends in the middle of a statement: ${current}`)
  return statements
}
