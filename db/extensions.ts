import type { Statement } from './drivers/driver.ts'

type Run = (statement: Statement) => Promise<unknown[]>

/**
 * Runs before the first migration: creates PostGIS, which everything needs, trigrams for searches, and TimescaleDB if
 * the server offers it. That decides, once, whether `points` becomes a hypertable: a partitioned table cannot become
 * one later.
 */
export async function prepareExtensions(run: Run): Promise<void> {
  await createExtension(run, 'postgis')
  await createExtension(run, 'pg_trgm')
  // The setting exists when the library is loaded; only superusers may read shared_preload_libraries itself.
  const [timescale] = (await run({
    text: `SELECT 1 FROM pg_available_extensions WHERE name = 'timescaledb' AND (installed_version IS NOT NULL
             OR current_setting('timescaledb.max_background_workers', true) IS NOT NULL)`,
    values: [],
  })) as unknown[]
  if (timescale) await createExtension(run, 'timescaledb')
}

async function createExtension(run: Run, name: string): Promise<void> {
  const [found] = (await run({
    text: `SELECT installed_version IS NOT NULL AS installed FROM pg_available_extensions WHERE name = $1`,
    values: [name],
  })) as { installed: boolean }[]
  if (found?.installed) return
  const statement = `CREATE EXTENSION ${name}`
  if (!found)
    throw new Error(`The database server has no extension ${name}: install it, then run ${statement}`)
  try {
    await run({ text: statement, values: [] })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `The extension ${name} is missing and may not be created by this user (${reason}). ` +
        `An administrator has to run in this database: ${statement};`,
      { cause: error },
    )
  }
}
