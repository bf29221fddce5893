import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { amcheck } from '@electric-sql/pglite/contrib/amcheck'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openPglite } from '../../db/drivers/pglite.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startRefused } from '../support/server.ts'
import { pause } from '../support/wait.ts'

const OLD_RELEASE = resolve(import.meta.dirname, '../support/old-release.mjs')

describe('Two releases on one directory', () => {
  let database: TestDatabase
  let directory: string
  beforeEach(async () => {
    database = await createTestDatabase('pglite')
    directory = join(database.dataDir, 'postgres')
  })
  afterEach(() => database.remove())

  const open = () => openPglite({ directory, onError: () => {} })
  /** Starts the old release, and resolves with its first message. */
  async function startOld(): Promise<{ child: ChildProcess; said: { running?: true; refused?: string } }> {
    const child = fork(OLD_RELEASE, [directory])
    const [said] = (await once(child, 'message')) as [{ running?: true; refused?: string }]
    return { child, said }
  }

  /** Reads every page of every table, which checks the checksums, and compares every index with its table. */
  async function findDamage(): Promise<{ old: number; current: number }> {
    const db = await PGlite.create({ dataDir: directory, extensions: { amcheck, pg_trgm } })
    try {
      await db.exec('CREATE EXTENSION amcheck')
      const damaged = await db.query(
        `SELECT c.oid::regclass AS name, found.* FROM pg_class c, verify_heapam(c.oid) found WHERE c.relkind = 'r'`,
      )
      expect(damaged.rows).toEqual([])
      await db.query(
        `SELECT bt_index_check(c.oid, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'btree' AND c.relkind = 'i' AND i.indisvalid`,
      )
      const { rows } = await db.query<{ old: number; current: number }>(
        `SELECT (SELECT count(*)::int4 FROM old_release) AS old, (SELECT count(*)::int4 FROM this_release) AS current`,
      )
      return rows[0] as { old: number; current: number }
    } finally {
      await db.close()
    }
  }

  it('never open it both: whichever comes second is refused, in words, and nothing is damaged', async () => {
    // An old release writes no format.
    const format = join(directory, 'FIELDLINE_FORMAT')
    rmSync(format)
    const { child, said } = await startOld()
    expect(said).toEqual({ running: true })
    await expect(open()).rejects.toThrow(/is in use by process \d+ .* DATA_DIR/)
    child.send('stop')
    const [{ rows: written }] = (await once(child, 'message')) as [{ rows: number }]
    expect(written).toBeGreaterThan(0)

    const driver = await open()
    expect(readFileSync(format, 'utf8')).toBe('1\n')
    const run = (text: string) => driver.runWriting({ text, values: [] })
    await run(`CREATE TABLE this_release AS SELECT 1 AS n, repeat('x', 200) AS filling`)
    let rows = 1
    const second = startOld()
    let isRefused = false
    void second.finally(() => {
      isRefused = true
    })
    while (!isRefused) {
      await run(`INSERT INTO this_release VALUES (${rows++}, repeat('x', 200))`)
      await pause(10)
    }
    expect((await second).said.refused).toMatch(
      /is in use by process \d+ on .* \(a newer release\)\. .* DATA_DIR/,
    )
    await driver.close()
    expect(await findDamage()).toEqual({ old: written, current: rows })
  })

  describe('of another format', () => {
    it.each([
      [
        'FIELDLINE_FORMAT',
        '2\n',
        /has the format "2" of another release, and this one reads 1: start a release/,
      ],
      ['FIELDLINE_FORMAT', '', /has the format "" of another release/],
      ['PG_VERSION', '17\n', /has files of PostgreSQL 17, and this release reads 18: start a release/],
    ])(
      'is refused before anything is opened where %s holds %j, and opened when it is as it was',
      async (name, text, reason) => {
        const path = join(directory, name)
        const before = readFileSync(path, 'utf8')
        const control = () => readFileSync(join(directory, 'global/pg_control')).toString('base64')
        const untouched = control()
        writeFileSync(path, text)
        await expect(open()).rejects.toThrow(reason)
        expect(control()).toBe(untouched)
        writeFileSync(path, before)
      },
    )

    it('is said by a server in one line, which ends with 1', async () => {
      writeFileSync(join(directory, 'FIELDLINE_FORMAT'), '2\n')
      const { code, stderr } = await startRefused(database)
      expect(code).toBe(1)
      expect(stderr).toMatch(/fieldline cannot start: .*postgres has the format "2".* DATA_DIR\.\n$/)
    })
  })
})
