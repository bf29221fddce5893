import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { packTemplate, TEMPLATE, templatePath } from './drivers/pglite-template.ts'

// The last step of the server's build: creates the template from which an embedded server starts
// (drivers/pglite-template.ts). Its name is a hash of its inputs: if it exists, there is nothing to do. This runs with
// TZ=UTC, since PostgreSQL stores the time zone in which it is set up.
const target = templatePath()
if (!existsSync(target)) {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-template-'))
  try {
    // Two builds may run at once.
    const draft = `${target}.${process.pid}`
    writeFileSync(draft, packTemplate(await setUp(join(folder, 'postgres'))))
    renameSync(draft, target)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  for (const name of readdirSync(dirname(target))) {
    const path = join(dirname(target), name)
    if (TEMPLATE.test(name) && path !== target) rmSync(path, { force: true })
  }
}

async function setUp(directory: string): Promise<string> {
  const { openDatabase } = await import('./client.ts')
  const { migrate, UNDATE_TEMPLATE } = await import('./migrate.ts')
  const db = await openDatabase({ directory, onError: error => console.error(error) })
  await migrate(db.driver)
  await db.system.query(UNDATE_TEMPLATE)
  for (const statement of ['SELECT pg_switch_wal()', 'CHECKPOINT']) await db.system.query(statement)
  const [log] = await db.system.query<{ current: string }>(
    'SELECT pg_walfile_name(pg_current_wal_insert_lsn()) AS current',
  )
  await db.close()
  // After a checkpoint nothing needs to be replayed; older segments of the log are only kept for reuse.
  const segments = join(directory, 'pg_wal')
  for (const name of readdirSync(segments)) {
    if (/^[0-9A-F]{24}$/.test(name) && name !== log?.current) rmSync(join(segments, name))
  }
  return directory
}
