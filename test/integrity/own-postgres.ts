import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Control } from '../services/services.ts'
import type { TestDatabase } from '../support/database.ts'

/** An empty database on the test's own server, and the server as a victim that is killed and restarted. */
export async function createOwnPostgres(url: string, control: Control) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const name = `own_${Math.random().toString(36).slice(2, 10)}`
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  const own = new URL(url)
  own.pathname = name
  const dataDir = mkdtempSync(join(tmpdir(), 'fieldline-test-'))
  const database: TestDatabase = {
    kind: 'postgres',
    url: own.href,
    dataDir,
    remove: async () => rmSync(dataDir, { recursive: true, force: true }),
  }
  const victim = {
    name: 'PostgreSQL',
    async killAndRestart() {
      await control.kill9()
      await control.start()
    },
  }
  return { database, victim }
}
