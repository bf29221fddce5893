import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { run } from '../services/commands.ts'
import { startPostgres } from '../services/postgres.ts'
import { asPostgres, binaries, postgresRoot } from '../services/postgres-root.ts'
import { createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, postgresMissing, type TestDatabase } from '../support/database.ts'
import { openServer } from '../support/server.ts'

// docs/backup.md: the whole database by pg_dump, restored on a server that has never seen Fieldline.
describe.skipIf(postgresMissing())('A dump', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-dump-'))
  let stop: (() => Promise<void>) | undefined
  let root: string
  let source: TestDatabase | undefined
  let target: string
  const dump = `/tmp/fieldline-${process.pid}.dump`

  const at = (url: string, database: string) => {
    const other = new URL(url)
    other.pathname = database
    return other.href
  }
  const sql = async (url: string, ...statements: string[]) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }
  const databaseAt = (url: string): TestDatabase => ({
    ...{ kind: 'postgres', url, dataDir: folder },
    remove: async () => {},
  })
  const restore = (url: string, codes: number[]) =>
    run('chroot', [...asPostgres(root), `${binaries}/pg_restore`, `--dbname=${url}`, dump], { codes })

  beforeAll(async () => {
    root = await postgresRoot()
    const fresh = await startPostgres({ own: true })
    if (!fresh.available) throw new Error(fresh.reason)
    stop = fresh.stop
    target = fresh.url
    source = await createTestDatabase('postgres')
    const server = await openServer(source)
    await createDevice(await signIn(server), 'In the dump')
    await server.stop()
    const from = source.url as string
    await run('chroot', [
      ...asPostgres(root),
      `${binaries}/pg_dump`,
      '--format=custom',
      `--file=${dump}`,
      from,
    ])
  })
  afterAll(async () => {
    await stop?.()
    await source?.remove()
    rmSync(join(root, dump), { force: true })
    rmSync(folder, { recursive: true })
  })

  it('that was restored without the role of tenants is refused at the start, in one sentence', async () => {
    await sql(target, 'CREATE DATABASE careless')
    const url = at(target, 'careless')
    await sql(url, 'CREATE EXTENSION IF NOT EXISTS timescaledb', 'SELECT timescaledb_pre_restore()')
    // Errors of single statements are all that pg_restore says.
    expect(await restore(url, [0, 1])).toBe(1)
    await sql(url, 'SELECT timescaledb_post_restore()')
    await expect(openServer(databaseAt(url))).rejects.toThrow(/The role fieldline_tenant does not exist/)
    await sql(url, 'CREATE ROLE fieldline_tenant NOLOGIN')
    await expect(openServer(databaseAt(url))).rejects.toThrow(
      /fieldline_tenant lacks policies or grants on tables \(.+\).* \(docs\/backup\.md\)/,
    )
    await sql(target, 'DROP DATABASE careless WITH (FORCE)', 'DROP ROLE fieldline_tenant')
  })

  it('that was restored as the documentation says is what it was', async () => {
    await sql(target, 'CREATE ROLE fieldline_tenant NOLOGIN', 'CREATE DATABASE company')
    const url = at(target, 'company')
    await sql(url, 'CREATE EXTENSION IF NOT EXISTS timescaledb', 'SELECT timescaledb_pre_restore()')
    await restore(url, [0, 1])
    await sql(url, 'SELECT timescaledb_post_restore()')
    const server = await openServer(databaseAt(url))
    const owner = await signIn(server)
    const { body } = await owner.get('/devices')
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual(['In the dump'])
    await createDevice(owner, 'After it')
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
    await server.stop()
  })
})
