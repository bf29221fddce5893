import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listTables, SEQUENCES } from '../../db/backup/tables.ts'
import { type Database, newId } from '../../db/client.ts'
import type { Driver } from '../../db/drivers/driver.ts'
import { backUp } from '../../src/operate/backup-organization.ts'
import { type Restored, restore } from '../../src/operate/restore-organization.ts'
import { addApiKey } from '../support/api-keys.ts'
import { fill, fillWork } from '../support/backup-organization.ts'
import { createDevice, readHistory, signIn } from '../support/client.ts'
import {
  createTestDatabase,
  type Kind,
  openTestDatabase,
  postgresMissing,
  type TestDatabase,
} from '../support/database.ts'
import { openServer } from '../support/server.ts'

/** Columns whose values belong to a server, and tables that are compared by what remains. */
const OF_A_SERVER: { [table: string]: string[] } = {
  accounts: ['created_at', 'root'],
  organizations: ['created_at', 'root'],
  newest_fixes: ['log_partition', 'log_offset', 'replaced_offset'],
  geofence_spans: ['id'],
  jobs: ['status', 'lease_until', 'root'],
  connection_states: ['held_by', 'held_until'],
  // Their jobs stay behind.
  imports: ['undo'],
  invitations: ['mail', 'mail_job', 'sealed_token'],
}

const folder = mkdtempSync(join(tmpdir(), 'fieldline-backup-'))
const archive = join(folder, 'company.backup')
const missing = postgresMissing()
type Opened = Database & { driver: Driver }

