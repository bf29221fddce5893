import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/client.ts'
import type { Driver } from '../db/drivers/driver.ts'
import { listContractions, type Migrated, migrate, readMigrations } from '../db/migrate.ts'
import { checkTenantRole } from '../db/tenant-role.ts'

/** Migrates the database, and throws if this process could not work with it. */
export async function prepareSchema(
  db: Database & { driver: Driver },
  logger: Pick<FastifyBaseLogger, 'info' | 'warn'>,
): Promise<Migrated> {
  const { applied, ahead } = await migrate(db.driver, { onWait: sentence => logger.warn(sentence) })
  await checkTenantRole(db.system)
  if (applied.length > 0) logger.info({ applied }, 'The schema is up to date')
  if (ahead.length > 0)
    logger.warn({ ahead }, 'The database is that of a newer release, and this one works with it')
  return { applied, ahead }
}

/** No organization has this identifier. */
const NOBODY = '00000000-0000-0000-0000-000000000000'

/**
 * Returns a check whether requests can be carried out: as a tenant, and with a schema that still has what this release
 * uses.
 */
export function createSchemaCheck(db: Database): () => Promise<boolean> {
  const known = new Set(readMigrations().map(({ name }) => name))
  return async () => {
    await db.tenant(NOBODY, tx => tx.query('SELECT FROM hubs LIMIT 1'))
    return (await listContractions(db.system)).every(name => known.has(name))
  }
}
