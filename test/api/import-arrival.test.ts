import { once } from 'node:events'
import { existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { pruneImports } from '../../db/queries/imports.ts'
import { createImportFiles } from '../../src/resources/imports/files.ts'
import { type Client, signIn } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { hold } from '../support/hold.ts'
import { ended, importFile, upload } from '../support/imports.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { until } from '../support/wait.ts'

/** Tables with a name each, and a row that fails: their files are kept. */
const ADA = 'Name,Nr\nAda,1,2\n'
const BOB = 'Name,Nr\nBob,1,2\n'
const EVE = 'Name,Nr\nEve,1,2\n'

describe('A file that arrives', () => {
  const { server, database } = useServer()
  let owner: Client
  let dataTypeId: string

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
    const fields = [{ key: 'name', label: 'Name', type: 'text' }]
    dataTypeId = (await owner.post('/data-type', { name: 'Customer', fields })).body.data._id
  })

  const key = () => ({ 'idempotency-key': crypto.randomUUID() })
  const send = (file: string, headers: { [name: string]: string }, fields = {}, name = 'a.csv') =>
    upload(server, owner, file, { dataTypeId, ...fields }, name, headers)
  const countImports = async () => (await owner.get('/import-monitoring')).body.pagination.total
  const files = () => readdirSync(join(database.dataDir, 'imports')).sort()

  it('twice under one Idempotency-Key is one import, whatever marks the form puts between its parts', async () => {
    const headers = key()
    const before = await countImports()
    const first = await send(ADA, headers)
    await ended(owner, first.body.data._id)
    const kept = files()
    const again = await send(ADA, headers)
    expect([first.status, again.status]).toEqual([202, 202])
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    const twins = key()
    const both = await Promise.all([send(BOB, twins), send(BOB, twins)])
    expect(both.map(({ status }) => status)).toEqual([202, 202])
    expect(both[0]?.body).toEqual(both[1]?.body)
    expect(await countImports()).toBe(before + 2)
    // Files that came for nothing are deleted, after the answer.
    await until("the twin's file is gone", () => files().length <= kept.length + 1)
    expect(files()).toEqual([...kept, both[0]?.body.data._id].sort())
  })

  it('under a key of another file, as long as it, or with other fields is 409', async () => {
    const headers = key()
    const before = await countImports()
    expect((await send(ADA, headers)).status).toBe(202)
    expect((await send(EVE, headers)).status).toBe(409)
    expect((await send(ADA, headers, {}, 'b.csv')).status).toBe(409)
    expect((await send(ADA, headers, { dryRun: 'true' })).status).toBe(409)
    expect(await countImports()).toBe(before + 1)
    // A rejection is an answer like any other.
    const refused = key()
    expect((await send(ADA, refused, { shoe: 'x' })).status).toBe(400)
    expect((await send(ADA, refused)).status).toBe(409)
  })

  it.each<[number, string, string]>([
    [413, 'it announces more than is ever read', 'Content-Length: 999999999999'],
    [415, 'it is compressed', 'Content-Length: 1000\r\nContent-Encoding: gzip'],
  ])('is %d where %s, before it is there', async (status, _what, headers) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    try {
      const body = status === 413 ? form(ADA) : form(ADA).padEnd(1_000)
      socket.write(
        `POST /api/v3/data/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.token}\r\n` +
          `Content-Type: multipart/form-data; boundary=x\r\n${headers}\r\n\r\n${body}`,
      )
      const [answer] = (await once(socket, 'data')) as [Buffer]
      expect(answer.toString()).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    } finally {
      socket.destroy()
    }
  })

  it.each<[string, string]>([
    ['a field without a name', 'form-data\r\n\r\nx'],
    ['a field with an empty name', 'form-data; name=""\r\n\r\nx'],
    ['a file without a name', 'form-data; filename="a.csv"\r\n\r\nName\r\n'],
    [
      'JSON that is no text',
      'form-data; name="mode"\r\nContent-Type: application/json\r\n\r\n{"toString":1,"valueOf":1}',
    ],
  ])('is 400 with %s, and says what to do', async (_what, part) => {
    const response = await fetch(`${server.url}/api/v3/data/import`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${owner.token}`,
        'content-type': 'multipart/form-data; boundary=x',
      },
      body: form(ADA).replace(/^/, `--x\r\nContent-Disposition: ${part}\r\n`),
    })
    const { errors } = (await response.json()) as { errors: object[] }
    expect([response.status, errors]).toEqual([
      400,
      [{ path: expect.any(String), code: expect.any(String), message: expect.stringMatching(/name|text/) }],
    ])
  })

  it.each<[number, string, (person: Awaited<ReturnType<typeof addPerson>>) => Promise<unknown>]>([
    [401, 'session', ({ client }) => client.post('/auth/logout')],
    [403, 'permission', async ({ userId }) => owner.patch(`/user/${userId}`, { roleId: await plainRole() })],
  ])('is %d and gone where its sender loses the %s meanwhile', async (status, _what, lose) => {
    const person = await addPerson(server, owner, { role: 'Admin' })
    const before = [await countImports(), files()]
    const body = form(ADA)
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.write(
      `POST /api/v3/data/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${person.client.token}\r\n` +
        `Content-Type: multipart/form-data; boundary=x\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -10)}`,
    )
    await until('it arrives', () => files().some(name => name.endsWith('.part')))
    expect(await lose(person)).toMatchObject({ status: 200 })
    socket.write(body.slice(-10))
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    socket.destroy()
    await until('nothing is left', () => files().length === (before[1] as string[]).length)
    expect([await countImports(), files()]).toEqual(before)
  })

  it.each<[string, string, object, object]>([
    ['every row is in', 'Name\nAda\n', {}, { status: 'completed' }],
    ['every row would go in', 'Name\nAda\n', { dryRun: 'true' }, { status: 'completed' }],
    ['it is not whole', '[{"data":{"name":"Ada"}},{"data":}]', {}, { status: 'failed', failed: 0 }],
  ])('goes at once where %s, and has no failed rows', async (_what, file, fields, becomes) => {
    const { _id } = await importFile(server, owner, file, { dataTypeId, ...fields })
    expect(await ended(owner, _id)).toMatchObject(becomes)
    await until('its file is gone', () => !files().includes(_id))
    const answer = await owner.get(`/import-monitoring/${_id}/failed-rows`)
    expect([answer.status, answer.body.message]).toEqual([404, 'No row of this import failed.'])
  })

  it('goes with its import when that is cancelled, or later where the process died, but not with rows that failed', async () => {
    const db = await openTestDatabase(database)
    const path = (id: string) => join(database.dataDir, 'imports', id)
    try {
      const { _id: example } = await importFile(server, owner, ADA, { dataTypeId })
      const ids = await db.system.query<{ id: string; failed: number; status: string }>(
        `INSERT INTO imports (id, organization_id, user_id, file_name, format, data_type_id, data_type_name, mode, dry_run,
           mapping, status, failed)
         SELECT gen_random_uuid(), organization_id, user_id, file_name, format, data_type_id, data_type_name, mode,
           dry_run, mapping, s.status, f.failed
         FROM imports i, (VALUES ('processing'), ('completed')) s(status), (VALUES (0), (1)) f(failed) WHERE i.id = $1
         RETURNING id, failed, status`,
        [example],
      )
      for (const { id, status } of ids) {
        writeFileSync(path(id), ADA)
        if (status !== 'processing') continue
        expect((await owner.post(`/import-monitoring/${id}/cancel`)).status).toBe(200)
      }
      const left = () => ids.filter(({ id }) => existsSync(path(id)))
      expect(left()).toEqual(ids.filter(({ failed, status }) => failed > 0 || status === 'completed'))
      // Not before: the server's own upkeep deletes old files as well.
      const before = Date.now() / 1000 - 2 * 3600
      for (const { id } of left()) utimesSync(path(id), before, before)
      await createImportFiles(database.dataDir).sweep(db.system)
      expect(left()).toEqual(ids.filter(({ failed }) => failed > 0))
      expect(left()).toHaveLength(2)
    } finally {
      await db.close()
    }
  })

  const importing = { permissionName: 'import/data' }
  const seeing = (restrictedFields: string[]) => ({
    permissionName: 'view/data',
    dataTypes: [{ dataTypeId, restrictedFields }],
  })
  /** One of these records exists already, and is equal. */
  const KNOWN = 'Name\nKnown\n'
  const REFUSED = { status: 'failed', error: expect.stringContaining('may not import'), processed: 0 }

  it
    .skipIf(usualKind() === 'pglite')
    .each<[string, (userId: string, roleId: string) => Promise<unknown>, object]>([
      ['the sender is suspended', userId => owner.patch(`/user/${userId}`, { status: 'suspended' }), REFUSED],
      ['the role may not import any more', (_, roleId) => grant(roleId, [seeing([])]), REFUSED],
      [
        'the role may not see a field any more',
        (_, roleId) => grant(roleId, [importing, seeing(['name'])]),
        { status: 'completed_with_errors', unchanged: 0, failed: 1 },
      ],
    ])('is imported as far as its sender may, where %s between its rows', async (_what, lose, becomes) => {
    const fields = [{ key: 'name', label: 'Name', type: 'text' }]
    const made = await owner.post('/data-type', {
      name: `Known ${crypto.randomUUID()}`,
      fields,
      primaryKey: 'name',
    })
    dataTypeId = made.body.data._id
    await importFile(server, owner, KNOWN, { dataTypeId })
    const role = await owner.post('/role', {
      name: `Importer ${dataTypeId}`,
      permissionDetails: [importing, seeing([])],
    })
    const roleId = role.body.data._id
    const { client, userId } = await addPerson(server, owner, { roleId })
    const db = await openTestDatabase(database)
    try {
      // Like a change of the type, it blocks the batch that has been read already.
      const release = await hold(db, 'SELECT id FROM data_types WHERE id = $1 FOR NO KEY UPDATE', [
        dataTypeId,
      ])
      const importId = (await upload(server, client, KNOWN, { dataTypeId })).body.data._id
      await until('a batch waits', async () => {
        const [row] = await db.system.query<{ waiting: boolean }>(
          `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
             AND wait_event_type = 'Lock' AND query LIKE '%data_types%SHARE%') AS waiting`,
        )
        return row?.waiting === true
      })
      expect(await lose(userId, roleId)).toMatchObject({ status: 200 })
      await release()
      expect(await ended(owner, importId)).toMatchObject(becomes)
    } finally {
      await db.close()
    }
  })

  it('is kept for 30 days, as is what became of it, and while it is worked on', async () => {
    const db = await openTestDatabase(database)
    const path = (id: string) => join(database.dataDir, 'imports', id)
    const ids: string[] = []
    for (const _ of ['old', 'working', 'young']) {
      const { _id } = await importFile(server, owner, ADA, { dataTypeId })
      ids.push(_id)
      const before = Date.now() / 1000 - 2 * 3600
      utimesSync(path(_id), before, before)
    }
    const [old, working, young] = ids as [string, string, string]
    await db.system.query(
      `UPDATE imports SET created_at = now() - interval '30 days 1 minute' WHERE id = ANY($1::uuid[])`,
      [[old, working]],
    )
    await db.system.query(`UPDATE imports SET status = 'processing' WHERE id = $1`, [working])
    const shown = async (id: string) => (await owner.get(`/import-monitoring/${id}`)).status
    const listed = async () =>
      (await owner.get('/import-monitoring?limit=500')).body.data.map(({ _id }: { _id: string }) => _id)
    expect([await shown(old), await shown(working), await shown(young)]).toEqual([404, 200, 200])
    expect((await owner.get(`/import-monitoring/${old}/failed-rows`)).status).toBe(404)
    expect(await listed()).not.toContain(old)
    expect(await listed()).toEqual(expect.arrayContaining([working, young]))
    await pruneImports(db.system)
    await createImportFiles(database.dataDir).sweep(db.system)
    expect(ids.map(id => existsSync(path(id)))).toEqual([false, true, true])
    const left = await db.system.query<{ id: string }>(
      'SELECT DISTINCT import_id AS id FROM import_failures WHERE import_id = ANY($1::uuid[])',
      [ids],
    )
    expect(left.map(({ id }) => id).sort()).toEqual([working, young].sort())
    await db.system.query(`UPDATE imports SET status = 'completed' WHERE id = $1`, [working])
    await pruneImports(db.system)
    expect(await db.system.query('SELECT id FROM imports WHERE id = $1', [working])).toEqual([])
    await db.close()
  })

  const grant = (roleId: string, permissionDetails: object[]) =>
    owner.put(`/role/${roleId}`, { name: `Importer ${crypto.randomUUID()}`, permissionDetails })

  const form = (file: string) =>
    `--x\r\nContent-Disposition: form-data; name="dataTypeId"\r\n\r\n${dataTypeId}\r\n` +
    `--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n${file}\r\n--x--\r\n`

  async function plainRole(): Promise<string> {
    const permissionDetails = [{ permissionName: 'view/data' }]
    return (await owner.post('/role', { name: 'Reader', permissionDetails })).body.data._id
  }
})
