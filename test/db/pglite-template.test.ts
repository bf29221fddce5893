import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../db/client.ts'
import { templatePath } from '../../db/drivers/pglite-template.ts'
import { migrate } from '../../db/migrate.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** Tables that migrations and extensions fill themselves. */
const FILLED = ['clock', 'row_caps', 'schema_migrations', 'spatial_ref_sys']

describe('The database that an empty directory begins from', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fieldline-template-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('has every migration and holds nobody, and its times are those of its first start, also after one that was cut off', async () => {
    const directory = join(folder, 'postgres')
    mkdirSync(`${directory}.draft/global`, { recursive: true })
    writeFileSync(`${directory}.draft/PG_VERSION`, '')
    const before = Date.now()
    const db = await openDatabase({ directory, onError: () => {} })
    expect(await migrate(db.driver)).toEqual({ applied: [], ahead: [] })
    const tables = await db.system.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') ORDER BY relname`,
    )
    expect(tables.length).toBeGreaterThan(40)
    const filled: string[] = []
    for (const { name } of tables) {
      if ((await db.system.query(`SELECT FROM ${name} LIMIT 1`)).length > 0) filled.push(name)
    }
    expect(filled).toEqual(FILLED)
    const [times] = await db.system.query<{ first: number; last: number; zone: string }>(
      `SELECT (extract(epoch FROM min(at)) * 1000)::float8 AS first, (extract(epoch FROM max(at)) * 1000)::float8 AS last
       FROM (SELECT applied_at AS at FROM schema_migrations UNION ALL SELECT seen_at FROM clock) times`,
    )
    expect(times?.first).toBeGreaterThanOrEqual(before)
    expect(times?.last).toBeLessThanOrEqual(Date.now())
    await db.close()
    expect(existsSync(`${directory}.draft`)).toBe(false)
    // Only the owner may read the people's data.
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(statSync(join(directory, 'global/pg_control')).mode & 0o777).toBe(0o600)
  })

  it('is not taken where a migration differs from those it was made of', () => {
    for (const name of ['package.json', 'dist/db', 'db/migrations'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true })
    const look = () =>
      execFileSync(process.execPath, [
        '--input-type=module',
        '--eval',
        `import { existsSync } from 'node:fs'
         import { templatePath } from ${JSON.stringify(join(folder, 'dist/db/drivers/pglite-template.js'))}
         console.log(templatePath().split('/').pop(), existsSync(templatePath()))`,
      ])
        .toString()
        .trim()
    expect(look()).toBe(`${basename(templatePath())} true`)
    appendFileSync(join(folder, 'db/migrations/0001_accounts.sql'), '\n')
    expect(look()).toMatch(/ false$/)
  })
})
