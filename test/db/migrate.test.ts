import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import type { Driver } from '../../db/drivers/driver.ts'
import { sqlState } from '../../db/errors.ts'
import { migrate } from '../../db/migrate.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'

/** Syntax on which a splitter of statements by semicolons fails. */
const NEXT = `CREATE TABLE next_thing (note text DEFAULT 'a;
b'); -- one; two
DO $body$ BEGIN
  /* $$; */ INSERT INTO next_thing DEFAULT VALUES;
END $body$; INSERT INTO next_thing VALUES ($$;$$)`

describe.each(['pglite', 'postgres'] as const)('Migrations on %s', kind => {
  const missing = kind === 'postgres' ? postgresMissing() : undefined
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-migrations-'))
  let files: TestDatabase
  let db: Database & { driver: Driver }

  beforeAll(async () => {
    if (missing) return
    cpSync(resolve(import.meta.dirname, '../../db/migrations'), folder, { recursive: true })
    files = await createTestDatabase(kind)
    db = await openTestDatabase(files)
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
    rmSync(folder, { recursive: true })
  })
  const test = (name: string, work: () => Promise<void>) =>
    it(name, async context => (missing ? context.skip(missing) : work()))
  const countTables = async (name: string) =>
    (await db.system.query('SELECT FROM pg_class WHERE relname = $1', [name])).length

  test('leave nothing where a file fails, not even of the files before it', async () => {
    writeFileSync(join(folder, '9998_good.sql'), 'CREATE TABLE good_thing ();')
    const bad = join(folder, '9999_bad.sql')
    writeFileSync(bad, 'CREATE TABLE bad_thing ();\nSELECT 1 / 0;\nCREATE TABLE worse_thing ();')
    await expect(migrate(db.driver, folder)).rejects.toSatisfy(error => sqlState(error) === '22012')
    for (const name of ['good_thing', 'bad_thing', 'worse_thing']) expect(await countTables(name)).toBe(0)
    rmSync(bad)
    expect(await migrate(db.driver, folder)).toEqual({ applied: ['9998_good.sql'] })
    expect(await countTables('good_thing')).toBe(1)
  })

  test('apply a file once, however many start together', async () => {
    writeFileSync(join(folder, '9999_next.sql'), NEXT)
    const started = await Promise.all(Array.from({ length: 4 }, () => migrate(db.driver, folder)))
    expect(started.flatMap(({ applied }) => applied)).toEqual(['9999_next.sql'])
    expect(await db.system.query('SELECT note FROM next_thing')).toEqual([{ note: 'a;\nb' }, { note: ';' }])
  })

  test('are rejected by an older program', async () => {
    await expect(migrate(db.driver)).rejects.toThrow(/newer version/)
  })
})
