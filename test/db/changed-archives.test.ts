import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { backUp } from '../../src/operate/backup-organization.ts'
import { restore } from '../../src/operate/restore-organization.ts'
import { signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, postgresMissing } from '../support/database.ts'
import { addPerson } from '../support/people.ts'
import { openServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldline-changed-archive-'))
const archive = join(folder, 'company.backup')

describe.skipIf(postgresMissing())('An archive that somebody has changed', () => {
  let organizationId: string

  beforeAll(async () => {
    const source = await createTestDatabase('postgres')
    const server = await openServer(source)
    await addPerson(server, await signIn(server))
    await server.stop()
    const db = await openTestDatabase(source)
    const [organization] = await db.system.query<{ id: string }>('SELECT id FROM organizations')
    organizationId = organization?.id as string
    const { driver } = db
    await backUp({ driver, dataDir: source.dataDir, organizationId, to: archive, release: 'a release' })
    await db.close()
    await source.remove()
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it('neither runs the server, nor shares with others, nor stands for somebody else, nor replaces a file', async () => {
    const target = await createTestDatabase('postgres')
    const server = await openServer(target, { EXPORT_DIRECT_LIMIT: '0' })
    const owner = await signIn(server)
    const fields = [{ key: 'name', label: 'Name', type: 'text' }]
    const dataTypeId = (await owner.post('/data-type', { name: 'Theirs', fields })).body.data._id
    await owner.post('/data', { dataTypeId, data: { name: 'Theirs' } })
    await owner.post('/data/export', { dataTypeId, format: 'json' })
    const exports = async () => (await owner.get('/tasks/export-log')).body.data
    await until('the file is there', async () => (await exports())[0]?.status === 'completed')
    await server.stop()
    const there = await openTestDatabase(target)
    const [other] = await there.system.query<{ id: string }>('SELECT id FROM organizations')
    const stranger = other?.id as string
    const lines = gunzipSync(readFileSync(archive)).toString().trimEnd().split('\n')
    const changes = { created_at: '1970-01-01 00:00:00+00', root: stranger } as { [column: string]: string }
    let columns: string[] = []
    let accountId = ''
    const changed = lines.slice(0, -1).map(line => {
      if (line.startsWith('{')) {
        const { table, columns: its } = JSON.parse(line)
        columns = ['organizations', 'accounts'].includes(table) ? its : []
        return line
      }
      if (!line.startsWith('[') || columns.length === 0) return line
      const values = JSON.parse(line) as string[]
      const isNew = values[columns.indexOf('email')]?.includes('owner') === false
      if (columns.includes('email') && isNew) accountId = values[0] as string
      return JSON.stringify(values.map((value, index) => changes[columns[index] as string] ?? value))
    })
    const identity = [
      JSON.stringify({ table: 'account_identities', columns: ['account_id', 'issuer', 'subject'] }),
      JSON.stringify([accountId, 'https://id.example', 'somebody else']),
    ]
    const write = (...more: string[]) => {
      const path = join(folder, 'standing.backup')
      const all = [...changed, ...more]
      const rows = all.filter(line => line.startsWith('[')).length
      const files = all.filter(line => line.startsWith('{"file"')).length
      writeFileSync(path, gzipSync(`${[...all, JSON.stringify({ end: { rows, files } })].join('\n')}\n`))
      return { db: there, dataDir: target.dataDir, from: path }
    }
    const name = readdirSync(join(target.dataDir, 'exports')).find(one => one.endsWith('.json'))
    const theirs = `exports/${name}`
    const content = readFileSync(join(target.dataDir, theirs))
    const file = JSON.stringify({ file: theirs, bytes: 4 })
    await expect(restore(write(...identity, file, '"YmFk"'))).rejects.toThrow(
      /belongs to another organization/,
    )
    expect(readFileSync(join(target.dataDir, theirs))).toEqual(content)
    const accounts = ['id', 'email', 'folded_email']
    for (const [email, folded] of [
      ['stranger@evil.example', 'boss@example.com'],
      ['boss@example.com', 'boss@example.com'],
    ])
      await expect(
        restore(
          write(
            JSON.stringify({ table: 'accounts', columns: accounts }),
            JSON.stringify([newId(), email, folded]),
          ),
        ),
      ).rejects.toThrow(/account of no member, or under an address that is not its own/)
    await restore(write(...identity))
    const [oldest] = await there.system.query('SELECT id FROM organizations ORDER BY created_at, id')
    expect(oldest).toEqual({ id: stranger })
    const roots = await there.system.query(
      `SELECT root FROM accounts WHERE id = $1 UNION ALL SELECT coalesce(root, id) FROM organizations WHERE id = $2`,
      [accountId, organizationId],
    )
    expect(roots).toEqual([{ root: organizationId }, { root: organizationId }])
    expect(await there.system.query('SELECT subject FROM account_identities')).toEqual([])
    await there.close()
    await target.remove()
  })
})
