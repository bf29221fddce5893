import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { openDatabase } from '../../db/client.ts'
import { migrate } from '../../db/migrate.ts'
import { createPartitions } from '../../db/partitions.ts'
import { findChromium } from '../services/chromium.ts'
import { startMosquitto } from '../services/mosquitto.ts'
import { startPostgres } from '../services/postgres.ts'
import { preparePglite } from './pglite-template.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A superuser's URL of the test server, or the reason why there is none. */
    postgres: { url: string } | { reason: string }
    /** Whether Mosquitto's programs are installed, or why not. */
    mosquitto: { available: true } | { reason: string }
    /** The browser's program, or the reason why there is none. */
    chromium: { executable: string } | { reason: string }
    /** A migrated directory of PGlite to copy. */
    pgliteTemplate: string
  }
}

const ROOT = resolve(import.meta.dirname, '../..')

/** Migrated once per run; a test file's database is a clone of it (`createTestDatabase`). */
export const TEMPLATE = 'fieldline_template'

/**
 * Before all tests: prepares the program that they start, the services (native ones if the environment names none), and
 * a migrated database of either kind to copy from. With REQUIRE_SERVICES=1 a missing service fails the run.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await build()
  project.onTestsRerun(build)
  const [postgres, mosquitto, chromium, pgliteTemplate] = await Promise.all([
    startPostgres({ settings: { max_connections: '300' } }),
    startMosquitto(),
    findChromium(),
    preparePglite(),
  ])
  const missing = [postgres, mosquitto, chromium].flatMap(service =>
    service.available ? [] : [service.reason],
  )
  if (process.env.REQUIRE_SERVICES === '1' && missing.length > 0) throw new Error(missing.join('\n'))

  if (postgres.available) await createTemplate(postgres.url)
  project.provide('postgres', postgres.available ? { url: postgres.url } : { reason: postgres.reason })
  project.provide('mosquitto', mosquitto.available ? { available: true } : { reason: mosquitto.reason })
  project.provide(
    'chromium',
    chromium.available ? { executable: chromium.executable } : { reason: chromium.reason },
  )
  project.provide('pgliteTemplate', pgliteTemplate)
  if (mosquitto.available) await mosquitto.stop()
  return async () => {
    if (postgres.available) await postgres.stop()
  }
}

/**
 * Tests start the compiled program. Every run compiles it (1 s if nothing changed), so that no test passes or fails
 * with an older program.
 */
async function build(): Promise<void> {
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: ROOT }).catch(error => {
    throw new Error(`The program does not compile:\n${error.stdout}${error.stderr}`)
  })
}

async function createTemplate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE}`)
  await client.query(`CREATE DATABASE ${TEMPLATE}`)
  await client.end()
  const templateUrl = new URL(url)
  templateUrl.pathname = TEMPLATE
  const db = await openDatabase({ url: templateUrl.href, directory: '', onError: () => {} })
  await migrate(db.driver)
  await createPartitions(db)
  await db.close()
}
