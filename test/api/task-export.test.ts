import { read } from '@e965/xlsx'
import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import type { Client } from '../support/client.ts'
import { DIRECT_LIMIT, useExports } from '../support/exports.ts'
import { readDocument } from '../support/openapi.ts'
import { addPerson } from '../support/people.ts'
import { until } from '../support/wait.ts'

describe('Exports of tasks', () => {
  const { server, db, owner, organizationId, addType, whenDone, download } = useExports()
  let typeId: string

  beforeAll(async () => {
    // The sample tasks of the organization are deleted before the test's own are created.
    await until('samples', async () => {
      const jobs = await db.system.query<{ status: string }>(
        `SELECT status FROM jobs WHERE kind = 'sample-data' AND organization_id = $1`,
        [organizationId()],
      )
      return jobs[0]?.status === 'done'
    })
    await owner.delete('/organization/sample-data')
    const steps = [
      {
        status: 'open',
        label: 'Open',
        next: [],
        fields: [
          { key: 'parcels', label: 'Parcels', type: 'number' },
          { key: 'phone', label: 'Phone', type: 'phone' },
          { key: 'name', label: 'Name', type: 'text' },
        ],
      },
    ]
    const flow = await owner.post('/flow', { name: 'Parcels', steps })
    expect(flow.status, JSON.stringify(flow.body)).toBe(201)
    const fields = ['phone', 'name'].map(key => ({ key, label: key, type: 'text' }))
    typeId = await addType('Receiver', fields)
    const data = { phone: '+49 30 777', name: 'Ada' }
    const record = (await owner.post('/data', { dataTypeId: typeId, data })).body.data
    const task = { name: '=1+1', flowId: flow.body.data._id, startTime: '2026-11-21T09:00:00Z' }
    for (const more of [
      { dataIds: [record._id], content: { parcels: 3, phone: '+49 30 777' } },
      { location: { lat: 52.5, lng: 13.4, address: 'Am Markt 1' }, startTime: null },
    ]) {
      const made = await owner.post('/task', { ...task, ...more })
      expect(made.status, JSON.stringify(made.body)).toBe(201)
    }
  })

  const exportTasks = async (client: Client, body: object = {}) => {
    const file = await download(client, '/tasks/export', { format: 'json', ...body })
    return { status: file.status, body: JSON.parse(file.bytes.toString()) }
  }
  const person = async (permissionDetails: object[]) => {
    const role = await owner.post('/role', { name: `Role ${newId()}`, permissionDetails })
    expect(role.status, JSON.stringify(role.body)).toBe(201)
    return addPerson(server, owner, { roleId: role.body.data._id })
  }

  it('are what GET /tasks shows, filtered as there, with the fields that are named', async () => {
    const all = (await owner.get('/tasks?sort=createdAt')).body.data
    expect(all).toHaveLength(2)
    expect(await exportTasks(owner)).toEqual({ status: 200, body: all })
    const filter = { from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z', status: 'open' }
    expect((await exportTasks(owner, { filter })).body).toEqual([all[0]])
    expect((await exportTasks(owner, { filter: { bbox: '13,52,14,53' } })).body).toEqual([all[1]])
    // Covers every filter and search of the list.
    const list = (await readDocument(server)).paths['/api/v3/tasks']?.get?.parameters ?? []
    const filters = list.map(({ name }) => name).filter(name => !['limit', 'cursor', 'sort'].includes(name))
    expect(filters).toContain('search')
    for (const name of filters) {
      const value =
        { search: 'MARKT', from: '2026-11-21T00:00:00Z', to: '2026-11-22T00:00:00Z', bbox: '13,52,14,53' }[
          name
        ] ?? 'x'
      const shown = await owner.get(`/tasks?sort=createdAt&${name}=${value}`)
      const exported = await exportTasks(owner, { filter: { [name]: value } })
      expect([name, exported.body]).toEqual([name, shown.body.data])
    }
    expect((await exportTasks(owner, { filter: { search: 'markt' } })).body).toEqual([all[1]])
    expect((await exportTasks(owner, { filter: { _id: `${all[1]._id},x` } })).body).toEqual([all[1]])
    const some = await exportTasks(owner, { fields: ['code', 'content'] })
    expect(Object.keys(some.body[0]).sort()).toEqual(['_id', 'code', 'content'])
    const keys = Object.keys(all[0])
    expect((await exportTasks(owner, { fields: keys })).body).toEqual(all)
    for (const key of keys)
      expect([key, (await exportTasks(owner, { fields: [key] })).status]).toEqual([key, 200])
    for (const [body, path] of [
      [{ filter: { shoe: '1' } }, 'filter.shoe'],
      [{ filter: { from: 'soon' } }, 'filter.from'],
      [{ fields: ['shoe'] }, 'fields'],
      [{ dataTypeId: typeId }, 'dataTypeId'],
    ] as const) {
      const refused = await exportTasks(owner, body)
      expect([refused.status, refused.body.errors?.[0].path]).toEqual([400, path])
    }
  })

  it('are a sheet with a column for each field, those of flows too', async () => {
    const { bytes } = await download(owner, '/tasks/export', { format: 'xlsx' })
    const sheet = read(bytes, { cellFormula: true }).Sheets.Tasks as {
      [cell: string]: { v: unknown; f?: string }
    }
    const columns = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at))
    const byHeading = new Map(columns.map(column => [sheet[`${column}1`]?.v, column]))
    const cell = (heading: string, row: number) => sheet[`${byHeading.get(heading)}${row}`]
    expect([cell('Name (name)', 2)?.v, cell('Name (name)', 2)?.f]).toEqual(['=1+1', undefined])
    expect([cell('Parcels', 2)?.v, cell('Phone', 2)?.v]).toEqual([3, '+49 30 777'])
    expect(byHeading.has('Name (content.name)')).toBe(true)
    expect(cell('Location', 3)?.v).toBe('52.5, 13.4 (Am Markt 1)')
    expect([cell('Start', 2)?.v, cell('Start', 3)]).toEqual([expect.any(Number), undefined])
    const fields = ['_id', 'createdAt', 'updatedAt', 'isSample', 'code']
    const more = await download(owner, '/tasks/export', { format: 'xlsx', fields })
    const { Tasks = {} } = read(more.bytes).Sheets
    expect(columns.slice(0, 6).map(column => Tasks[`${column}1`]?.v)).toEqual([
      ...['Code', '_id', 'Sample', 'Created', 'Updated'],
      undefined,
    ])
    expect([Tasks.B2?.v, Tasks.C2?.v, Tasks.D2?.v]).toEqual([expect.any(String), false, expect.any(Number)])
  })

  it('hold the tasks that the role may both see and export, without what it restricts', async () => {
    const hidden = { dataTypes: [{ dataTypeId: typeId, restrictedFields: ['phone'] }] }
    const restricted = await person([
      ...['view/task', 'export/task'].map(permissionName => ({ permissionName })),
      { permissionName: 'view/data', ...hidden },
    ])
    const shown = await exportTasks(restricted.client)
    expect(shown.body.map(({ content }: { content: object }) => content)).toMatchObject([{ parcels: 3 }, {}])
    expect(JSON.stringify(shown.body)).not.toContain('30 777')
    const own = await person([
      { permissionName: 'view/task' },
      { permissionName: 'export/task', scope: 'own' },
      { permissionName: 'view/data' },
    ])
    expect((await exportTasks(own.client)).body).toEqual([])
    const blind = await person([{ permissionName: 'export/task' }])
    expect((await exportTasks(blind.client)).status).toBe(403)
    const without = await person([{ permissionName: 'view/task' }])
    expect((await exportTasks(without.client)).status).toBe(403)
  })

  it('are made in the background beyond the limit, and shown while the role sees the same', async () => {
    for (let n = 0; n < DIRECT_LIMIT; n++)
      expect((await owner.post('/task', { name: `Task ${n}` })).status).toBe(201)
    const names = ['view/task', 'export/task', 'view/data']
    const maker = await person(names.map(permissionName => ({ permissionName })))
    const ordered = await maker.client.post('/tasks/export', { format: 'json' })
    expect([ordered.status, ordered.body.data]).toMatchObject([202, { resource: 'tasks', dataType: null }])
    const path = `/tasks/export-log/${ordered.body.data._id}`
    expect(await whenDone(ordered.body.data._id, maker.client)).toMatchObject({
      ...{ status: 'completed', processed: DIRECT_LIMIT + 2, fileName: 'Tasks.json' },
    })
    const all = (await owner.get('/tasks?sort=createdAt&limit=500')).body.data
    expect((await maker.client.get(`${path}/file`)).body).toEqual(all)
    expect((await owner.get(`${path}/file`)).body).toEqual(all)
    const role = (await maker.client.get('/user')).body.data.role
    const permissionDetails = [
      ...names.slice(0, 2).map(permissionName => ({ permissionName })),
      { permissionName: 'view/data', dataTypes: [{ dataTypeId: typeId, restrictedFields: ['phone'] }] },
    ]
    const changed = await owner.put(`/role/${role._id}`, { name: role.name, permissionDetails })
    expect(changed.status, JSON.stringify(changed.body)).toBe(200)
    expect((await maker.client.get(`${path}/file`)).status).toBe(403)
    expect((await owner.get(`${path}/file`)).status).toBe(200)
  })
})
