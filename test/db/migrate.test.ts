import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import type { Driver } from '../../db/drivers/driver.ts'
import { sqlState } from '../../db/errors.ts'
import { LOCKS } from '../../db/locks.ts'
import { migrate } from '../../db/migrate.ts'
import { createSchemaCheck } from '../../src/schema.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { hold } from '../support/hold.ts'
import { until } from '../support/wait.ts'

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

  test('leave nothing where a file fails, and keep the whole ones before it', async () => {
    writeFileSync(join(folder, '9998_good.sql'), 'CREATE TABLE good_thing ();')
    const bad = join(folder, '9999_bad.sql')
    writeFileSync(bad, 'CREATE TABLE bad_thing ();\nSELECT 1 / 0;\nCREATE TABLE worse_thing ();')
    await expect(migrate(db.driver, { folder })).rejects.toSatisfy(error => sqlState(error) === '22012')
    for (const name of ['bad_thing', 'worse_thing']) expect(await countTables(name)).toBe(0)
    rmSync(bad)
    expect(await migrate(db.driver, { folder })).toEqual({ applied: [], ahead: [] })
    expect(await countTables('good_thing')).toBe(1)
  })

  test('apply a file once, however many start together', async () => {
    writeFileSync(join(folder, '9999_next.sql'), NEXT)
    const started = await Promise.all(Array.from({ length: 4 }, () => migrate(db.driver, { folder })))
    expect(started.flatMap(({ applied }) => applied)).toEqual(['9999_next.sql'])
    expect(await db.system.query('SELECT note FROM next_thing')).toEqual([{ note: 'a;\nb' }, { note: ';' }])
  })

  test('of a newer program do not keep an older one from working, unless they take something away', async () => {
    expect(await migrate(db.driver)).toEqual({ applied: [], ahead: ['9998_good.sql', '9999_next.sql'] })
    const check = createSchemaCheck(db)
    expect(await check()).toBe(true)
    const contraction = `-- Contracts 0175_former_keys.sql: nothing has read the table since.\nDROP TABLE good_thing;`
    writeFileSync(join(folder, '9999_without.sql'), contraction)
    expect((await migrate(db.driver, { folder })).applied).toEqual(['9999_without.sql'])
    expect(await check()).toBe(false)
    await expect(migrate(db.driver)).rejects.toThrow(
      /newer version of Fieldline.*\(9999_without\.sql\): start that version/,
    )
  })

  test('of an older program, which did not note what they take away, are continued', async () => {
    await db.system.query('ALTER TABLE schema_migrations DROP COLUMN contracts')
    writeFileSync(join(folder, '9999_yet.sql'), 'CREATE TABLE yet_another ();')
    expect((await migrate(db.driver, { folder })).applied).toEqual(['9999_yet.sql'])
  })
})

describe.skipIf(postgresMissing())('A migration beside other work', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-migrations-'))
  let files: TestDatabase
  let db: Database & { driver: Driver }
  beforeAll(async () => {
    cpSync(resolve(import.meta.dirname, '../../db/migrations'), folder, { recursive: true })
    files = await createTestDatabase('postgres')
    db = await openTestDatabase(files)
  })
  afterAll(async () => {
    await db?.close()
    await files?.remove()
    rmSync(folder, { recursive: true })
  })

  it('gives way while somebody reads for long, so that nobody waits for the reader, and is applied afterwards', async () => {
    writeFileSync(join(folder, '9998_wide.sql'), 'ALTER TABLE devices ADD COLUMN wide text;')
    const endReading = await hold(db, 'SELECT FROM devices')
    const said: string[] = []
    const migrating = migrate(db.driver, { folder, onWait: sentence => said.push(sentence) })
    await until('it has met the reader', () => said.length > 0)
    // Each attempt may hold a statement up for as long as it waits itself; none waits for the reader, who never ends.
    for (let n = 0; n < 200; n++) await db.system.query('SELECT FROM devices LIMIT 1')
    expect(said).toEqual([expect.stringMatching(/waits for a lock that somebody else holds/)])
    await endReading()
    expect(await migrating).toEqual({ applied: ['9998_wide.sql'], ahead: [] })
  })

  it('is done by one process at a time, and says that it waits for another one', async () => {
    writeFileSync(join(folder, '9999_slow.sql'), 'CREATE TABLE slow_thing ();')
    const release = await hold(db, 'SELECT pg_advisory_xact_lock($1)', [LOCKS.migrations])
    const said: string[] = []
    const migrating = migrate(db.driver, { folder, onWait: sentence => said.push(sentence) })
    await until('it waits', () => said.length > 0)
    expect(said).toEqual(['Another process migrates the database: waiting until it is done.'])
    // A process that has nothing to do starts meanwhile.
    expect(await migrate(db.driver)).toEqual({ applied: [], ahead: ['9998_wide.sql'] })
    await release()
    expect((await migrating).applied).toEqual(['9999_slow.sql'])
  })
})
