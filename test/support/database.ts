import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { inject, TestRunner } from 'vitest'
import { type Database, openDatabase } from '../../db/client.ts'
import type { Driver } from '../../db/drivers/driver.ts'

/** Must be the name in `global-setup.ts`; importing it would run the services in every worker. */
const TEMPLATE = 'fieldline_template'

export type Kind = 'postgres' | 'pglite'

export interface TestDatabase {
  kind: Kind
  /** Undefined for PGlite. */
  url: string | undefined
  /** A separate DATA_DIR; with PGlite it contains the migrated database. */
  dataDir: string
  remove(): Promise<void>
}

/** The reason why there is no PostgreSQL here; undefined if there is one. */
export function postgresMissing(): string | undefined {
  const postgres = inject('postgres')
  return 'reason' in postgres ? postgres.reason : undefined
}

/** The kind for tests of the interface: PostgreSQL if it is available. */
export function usualKind(): Kind {
  return postgresMissing() ? 'pglite' : 'postgres'
}

/** A migrated database for one test file: a clone of the run's template. */
export async function createTestDatabase(kind: Kind): Promise<TestDatabase> {
  const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
  const removeDir = () => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
  if (kind === 'pglite') {
    cpSync(inject('pgliteTemplate'), join(dataDir, 'postgres'), { recursive: true })
    return { kind, url: undefined, dataDir, remove: async () => removeDir() }
  }
  const server = inject('postgres')
  if ('reason' in server) throw new Error(server.reason)
  const name = `test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  await asAdministrator(server.url, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
  const url = new URL(server.url)
  url.pathname = name
  return {
    kind,
    url: url.href,
    dataDir,
    async remove() {
      await asAdministrator(server.url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      removeDir()
    },
  }
}

/** The directories of PGlite that a server has opened: nobody else can. */
const opened = new Set<string>()

/** A server opens this database; returns what to call when it has ended. */
export function lend({ dataDir }: TestDatabase): () => void {
  opened.add(dataDir)
  return () => void opened.delete(dataDir)
}

/** Opens a test database in this process. Skips the test that wants to look into PGlite beside its server. */
export async function openTestDatabase(
  database: TestDatabase,
  onError: (error: unknown, doing: string) => void = error => console.error(error),
): Promise<Database & { driver: Driver }> {
  if (database.kind === 'pglite' && opened.has(database.dataDir))
    TestRunner.getCurrentTest()?.context.skip(
      `It looks into the database beside the server: ${postgresMissing()}`,
    )
  return openDatabase({
    url: database.url,
    directory: join(database.dataDir, 'postgres'),
    onError,
  })
}

async function asAdministrator(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
