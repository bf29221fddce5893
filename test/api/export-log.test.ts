import { existsSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { createFolder } from '../../db/durable-files.ts'
import { listKeptFiles } from '../../db/queries/export-logs.ts'
import { createExportFiles } from '../../src/resources/exports/files.ts'
import { DIRECT_LIMIT, useExports } from '../support/exports.ts'
import { importFile } from '../support/imports.ts'
import { addPerson } from '../support/people.ts'
import { openScreen, type TestScreen } from '../support/screen.ts'
import { until } from '../support/wait.ts'

describe('The log of exports', () => {
  const {
    server,
    database,
    db,
    owner,
    organizationId,
    addType,
    addMany,
    removeMany,
    passHour,
    whenDone,
    download,
  } = useExports()
  /** An export that is answered directly. */
  let direct: { dataTypeId: string; format: string; fields: string[] }

  beforeAll(async () => {
    const dataTypeId = await addType('Customers', [{ key: 'code', label: 'Code', type: 'text' }])
    direct = { dataTypeId, format: 'json', fields: ['code'] }
  })

  it('shows exports and their files to whoever made them, and to Owner and Admin', async () => {
    const dataTypeId = await addMany(DIRECT_LIMIT + 1)
    const makers = { owner, planner: (await addPerson(server, owner)).client }
    const other = (await addPerson(server, owner)).client
    const admin = (await addPerson(server, owner, { role: 'Admin' })).client
    for (const [name, client] of Object.entries(makers)) {
      const answer = await client.post('/data/export', { ...direct, filter: { code: name } })
      expect(answer.status).toBe(200)
      const [latest] = (await client.get('/tasks/export-log?limit=1')).body.data
      expect(latest).toMatchObject({
        ...{ direct: true, status: 'completed', resource: 'data', format: 'json', filter: { code: name } },
        ...{ fields: ['code'], processed: 0, total: 0, fileBytes: null },
      })
      expect((await client.get(`/tasks/export-log/${latest._id}/file`)).status).toBe(404)
      const { _id } = (await client.post('/data/export', { dataTypeId, format: 'json' })).body.data
      await whenDone(_id, client)
      for (const id of [latest._id, _id]) {
        expect((await client.get(`/tasks/export-log/${id}`)).status).toBe(200)
        expect((await admin.get(`/tasks/export-log/${id}`)).status).toBe(200)
        expect((await owner.get(`/tasks/export-log/${id}`)).status).toBe(200)
        expect((await other.get(`/tasks/export-log/${id}`)).status).toBe(404)
        expect((await other.get(`/tasks/export-log/${id}/file`)).status).toBe(404)
      }
      expect((await admin.get(`/tasks/export-log/${_id}/file`)).status).toBe(200)
    }
    expect((await other.get('/tasks/export-log')).body.data).toEqual([])
    const all = (await admin.get('/tasks/export-log?limit=500')).body.data
    for (const [query, holds] of [
      ['status=completed', (log: { status: string }) => log.status === 'completed'],
      ['format=xlsx', (log: { format: string }) => log.format === 'xlsx'],
      [`dataTypeId=${dataTypeId}`, (log: { dataType: { _id: string } }) => log.dataType?._id === dataTypeId],
      ['resource=tasks', (log: { resource: string }) => log.resource === 'tasks'],
      ['userId=nobody', () => false],
    ] as const) {
      const found = (await admin.get(`/tasks/export-log?limit=500&${query}`)).body.data
      expect(found, query).toEqual(all.filter(holds as never))
    }
    await removeMany(dataTypeId)
  })

  it('shows a file no longer to whoever may not see a field of it any more', async () => {
    const dataTypeId = await addMany(DIRECT_LIMIT + 1)
    const reach = (restrictedFields: string[]) => ({
      name: `Fading ${newId()}`,
      permissionDetails: [
        { permissionName: 'view/data', dataTypes: [{ dataTypeId, restrictedFields }] },
        { permissionName: 'export/data' },
      ],
    })
    const role = (await owner.post('/role', reach([]))).body.data
    const { client } = await addPerson(server, owner, { roleId: role._id })
    const { _id } = (await client.post('/data/export', { dataTypeId, format: 'json' })).body.data
    await whenDone(_id, client)
    expect((await client.get(`/tasks/export-log/${_id}/file`)).status).toBe(200)
    expect((await owner.put(`/role/${role._id}`, reach(['n']))).status).toBe(200)
    const refused = await client.get(`/tasks/export-log/${_id}/file`)
    expect([refused.status, refused.body.restrictedFields]).toEqual([403, ['n']])
    await removeMany(dataTypeId)
  })

  it.each([
    ['type', (dataTypeId: string) => ({ without: dataTypeId })],
    ['field', (dataTypeId: string) => ({ restricting: dataTypeId })],
  ])('shows names of another %s no longer to whoever may not see it any more', async (what, lose) => {
    const named = await addType(`Named ${newId()}`, [{ key: 'code', label: 'Code', type: 'text' }], {
      primaryKey: 'code',
    })
    const fields = [{ key: 'to', label: 'To', type: 'reference', dataTypeId: named }]
    const referring = await addType(`Referring ${newId()}`, fields)
    const to = (await owner.post('/data', { dataTypeId: named, data: { code: 'secret' } })).body.data._id
    const file = `To\n${`${to}\n`.repeat(DIRECT_LIMIT + 1)}`
    await importFile(server, owner, file, { dataTypeId: referring })
    const reach = (lost: { without?: string; restricting?: string }) => ({
      name: `Losing ${what} ${referring}`,
      permissionDetails: [
        {
          permissionName: 'view/data',
          dataTypes: [
            { dataTypeId: referring, restrictedFields: [] },
            { dataTypeId: named, restrictedFields: lost.restricting ? ['code'] : [] },
          ].filter(({ dataTypeId }) => dataTypeId !== lost.without),
        },
        { permissionName: 'export/data' },
      ],
    })
    const role = (await owner.post('/role', reach({}))).body.data
    const { client } = await addPerson(server, owner, { roleId: role._id })
    const paths: { [format: string]: string } = {}
    for (const format of ['xlsx', 'json']) {
      const { _id } = (await client.post('/data/export', { dataTypeId: referring, format })).body.data
      await whenDone(_id, client)
      paths[format] = `/tasks/export-log/${_id}/file`
      expect((await download(client, paths[format] as string)).status).toBe(200)
    }
    expect((await owner.put(`/role/${role._id}`, reach(lose(named)))).status).toBe(200)
    expect((await download(client, paths.xlsx as string)).status).toBe(403)
    // JSON has only identifiers, which the role may see as before.
    const json = await download(client, paths.json as string)
    expect([json.status, String(json.bytes).includes('secret')]).toEqual([200, false])
    expect((await download(owner, paths.xlsx as string)).status).toBe(200)
  })

  it('has no file before an export is completed, says why one failed, and is bounded', async () => {
    const dataTypeId = await addMany(DIRECT_LIMIT + 1)
    const note = async () => {
      const id = newId()
      await db.system.query(
        `INSERT INTO export_logs (id, organization_id, resource, data_type_id, format, is_direct, status, file_name)
         VALUES ($1, $2, 'data', $3, 'json', false, 'queued', 'x.json')`,
        [id, organizationId(), dataTypeId],
      )
      return id
    }
    const id = await note()
    expect((await owner.get(`/tasks/export-log/${id}/file`)).status).toBe(409)
    for (let n = 1; n < 20; n++) await note()
    const refused = await owner.post('/data/export', { dataTypeId, format: 'json' })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.any(String)])
    await db.system.query(`DELETE FROM export_logs WHERE status = 'queued'`)
    const gone = await addPerson(server, owner)
    const { _id } = (await gone.client.post('/data/export', { dataTypeId, format: 'json' })).body.data
    await whenDone(_id)
    await db.system.query(`UPDATE export_logs SET status = 'queued', file_bytes = NULL WHERE id = $1`, [_id])
    await owner.patch(`/user/${gone.userId}`, { status: 'suspended' })
    await db.system.query(
      `INSERT INTO jobs (id, kind, organization_id, payload) VALUES ($1, 'export', $2, $3::jsonb)`,
      [newId(), organizationId(), JSON.stringify({ exportId: _id })],
    )
    expect(await whenDone(_id)).toMatchObject({
      status: 'failed',
      error: 'The user who ordered it is not active any more.',
    })
    expect((await owner.get(`/tasks/export-log/${_id}/file`)).status).toBe(404)
    await removeMany(dataTypeId)
  })

  it('forgets exports with their files after 30 days, and files of nobody', async () => {
    const dataTypeId = await addMany(DIRECT_LIMIT + 1)
    const ids: string[] = []
    for (const _ of [1, 2]) {
      ids.push((await owner.post('/data/export', { dataTypeId, format: 'json' })).body.data._id)
      await whenDone(ids.at(-1) as string)
    }
    const [old, young] = ids as [string, string]
    const files = createExportFiles(database.dataDir)
    // First, since the server's own upkeep may delete the file once its record is old.
    const madeAt = new Date(Date.now() - 30 * 24 * 3_600_000)
    utimesSync(files.path(old, 'json'), madeAt, madeAt)
    await db.system.query(
      `UPDATE export_logs SET created_at = now() - interval '30 days 1 minute' WHERE id = $1`,
      [old],
    )
    expect((await owner.get(`/tasks/export-log/${old}`)).status).toBe(404)
    expect((await owner.get(`/tasks/export-log/${old}/file`)).status).toBe(404)
    await files.sweep(db.system)
    expect(ids.map(id => existsSync(files.path(id, 'json')))).toEqual([false, true])
    // An export that has lost its file to the maximum of its root has a record, so nobody is about to commit one.
    await db.system.query('UPDATE export_logs SET file_bytes = NULL WHERE id = $1', [young])
    await files.sweep(db.system)
    expect(existsSync(files.path(young, 'json'))).toBe(false)
    await removeMany(dataTypeId)
  })

  it('keeps files of nobody for an hour: a restoration writes them before it commits their records', async () => {
    const files = createExportFiles(database.dataDir)
    const paths = [newId(), newId()].flatMap(id => {
      const path = files.path(id, 'json')
      return [path, `${path}.part`]
    })
    createFolder(join(database.dataDir, 'exports'), 0o700)
    for (const path of paths) writeFileSync(path, '[]')
    const age = (minutes: number) => {
      const at = new Date(Date.now() - minutes * 60_000)
      for (const path of paths.slice(0, 2)) utimesSync(path, at, at)
    }
    age(55)
    await files.sweep(db.system)
    expect(paths.map(existsSync)).toEqual([true, true, true, true])
    age(65)
    await files.sweep(db.system)
    expect(paths.map(existsSync)).toEqual([false, false, true, true])
    for (const path of paths.slice(2)) rmSync(path)
  })

  it('keeps 10 GiB of files for all organizations of one root together, the newest, and those of others', async () => {
    const dataTypeId = await addMany(DIRECT_LIMIT + 1)
    const addOther = async (root: string | null) => {
      const [row] = await db.system.query<{ id: string }>(
        `WITH o AS (INSERT INTO organizations (id, name, root) VALUES ($1, 'Other', $2) RETURNING id)
         INSERT INTO export_logs (id, organization_id, resource, format, is_direct, status, file_name, file_bytes, finished_at)
         SELECT gen_random_uuid(), o.id, 'tasks', 'json', false, 'completed', 'x.json', $3, now() - interval '1 hour' FROM o
         RETURNING id`,
        [newId(), root, 10 * 1024 ** 3],
      )
      return row?.id as string
    }
    const [own] = await db.system.query<{ root: string }>(
      'SELECT coalesce(root, id) AS root FROM organizations WHERE id = $1',
      [organizationId()],
    )
    const [related, independent] = [await addOther(own?.root ?? null), await addOther(null)]
    await whenDone((await owner.post('/data/export', { dataTypeId, format: 'json' })).body.data._id)
    const kept = await listKeptFiles(db.system, [related, independent])
    expect([kept.has(related), kept.has(independent)]).toEqual([false, true])
    await db.system.query(`DELETE FROM organizations WHERE name = 'Other'`)
    await removeMany(dataTypeId)
  })

  it('is told of over the live socket, to whoever sees it', async () => {
    const dataTypeId = await addMany(DIRECT_LIMIT + 1)
    const maker = (await addPerson(server, owner)).client
    const other = (await addPerson(server, owner)).client
    const screens = await Promise.all([maker, owner, other].map(({ token }) => openScreen(server, token)))
    const heard = (screen: TestScreen, type: string) =>
      (screen.messages as unknown as { type: string; export?: { _id: string; status: string } }[]).filter(
        message => message.type === type,
      )
    for (const screen of screens) {
      screen.send({ type: 'watch', topics: ['exports'] })
      await until('watching', () => heard(screen, 'watching').length === 1)
    }
    const { _id } = (await maker.post('/data/export', { dataTypeId, format: 'json' })).body.data
    for (const screen of screens.slice(0, 2))
      await until('completed', () => heard(screen, 'export').at(-1)?.export?.status === 'completed')
    const log = (await owner.get(`/tasks/export-log/${_id}`)).body.data
    expect(heard(screens[0] as TestScreen, 'export').at(-1)?.export).toEqual(log)
    // The messages about one change are sent to all watchers in one turn.
    await other.post('/data/export', direct)
    await until('its own', () => heard(screens[2] as TestScreen, 'export').length > 0)
    expect(JSON.stringify(screens[2]?.messages)).not.toContain(_id)
    for (const screen of screens) screen.cut()
    await removeMany(dataTypeId)
  })

  it('stands in the audit log, without the values that were filtered by', async () => {
    await owner.post('/data/export', { ...direct, filter: { code: 'C3' } })
    const [entry] = (await owner.get('/audit-log?limit=1')).body.data
    expect(entry).toMatchObject({ action: 'export', resource: 'data', changes: { format: { to: 'json' } } })
    expect(JSON.stringify(entry)).not.toContain('C3')
  })

  it('has whoever took a file stand in the audit log, once an hour', async () => {
    const dataTypeId = await addMany(DIRECT_LIMIT + 1)
    const admin = await addPerson(server, owner, { role: 'Admin' })
    const other = await addPerson(server, owner)
    const { _id } = (await owner.post('/data/export', { dataTypeId, format: 'json' })).body.data
    await whenDone(_id)
    const path = `/tasks/export-log/${_id}/file`
    const taken = async () => {
      const { data } = (await owner.get('/audit-log?action=export&limit=500')).body
      return data.filter((entry: { resourceId: string }) => entry.resourceId === _id)
    }
    const ordered = await taken()
    expect(ordered).toHaveLength(1)
    expect((await other.client.get(path)).status).toBe(404)
    for (const client of [admin.client, admin.client, owner])
      expect((await client.get(path)).status).toBe(200)
    // The user who ordered it has one entry for that, and one for the download.
    expect(await taken()).toHaveLength(3)
    await passHour()
    for (let n = 0; n < 2; n++) expect((await admin.client.get(path)).status).toBe(200)
    rmSync(createExportFiles(database.dataDir).path(_id, 'json'))
    expect((await owner.get(path)).status).toBe(404)
    const entries = await taken()
    expect(entries).toHaveLength(4)
    const byAdmin = entries.filter(({ userId }: { userId: string }) => userId === admin.userId)
    expect(byAdmin).toHaveLength(2)
    for (const entry of byAdmin)
      expect(entry).toMatchObject({
        ...{ action: 'export', resource: 'data' },
        changes: {
          format: { to: 'json' },
          dataTypeId: { to: dataTypeId },
          fileName: { to: expect.stringContaining('Many') },
        },
      })
    await removeMany(dataTypeId)
  })
})