// Both servers are closed while their databases are looked at, since
// nobody can open an embedded one beside its server.
describe.skipIf(missing)('A backup of an organization', () => {
  let source: TestDatabase
  let db: Opened
  let organizationId: string
  let key: string
  /** The file of an import that waits. */
  let waiting: string
  let deviceId: string
  let points: unknown[]
  let before: Awaited<ReturnType<typeof readAll>>

  beforeAll(async () => {
    source = await createTestDatabase('postgres')
    // Every export becomes a file.
    const server = await openServer(source, { EXPORT_DIRECT_LIMIT: '0' })
    const owner = await signIn(server)
    await fill(owner, server)
    const device = await createDevice(owner, 'Sent by hand')
    deviceId = device.id
    const sent = {
      lat: 1.25,
      lng: -0.1,
      timestamp: Date.now() - 60_000,
      attributes: { text: 'line\nbreak "quoted" \\ ü' },
    }
    const answer = await fetch(`${server.url}/api/v3/location-history/bulk`, {
      method: 'POST',
      headers: { authorization: `Bearer ${device.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ points: [sent] }),
    })
    expect(answer.status).toBe(200)
    points = await readHistory(owner, deviceId)
    key = (await addApiKey(server, owner)).key
    await server.stop()
    db = await openTestDatabase(source)
    const [organization] = await db.system.query<{ id: string }>('SELECT id FROM organizations')
    organizationId = organization?.id as string
    waiting = `imports/${await fillWork(db, organizationId)}`
    const path = join(source.dataDir, waiting)
    writeFileSync(path, 'Name,Code')
    await backUp({
      // Meanwhile the import ends.
      driver: whenRead(db.driver, 'points', () => rmSync(path, { force: true })),
      dataDir: source.dataDir,
      organizationId,
      to: archive,
      release: 'a release',
    })
    before = await readAll(db, organizationId)
  })
  afterAll(async () => {
    await db?.close()
    await source?.remove()
    rmSync(folder, { recursive: true })
  })

  it('knows every table of the database, and every sequence', async () => {
    await db.driver.setUp(async ({ run }) => {
      expect((await listTables(run)).unnamed).toEqual([])
      const sequences = (await run({
        text: `SELECT c.relname AS name FROM pg_class c WHERE relkind = 'S' AND relnamespace = current_schema()::regnamespace
          AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = c.oid AND deptype IN ('i', 'e')) ORDER BY 1`,
        values: [],
      })) as { name: string }[]
      expect(sequences.map(({ name }) => name)).toEqual(Object.keys(SEQUENCES).sort())
    })
  })

  it('is readable by its owner alone, and whole or refused', async () => {
    expect(statSync(archive).mode & 0o777).toBe(0o600)
    const target = await createTestDatabase('postgres')
    const empty = await openTestDatabase(target)
    const options = { db: empty, dataDir: target.dataDir }
    const broken = join(folder, 'broken.backup')
    const bytes = readFileSync(archive)
    const text = gunzipSync(bytes).toString()
    for (const [content, reason] of [
      [bytes.subarray(0, bytes.length / 2), /is torn/],
      [gzipSync(text.slice(0, text.lastIndexOf('{"end"'))), /is torn/],
      [gzipSync(text.replace('\n[', '\n')), /belongs to no file/],
      [gzipSync(text.replace('\n[', '\nx')), /none of an archive/],
      [gzipSync('{"a": 1}\n'), /no backup of an organization/],
      [Buffer.from('no gzip'), /no backup of an organization/],
      [gzipSync(text.replace('"format":1', '"format":2')), /format 2 and this release reads 1/],
      [
        gzipSync(text.replace('"0001_accounts.sql"', '"9999_later.sql"')),
        /newer release \(a release, 9999_later\.sql\)/,
      ],
      [gzipSync(text.replace('{"end"', '{"file":"../jwt-secret","bytes":1}\n{"end"')), /none of an archive/],
    ] as const) {
      writeFileSync(broken, content)
      await expect(restore({ ...options, from: broken })).rejects.toThrow(reason)
    }
    expect(await empty.system.query('SELECT FROM organizations WHERE id = $1', [organizationId])).toEqual([])
    await empty.close()
    await target.remove()
  })

  it('is not made without the file of an import that waits', async () => {
    const to = join(folder, 'without.backup')
    const from = { driver: db.driver, dataDir: source.dataDir, organizationId, release: 'a release' }
    await expect(backUp({ ...from, to })).rejects.toThrow(/import [0-9a-f-]{36} has no file in DATA_DIR/)
    expect(existsSync(to)).toBe(false)
  })

  it('is refused where the organization is', async () => {
    await expect(restore({ db, dataDir: source.dataDir, from: archive })).rejects.toThrow(
      /is in this database: delete it first/,
    )
  })

  it.each(['postgres', 'pglite'] as const satisfies Kind[])(
    'is on %s what it was, row by row, works there, and goes back the same way from an embedded database',
    async kind => {
      const { target, there, restored } = await restoreTo(kind)
      expect(restored.known).toEqual(['owner@example.com'])
      expect(restored.files).toBeGreaterThan(0)
      for (const [name, content] of readFiles(source.dataDir))
        expect(readFileSync(join(target.dataDir, name)).equals(content), name).toBe(true)
      expect(Object.values(before).flat().length).toBeGreaterThan(1_000)
      expect(Object.keys(before).filter(name => before[name]?.length === 0)).toEqual([])
      expect(existsSync(join(source.dataDir, waiting))).toBe(false)
      expect(readFileSync(join(target.dataDir, waiting), 'utf8')).toBe('Name,Code')
      const work = `SELECT i.undo->>'status' AS undo, n.mail FROM imports i JOIN invitations n USING (organization_id) WHERE i.undo IS NOT NULL`
      expect(await there.system.query(`${work} AND organization_id = $1`, [organizationId])).toEqual([
        { undo: 'failed', mail: 'failed' },
      ])
      expect(await readAll(there, organizationId)).toEqual(before)
      const again = join(folder, 'again.backup')
      const from = { driver: there.driver, dataDir: target.dataDir, organizationId, release: 'a release' }
      if (kind === 'pglite') await backUp({ ...from, to: again })
      await there.close()

      const server = await openServer(target)
      const owner = await signIn(server, { ...CREDENTIALS, organizationId })
      expect(await readHistory(owner, deviceId)).toEqual(points)
      const program = await fetch(`${server.url}/api/v3/devices`, {
        headers: { authorization: `Bearer ${key}` },
      })
      expect(program.status).toBe(200)
      // Numbers that a server gives go on, so that nothing new meets what was restored.
      const late = await createDevice(owner, 'Later')
      const sent = await fetch(`${server.url}/api/v3/location-history/bulk`, {
        method: 'POST',
        headers: { authorization: `Bearer ${late.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ points: [{ lat: 3, lng: 4, timestamp: Date.now() - 1_000 }] }),
      })
      expect(sent.status).toBe(200)
      expect(await readHistory(owner, late.id)).toHaveLength(1)
      await server.stop()

      await target.remove()
      if (kind === 'postgres') return
      const third = await createTestDatabase('postgres')
      const back = await openTestDatabase(third)
      await restore({ db: back, dataDir: third.dataDir, from: again })
      expect(await readAll(back, organizationId)).toEqual(before)
      await back.close()
      await third.remove()
    },
  )

  it('that somebody has changed reaches no other organization, no session, and no job with a payload of its own', async () => {
    const target = await createTestDatabase('postgres')
    const server = await openServer(target)
    const owner = await signIn(server)
    await createDevice(owner, 'Theirs')
    await server.stop()
    const there = await openTestDatabase(target)
    const [other] = await there.system.query<{ id: string }>('SELECT id FROM organizations')
    const theirs = await readAll(there, other?.id as string)
    const [header = '', ...lines] = gunzipSync(readFileSync(archive)).toString().split('\n')
    const columns = await there.system.query<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = 'jobs'::regclass AND attnum > 0 AND NOT attisdropped`,
    )
    const job = {
      id: newId(),
      kind: 'organization-removal',
      payload: JSON.stringify({ organizationId: other?.id }),
    }
    const given = { ...job, status: 'queued', attempts: '0' } as { [name: string]: string }
    const jobs = Object.keys(given).filter(name => columns.some(column => column.name === name))
    const extra = [
      JSON.stringify({ table: 'jobs', columns: jobs }),
      JSON.stringify(jobs.map(name => given[name])),
    ]
    const end = JSON.parse(lines.at(-2) as string)
    end.end.rows++
    const changed = [
      ...lines.slice(0, -2).map(line => line.replaceAll(organizationId, other?.id as string)),
      ...extra,
    ]
    const path = join(folder, 'changed.backup')
    writeFileSync(path, gzipSync(`${[header, ...changed, JSON.stringify(end)].join('\n')}\n`))
    await restore({ db: there, dataDir: target.dataDir, from: path })
    expect(await readAll(there, other?.id as string)).toEqual(theirs)
    expect(await there.system.query(`SELECT kind FROM jobs WHERE id = $1`, [job.id])).toEqual([])
    const sessions = `SELECT FROM sessions JOIN users ON users.id = user_id WHERE account_id IS NOT NULL`
    expect(await there.system.query(`${sessions} AND organization_id = $1`, [organizationId])).toEqual([])
    await there.close()
    await target.remove()
  })

  async function restoreTo(kind: Kind): Promise<{ target: TestDatabase; there: Opened; restored: Restored }> {
    const target = await createTestDatabase(kind)
    // Its first start creates an owner with the same address, and a device moves the keys of subjects.
    const server = await openServer(target, { FIELDLINE_ORGANIZATION: 'Another' })
    await createDevice(await signIn(server), 'Here before')
    await server.stop()
    const there = await openTestDatabase(target)
    const restored = await restore({ db: there, dataDir: target.dataDir, from: archive })
    return { target, there, restored }
  }
})

const CREDENTIALS = { email: 'owner@example.com', password: 'correct horse battery' }

/** The driver, which does something as soon as the rows of a table are read. */
const whenRead = (driver: Driver, table: string, act: () => void): Driver => ({
  ...driver,
  setUp: work =>
    driver.setUp(session =>
      work({
        ...session,
        run(statement) {
          if (statement.text.includes(`"${table}"`)) act()
          return session.run(statement)
        },
      }),
    ),
})

/** The finished files of exports. */
function readFiles(dataDir: string): [name: string, content: Buffer][] {
  return readdirSync(join(dataDir, 'exports'))
    .filter(name => name.includes('.'))
    .map(name => [join('exports', name), readFileSync(join(dataDir, 'exports', name))])
}

/** Every row of an organization by table, with keys of subjects as the identifiers that they stand for. */
async function readAll(db: Opened, organizationId: string): Promise<{ [table: string]: string[] }> {
  return db.driver.setUp(async ({ run, exec }) => {
    await exec(`SET LOCAL timezone = 'UTC'`)
    const { tables } = await listTables(run)
    const rows: { [table: string]: string[] } = {}
    for (const { name, kind, columns } of tables) {
      if (kind === 'accounts' || kind === 'account') continue
      const compared = columns
        .map(column => column.name)
        .filter(column => !OF_A_SERVER[name]?.includes(column) && column !== 'account_id')
        .filter(column => !(name === 'subjects' && column === 'key'))
        .map(column =>
          column === 'subject_key' ? '(SELECT id FROM subjects WHERE key = t.subject_key)' : `t."${column}"`,
        )
      const own = {
        organization: `${name === 'organizations' ? 'id' : 'organization_id'} = $1`,
        subject: 'subject_key IN (SELECT key FROM subjects WHERE organization_id = $1)',
        keys: 'key_digest IS NOT NULL AND user_id IN (SELECT id FROM users WHERE organization_id = $1)',
      }[kind]
      const found = (await run({
        text: `SELECT json_build_array(${compared.join(', ')})::text AS row FROM "${name}" t WHERE ${own}
          ${name === 'jobs' ? `AND kind IN ('import', 'export') AND status IN ('queued', 'running')` : ''} ORDER BY 1`,
        values: [organizationId],
      })) as { row: string }[]
      rows[name] = found.map(({ row }) => row)
    }
    return rows
  })
}
