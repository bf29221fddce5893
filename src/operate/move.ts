import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openDatabase } from '../../db/client.ts'
import { readRelease } from '../http/release.ts'
import { prepareSchema } from '../schema.ts'
import { backUp } from './backup-organization.ts'
import { operate } from './command.ts'
import { restore } from './restore-organization.ts'

// `npm run move`: takes every organization of the embedded database under DATA_DIR to the empty PostgreSQL of DATABASE_URL
// (docs/backup.md). The embedded one is only read, so that going back is starting without DATABASE_URL.
await operate('move', async ({ config, db, logger }) => {
  const directory = join(config.dataDir, 'postgres')
  if (!config.databaseUrl) throw new Error('DATABASE_URL has to name the PostgreSQL to move to.')
  if (!existsSync(directory)) throw new Error(`DATA_DIR (${config.dataDir}) has no embedded database.`)
  checkSecret(config.dataDir, config.jwtSecret.current)
  await prepareSchema(db, logger)
  const [used] = await db.system.query<{ name: string }>('SELECT name FROM organizations LIMIT 1')
  if (used) {
    throw new Error(
      `The database of DATABASE_URL has the organization ${used.name}: move into an empty one, before the first start on it.`,
    )
  }
  const { version, commit } = readRelease()
  const onError = (error: unknown, doing: string) => logger.warn({ err: error }, `Failed: ${doing}`)
  const source = await openDatabase({ directory, onError })
  const folder = await mkdtemp(join(config.dataDir, 'moving-'))
  const moved: string[] = []
  try {
    await prepareSchema(source, logger)
    const organizations = await source.system.query<{ id: string; name: string }>(
      'SELECT id, name FROM organizations WHERE deleted_at IS NULL ORDER BY created_at, id',
    )
    for (const { id, name } of organizations) {
      const path = join(folder, id)
      const release = `${version} (${commit})`
      await backUp({ driver: source.driver, dataDir: config.dataDir, organizationId: id, to: path, release })
      const { rows } = await restore({ db, dataDir: config.dataDir, from: path, keepsAccounts: true })
      moved.push(`${name} (${rows} rows)`)
      await rm(path)
    }
  } finally {
    await source.close()
    await rm(folder, { recursive: true, force: true })
  }
  return `Moved ${moved.join(', ')}. Start with DATABASE_URL from now on; the embedded database is as it was.`
})

/** With another secret, sealed values would not open, and nobody would notice until they are needed. */
function checkSecret(dataDir: string, secrets: readonly string[]): void {
  const path = join(dataDir, 'jwt-secret')
  if (!existsSync(path) || secrets.includes(readFileSync(path, 'utf8').trim())) return
  throw new Error(
    `Webhooks and brokers of the embedded database have secrets that were sealed with the one in ${path}: ` +
      'set JWT_SECRET to its content, or name it in JWT_SECRETS after your own.',
  )
}
