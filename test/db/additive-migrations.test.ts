import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import type { Driver } from '../../db/drivers/driver.ts'
import { MIGRATIONS } from '../../db/folders.ts'
import { migrate, readMigrations } from '../../db/migrate.ts'
import {
  createTestDatabase,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { type Catalogue, findBreaks, findLongLocks, readCatalogue } from '../support/schema-changes.ts'

/** Migrations up to this one were written before anybody ran a release beside the next. */
const LAST_WITHOUT = '0175'

// docs/upgrade.md says how migrations are written. This test applies them one by one and compares the catalogue before
// and after each, so that no way to write a change hides it.
describe.skipIf(postgresMissing())('A migration', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-additive-'))
  const migrations = readMigrations()
  let template: TestDatabase
  let url: string
  let db: Database & { driver: Driver }

  beforeAll(async () => {
    template = await createTestDatabase('postgres')
    const name = `additive_${randomUUID().replaceAll('-', '')}`
    const client = new pg.Client({ connectionString: template.url })
    await client.connect()
    await client.query(`CREATE DATABASE ${name}`)
    await client.end()
    const address = new URL(template.url as string)
    address.pathname = name
    url = address.href
    db = await openTestDatabase({ ...template, url })
    for (const { name } of migrations.filter(({ name }) => name <= LAST_WITHOUT || isOld(name)))
      cpSync(join(MIGRATIONS, name), join(folder, name))
    await migrate(db.driver, { folder })
  })
  afterAll(async () => {
    await db?.close()
    const client = new pg.Client({ connectionString: template.url })
    await client.connect()
    await client.query(`DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
    await client.end()
    await template?.remove()
    rmSync(folder, { recursive: true })
  })

  const isOld = (name: string) => name.startsWith(LAST_WITHOUT)
  async function changesOf(name: string, text: string): Promise<{ before: Catalogue; after: Catalogue }> {
    const before = await readCatalogue(db.system)
    writeFileSync(join(folder, name), text)
    await migrate(db.driver, { folder })
    return { before, after: await readCatalogue(db.system) }
  }

  it('of this release lets the release before work on, and holds no lock on a big table for long', async () => {
    for (const { name, text, contracts } of migrations) {
      if (name <= LAST_WITHOUT || isOld(name)) continue
      const { before, after } = await changesOf(name, text)
      const breaks = contracts ? [] : findBreaks(before, after)
      expect([...breaks, ...findLongLocks(before, after)], name).toEqual([])
    }
  })

  it.each([
    ['ALTER TABLE hubs DROP COLUMN name', 'takes away the column hubs.name'],
    ['ALTER TABLE hubs RENAME COLUMN lng TO longitude', 'takes away the column hubs.lng'],
    ['ALTER TABLE hubs ADD COLUMN must text NOT NULL', 'adds the column hubs.must'],
    ['ALTER TABLE teams ALTER COLUMN name TYPE varchar(20)', 'changes the column teams.name'],
    ['ALTER TABLE devices ALTER COLUMN hub_id SET NOT NULL', 'changes the column devices.hub_id'],
    ['ALTER TABLE team_users RENAME TO crews', 'takes away the table team_users'],
    [`DO $$ BEGIN EXECUTE 'DROP TABLE device_traces CASCADE'; END $$`, 'takes away the table device_traces'],
    ['ALTER TABLE vehicles ADD CHECK (length(name) < 5)', 'adds the constraint vehicles.'],
    ['CREATE UNIQUE INDEX one_name ON vehicles (name)', 'adds the unique index vehicles.one_name'],
  ])('is refused: %s', async (text, reason) => {
    const { before, after } = await changesOf(nextName(), text)
    expect(findBreaks(before, after).join()).toContain(reason)
  })

  it.each([
    ['CREATE INDEX by_speed ON points (speed)', 'builds the index points.by_speed'],
    ['ALTER TABLE tasks ADD COLUMN at timestamptz DEFAULT clock_timestamp()', 'rewrites every row of tasks'],
    ["ALTER TABLE tasks ADD CHECK (name <> 'x')", 'checks every row for the constraint tasks.'],
  ])('is refused for its lock: %s', async (text, reason) => {
    const { before, after } = await changesOf(nextName(), text)
    expect(findLongLocks(before, after).join()).toContain(reason)
  })

  it.each([
    'CREATE TABLE additions (id uuid PRIMARY KEY, name text NOT NULL UNIQUE CHECK (length(name) < 9))',
    `ALTER TABLE hubs ADD COLUMN note text NOT NULL DEFAULT '' CHECK (length(note) < 9)`,
    'ALTER TABLE hubs ALTER COLUMN lat DROP NOT NULL',
    'ALTER TABLE tasks ADD COLUMN colour text',
    'ALTER TABLE teams ADD COLUMN flow uuid, ADD FOREIGN KEY (organization_id, flow) REFERENCES flows (organization_id, id)',
    'ALTER TABLE teams ADD COLUMN code text; CREATE UNIQUE INDEX by_code ON teams (organization_id, code)',
    `ALTER TABLE tasks ADD CONSTRAINT named CHECK (name <> 'y') NOT VALID`,
  ])('may be: %s', async text => {
    const { before, after } = await changesOf(nextName(), text)
    expect(findLongLocks(before, after)).toEqual([])
    if (!text.includes('NOT VALID')) expect(findBreaks(before, after)).toEqual([])
  })

  let last = 9_000
  const nextName = () => `${++last}_test.sql`
})
