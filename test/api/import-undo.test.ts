import { describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { type Client, createClient, signIn } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { ended, importFile, upload } from '../support/imports.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

const FIELDS = [
  { key: 'code', label: 'Code', type: 'text' },
  { key: 'name', label: 'Name', type: 'text' },
  { key: 'phone', label: 'Phone', type: 'text', unique: true },
]
const NONE_UNDONE = { deleted: 0, restored: 0, error: 'no', startedAt: '2026-01-01T00:00:00.000Z' }
const NONE_LEFT = { changed: 0, gone: 0, referred: 0, unfit: 0, forgotten: 0 }

describe('Undoing an import', () => {
  const { server, database, owner, organization } = useOrganization()
  let types = 0

  async function makeType(fields: object[] = FIELDS) {
    const name = `Undone ${++types}`
    const body = { name, primaryKey: 'code', fields }
    const dataTypeId = (await owner.post('/data-type', body)).body.data._id as string
    const read = async () =>
      (await owner.get(`/data?dataTypeId=${dataTypeId}&limit=500&sort=createdAt`)).body.data as {
        _id: string
        data: { [key: string]: unknown }
      }[]
    const values = async () => (await read()).map(({ data }) => data)
    const send = (file: string, mode = 'upsert') => importFile(server, owner, file, { dataTypeId, mode })
    return { dataTypeId, name, read, values, send }
  }
  const undo = (id: string, by: Client = owner) => by.post(`/import-monitoring/${id}/undo`)
  const undone = async (id: string) => {
    const answer = await undo(id)
    expect([answer.status, answer.body.data?.undo?.status, answer.body.message]).toEqual([
      202,
      'queued',
      'Undo begun',
    ])
    const read = async () => (await owner.get(`/import-monitoring/${id}`)).body.data
    await until('the undo ends', async () => (await read()).undo.finishedAt !== null)
    return (await read()).undo
  }

  it('deletes what it created and puts back what it changed, of many batches too', async () => {
    const { send, values } = await makeType()
    /** Every so many of the rows. */
    const rows = (count: number, name: string, every = 1) => {
      const lines = Array.from({ length: count }, (_, n) => `${n},${name} ${n},${name}${n}\n`)
      return `Code,Name,Phone\n${lines.filter((_, n) => n % every === 0).join('')}`
    }
    // An import stores 4,000 at a time; its undo deletes 200 and puts back 100.
    await send(rows(300, 'old'))
    const before = await values()
    const second = await send(rows(4_100, 'new'))
    expect(second).toMatchObject({ created: 3_800, updated: 300, canUndo: true, undo: null })
    const result = await undone(second._id)
    expect(result).toMatchObject({
      ...{ status: 'completed', deleted: 3_800, restored: 300, left: NONE_LEFT, error: null },
    })
    expect(await values()).toEqual(before)
    const again = await undo(second._id)
    expect([again.status, again.body.code]).toEqual([409, 'conflict'])
    // Every unique value is free again, and the same rows are imported as if it were the first time.
    expect(await send(rows(4_100, 'new', 10))).toMatchObject({ created: 380, updated: 30, failed: 0 })
  })

  it('takes as many records at a time as their text allows', async () => {
    const name = `Undone ${++types}`
    const fields = ['code', 'note', ...Array.from({ length: 12 }, (_, n) => `text${n}`)]
    const body = { name, primaryKey: 'code', fields: fields.map(key => ({ key, label: key, type: 'text' })) }
    const dataTypeId = (await owner.post('/data-type', body)).body.data._id
    // 3 MB, which no batch reads or puts back at once.
    const long = Object.fromEntries(fields.slice(2).map(key => [key, key.repeat(1_600)]))
    const codes = Array.from({ length: 30 }, (_, n) => `c${n}`)
    const file = JSON.stringify(codes.map(code => ({ data: { code, note: 'old', ...long } })))
    const sent = await upload(server, owner, file, { dataTypeId, mode: 'upsert' }, 'long.json')
    expect(await ended(owner, sent.body.data._id)).toMatchObject({ created: 30, failed: 0 })
    const notes = async () => {
      const { body } = await owner.get(`/data?dataTypeId=${dataTypeId}&limit=500&filter[note]=old`)
      return body.data.length
    }
    const rows = codes.map(code => `${code},new`).join('\n')
    const changed = await importFile(server, owner, `code,note\n${rows}`, { dataTypeId, mode: 'upsert' })
    expect(changed).toMatchObject({ processed: 30, updated: 30, failed: 0 })
    expect(await notes()).toBe(0)
    expect(await undone(changed._id)).toMatchObject({ restored: 30, left: NONE_LEFT })
  })

  it('leaves alone what somebody has changed, deleted or referred to since, and says how many', async () => {
    const { send, read, values, dataTypeId } = await makeType()
    await send('Code,Name,Phone\na,A,1\nb,B,2\nc,C,3\n')
    const first = await send('Code,Name,Phone\na,A2,1\nb,B2,20\nc,C2,3\nd,D,4\ne,E,5\nf,F,6\ng,G,7\n')
    const record = async (code: string) => (await read()).find(({ data }) => data.code === code)
    const idOf = async (code: string) => (await record(code))?._id as string
    await owner.patch(`/data/${await idOf('a')}`, { data: { name: 'Mine' } })
    await owner.patch(`/data/${await idOf('d')}`, { data: { name: 'Mine too' } })
    await owner.delete(`/data/${await idOf('e')}`)
    // The phone of b before the import is another record's now.
    await owner.post('/data', { dataTypeId, data: { code: 'h', phone: '2' } })
    const fields = [{ key: 'of', label: 'Of', type: 'reference', dataTypeId }]
    const orders = (await owner.post('/data-type', { name: `Orders ${types}`, fields })).body.data._id
    await owner.post('/data', { dataTypeId: orders, data: { of: await idOf('f') } })
    expect(await undone(first._id)).toMatchObject({
      ...{ status: 'completed', deleted: 1, restored: 1 },
      left: { changed: 2, gone: 1, referred: 1, unfit: 1, forgotten: 0 },
    })
    expect(await values()).toEqual([
      { code: 'a', name: 'Mine', phone: '1' },
      { code: 'b', name: 'B2', phone: '20' },
      { code: 'c', name: 'C', phone: '3' },
      { code: 'd', name: 'Mine too', phone: '4' },
      { code: 'f', name: 'F', phone: '6' },
      { code: 'h', phone: '2' },
    ])
  })

  it('deletes records that refer to one another, and what fits the changed type is put back', async () => {
    const self = await makeType()
    const fields = [
      ...FIELDS,
      { key: 'parent', label: 'Parent', type: 'reference', dataTypeId: self.dataTypeId },
    ]
    await owner.put(`/data-type/${self.dataTypeId}`, { name: self.name, primaryKey: 'code', fields })
    await self.send('Code,Name\nroot,Old\n')
    const tree = await self.send('Code,Name,Parent\nroot,New,\na,A,root\nb,B,a\nc,C,b\n')
    expect(tree).toMatchObject({ created: 3, updated: 1 })
    await owner.put(`/data-type/${self.dataTypeId}`, {
      name: self.name,
      primaryKey: 'code',
      fields: fields.filter(({ key }) => key !== 'phone'),
    })
    expect(await undone(tree._id)).toMatchObject({ deleted: 3, restored: 1, left: NONE_LEFT })
    expect(await self.values()).toEqual([{ code: 'root', name: 'Old' }])
  })

  it('is refused for a dry run, for one that stored nothing, and to a role that may not delete', async () => {
    const { dataTypeId, send } = await makeType()
    const done = await send('Code,Name\na,A\n')
    const dry = await ended(
      owner,
      (await upload(server, owner, 'Code\nz\n', { dataTypeId, dryRun: 'true' })).body.data._id,
    )
    const same = await send('Code,Name\na,A\n')
    for (const [id, words] of [
      [dry._id, 'dry run'],
      [same._id, 'stored nothing'],
    ] as const) {
      const { status, body } = await undo(id)
      expect([status, body.code]).toEqual([409, 'conflict'])
      expect(body.message).toContain(words)
      expect((await owner.get(`/import-monitoring/${id}`)).body.data.canUndo).toBe(false)
    }
    const permissionDetails = [
      'import/data',
      'view/data',
      'view/data-type',
      'create/data',
      'update/data',
    ].map(permissionName => ({ permissionName, scope: 'all' }))
    const role = (await owner.post('/role', { name: `Importer ${types}`, permissionDetails })).body.data
    const importer = (await addPerson(server, owner, { role: role.name })).client
    const refused = await undo(done._id, importer)
    expect([refused.status, refused.body.code, refused.body.params]).toEqual([
      403,
      'forbidden',
      { permission: 'delete/data' },
    ])
    expect((await importer.get(`/import-monitoring/${done._id}`)).body.data.canUndo).toBe(false)
    // Nor does somebody who may not see or change every field put back the former values of all of them.
    for (const partial of ['view/data', 'update/data', 'delete/data']) {
      const whole = ['import/data', 'view/data', 'view/data-type', 'update/data', 'delete/data']
      const dataTypes = [{ dataTypeId, restrictedFields: ['name'] }]
      const blind = await owner.post('/role', {
        name: `Blind ${types} ${partial}`,
        permissionDetails: whole.map(permissionName => ({
          ...{ permissionName, scope: 'all' },
          ...(permissionName === partial ? { dataTypes } : {}),
        })),
      })
      const reader = (await addPerson(server, owner, { role: blind.body.data.name })).client
      const unseen = await undo(done._id, reader)
      expect([partial, unseen.status, unseen.body.code]).toEqual([partial, 403, 'forbidden'])
      expect((await reader.get(`/import-monitoring/${done._id}`)).body.data.canUndo).toBe(false)
    }
    const stranger = (
      await addOrganization(server, (await addPerson(server, await signIn(server), { role: 'Admin' })).client)
    ).client
    expect((await undo(done._id, stranger)).status).toBe(404)
    expect((await undo(done._id, createClient(server, ''))).status).toBe(401)
  })

  it('happens once, whoever asks how often, and stands in the audit log', async () => {
    const { send, dataTypeId } = await makeType()
    const done = await send('Code,Name\na,A\nb,B\n')
    const answers = await Promise.all([undo(done._id), undo(done._id), undo(done._id)])
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409])
    await until(
      'the undo ends',
      async () => (await owner.get(`/import-monitoring/${done._id}`)).body.data.undo.finishedAt !== null,
    )
    expect((await owner.get(`/data?dataTypeId=${dataTypeId}`)).body.data).toEqual([])
    const log = (await owner.get('/audit-log?resource=import&limit=50')).body.data
    expect(
      log
        .filter((entry: { action: string; resourceId: string }) => entry.resourceId === done._id)
        .map(({ action }: { action: string }) => action),
    ).toContain('undo')
  })

  it.runIf(usualKind() === 'postgres')(
    'that failed is begun again only when its last attempt has ended',
    async () => {
      const { send } = await makeType()
      const { _id } = await send('Code,Name\na,A\n')
      const db = await openTestDatabase(database)
      // As between the two transactions in which an attempt notes that it failed, and its job ends.
      const failed = JSON.stringify({
        ...NONE_UNDONE,
        left: NONE_LEFT,
        status: 'failed',
        finishedAt: new Date().toISOString(),
      })
      await db.system.query('UPDATE imports SET undo = $2::jsonb WHERE id = $1', [_id, failed])
      const job = `jobs (id, organization_id, kind, unique_key, status, lease_until)`
      await db.system.query(
        `INSERT INTO ${job} VALUES ($1, $2, 'import-undo', $3, 'running', now() + interval '1 hour')`,
        [newId(), organization.organizationId, _id],
      )
      const early = await undo(_id)
      expect([early.status, early.body.message]).toEqual([409, expect.stringContaining('still ending')])
      await db.system.query(`UPDATE jobs SET status = 'failed', finished_at = now() WHERE unique_key = $1`, [
        _id,
      ])
      await db.close()
      expect(await undone(_id)).toMatchObject({ status: 'completed', deleted: 1 })
    },
  )
})
