import { describe, expect, it } from 'vitest'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { listOperations, readDocument } from '../support/openapi.ts'
import { addHub, addOrganization, addPerson, newEmail } from '../support/people.ts'
import { exampleBody, ownPaths } from '../support/references.ts'
import { useOrganization } from '../support/shared-server.ts'
import { listOneOfEach } from '../support/tenant-rows.ts'

describe('The audit log', () => {
  const { server, database, owner, organization } = useOrganization()

  const of = async (resourceId: string) => (await owner.get(`/audit-log?resourceId=${resourceId}`)).body.data

  it('tells who changed what, newest first, with the value before and after', async () => {
    const { userId } = organization
    const hubId = await addHub(owner, 'Before')
    await owner.patch(`/hub/${hubId}`, { name: 'After' })
    await owner.delete(`/hub/${hubId}`)
    expect(await of(hubId)).toMatchObject([
      { userId, action: 'delete', resource: 'hub', changes: { name: { from: 'After' } } },
      { userId, action: 'update', resource: 'hub', changes: { name: { from: 'Before', to: 'After' } } },
      { userId, action: 'create', resource: 'hub', changes: { name: { to: 'Before' }, lat: { to: 48.1 } } },
    ])
    expect(Object.keys((await of(hubId))[1].changes)).toEqual(['name'])
  })

  it('is read between times that the database knows, and a filter that is empty matches nothing', async () => {
    await addHub(owner)
    const count = async (query: string) => (await owner.get(`/audit-log?${query}`)).body.data.length
    expect(await count('from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z')).toBeGreaterThan(0)
    expect(await count(`from=${Date.now() + 60_000}`)).toBe(0)
    for (const filter of ['action=', 'resource=', 'resourceId=', 'userId='])
      expect(await count(filter)).toBe(0)
    for (const time of ['0000-01-01T00:00:00Z', '10000-01-01T00:00:00Z', '-8000000000000000', 'x', '']) {
      const { status, body } = await owner.get(`/audit-log?from=${time}`)
      expect([status, body.errors?.[0]?.path], time).toEqual([400, 'from'])
    }
  })

  it('tells of users: invited, accepted, changed, suspended', async () => {
    const person = await addPerson(server, owner)
    await owner.patch(`/user/${person.userId}`, { status: 'suspended' })
    const entries = await of(person.userId)
    expect(entries.map((entry: { action: string }) => entry.action)).toEqual([
      'update',
      'accept-invitation',
      'invite',
    ])
    expect(entries[0].changes).toEqual({ status: { from: 'active', to: 'suspended' } })
    expect(entries[1].userId).toBe(person.userId)
  })

  it('never holds a secret', async () => {
    const device = (await owner.post('/device', { name: 'Tracker' })).body.data
    const rotated = (await owner.post(`/device/${device._id}/rotate-key`)).body.data
    const person = await addPerson(server, owner)
    await owner.post(`/user/${person.userId}/reset-password`, { newPassword: 'a very secret password' })
    const { body } = await owner.get('/audit-log?limit=500')
    const text = JSON.stringify(body)
    for (const secret of [device.key, rotated.key, 'a very secret password', person.password, 'fli_'])
      expect(text).not.toContain(secret)
    expect(text).toContain('reset-password')
    expect(text).toContain('rotate-key')
  })

  it('what was rejected is not in it', async () => {
    const planner = await addPerson(server, owner, { role: 'Planner' })
    const before = (await owner.get('/audit-log')).body.pagination.total
    await planner.client.post('/role', { name: 'Mine', permissionDetails: [] })
    await owner.post('/hub', { name: 'No place' })
    expect((await owner.get('/audit-log')).body.pagination.total).toBe(before)
  })

  it('is filtered by user, resource, action and time, and paged', async () => {
    await addHub(owner)
    const list = async (query: string) => (await owner.get(`/audit-log?${query}`)).body
    expect((await list('resource=hub&action=create')).data.length).toBeGreaterThan(0)
    expect((await list(`userId=${organization.userId}&resource=nothing`)).data).toEqual([])
    expect((await list(`to=${new Date(0).toISOString()}`)).data).toEqual([])
    expect((await list('from=yesterday')).errors[0].path).toBe('from')
    const first = await list('limit=2')
    const second = await list(`limit=2&cursor=${first.pagination.nextCursor}`)
    const times = [...first.data, ...second.data].map((entry: { at: string }) => entry.at)
    expect(times).toEqual([...times].sort().reverse())
  })

  it('is seen by Owner and Admin, and by nobody of another organization', async () => {
    const hubId = await addHub(owner)
    const admin = await addPerson(server, owner, { role: 'Admin' })
    expect((await admin.client.get('/audit-log')).status).toBe(200)
    for (const role of ['Planner', 'Field user']) {
      const { client } = await addPerson(server, owner, { role })
      expect((await client.get('/audit-log')).status).toBe(403)
    }
    const other = await addOrganization(server, admin.client)
    expect((await other.client.get(`/audit-log?resourceId=${hubId}`)).body.data).toEqual([])
  })

  describe('for a reader whose role hides fields of data', () => {
    const fields = ['name', 'pay'].map(key => ({ key, label: key, type: 'text' }))

    const addType = async () => {
      const { body } = await owner.post('/data-type', { name: crypto.randomUUID(), fields })
      return body.data._id as string
    }
    const addReader = async (dataTypeId: string) => {
      const view = { permissionName: 'view/data', dataTypes: [{ dataTypeId, restrictedFields: ['pay'] }] }
      const permissionDetails = [view, { permissionName: 'view/audit' }, { permissionName: 'update/data' }]
      const role = await owner.post('/role', { name: crypto.randomUUID(), permissionDetails })
      return (await addPerson(server, owner, { roleId: role.body.data._id })).client
    }

    it('says nothing of hidden values, and names to others what has changed', async () => {
      const dataTypeId = await addType()
      const reader = await addReader(dataTypeId)
      const data = { name: 'Ada', pay: '1' }
      const recordId = (await owner.post('/data', { dataTypeId, data })).body.data._id
      for (const pay of ['1', '2']) await reader.put(`/data/${recordId}`, { data: { name: 'Ada', pay } })
      await reader.patch(`/data/${recordId}`, { data: { name: 'Eve' } })
      await owner.delete(`/data/${recordId}`)
      const changesFor = async (client: typeof owner) =>
        (await client.get(`/audit-log?resourceId=${recordId}`)).body.data.map(
          ({ changes }: { changes: object }) => Object.keys(changes).sort().join(),
        )
      expect(await changesFor(owner)).toEqual(['name,pay', 'name', 'pay', '', 'name,pay'])
      expect(await changesFor(reader)).toEqual(['name', 'name', '', '', 'name'])
    })

    it.runIf(usualKind() === 'postgres')('has pages that end at no hidden size', async () => {
      const dataTypeId = await addType()
      const reader = await addReader(dataTypeId)
      const db = await openTestDatabase(database)
      const { organizationId } = organization
      /** The end of the first page if its entries name this many hidden fields. */
      const lengthWith = async (count: number) => {
        const resourceId = crypto.randomUUID()
        const changes = Object.fromEntries(Array.from({ length: count }, () => [crypto.randomUUID(), {}]))
        await db.system.query(
          `INSERT INTO audit_log (id, organization_id, action, resource, resource_id, changes, data_type_ids)
           SELECT gen_random_uuid(), $1, 'update', 'data', $2, $3::jsonb, ARRAY[$4::uuid] FROM generate_series(1, 400)`,
          [organizationId, resourceId, JSON.stringify(changes), dataTypeId],
        )
        const { body } = await reader.get(`/audit-log?resourceId=${resourceId}&limit=500`)
        return body.data.length
      }
      const lengths = [await lengthWith(0), await lengthWith(200)]
      await db.close()
      expect(lengths[0]).toBe(lengths[1])
      expect(lengths[0]).toBeGreaterThanOrEqual(50)
    })

    it.runIf(usualKind() === 'postgres')('names nothing where the types are unknown', async () => {
      const reader = await addReader(await addType())
      const db = await openTestDatabase(database)
      const resourceId = crypto.randomUUID()
      await db.system.query(
        `INSERT INTO audit_log (id, organization_id, action, resource, resource_id, changes)
         VALUES (gen_random_uuid(), $1, 'update', 'data', $2, '{"pay": {}}')`,
        [organization.organizationId, resourceId],
      )
      await db.close()
      expect((await of(resourceId))[0].changes).toEqual({ pay: {} })
      expect((await reader.get(`/audit-log?resourceId=${resourceId}`)).body.data[0].changes).toEqual({})
    })
  })

  it.runIf(usualKind() === 'postgres')(
    'holds every change that any operation of the document makes',
    async () => {
      const document = await readDocument(server)
      const db = await openTestDatabase(database)
      const { organizationId } = (await owner.get('/user')).body.data
      const operations = listOperations(document).filter(
        ({ method, path, spec }) =>
          method !== 'get' &&
          // Excepted are changes of a session, points, data records (a log of their own would double them), and the
          // deletion of all.
          !/^(public|session|device|create\/location|(create|update|delete)\/(data|organization)|import\/|export\/)$/.test(
            spec['x-permission'] ?? '',
          ) &&
          path.startsWith('/api/v3/') &&
          // These only show a preview or a draft.
          !/\/(preview|suggest)$/.test(path),
      )
      const total = async () => (await owner.get('/audit-log?limit=1')).body.pagination.total as number
      const silent: string[] = []
      let succeeded = 0
      let before = await total()
      for (const order of ['post', 'put', 'patch', 'delete']) {
        for (const operation of operations.filter(({ method }) => method === order)) {
          const own = await listOneOfEach(db, organizationId)
          const body = exampleBody(operation, document, own) as { email?: string; name?: string } | undefined
          if (body?.email) body.email = newEmail()
          if (body?.name) body.name = `${body.name} ${crypto.randomUUID()}`
          for (const path of ownPaths(operation, own)) {
            const send = owner[operation.method as 'post' | 'put' | 'patch' | 'delete']
            const { status } = await send(path.replace('/api/v3', ''), body)
            if (status >= 300) continue
            succeeded++
            const after = await total()
            if (after === before) silent.push(operation.name)
            before = after
          }
        }
      }
      await db.close()
      expect(silent).toEqual([])
      expect(succeeded).toBeGreaterThan(30)
    },
  )

  it.runIf(usualKind() === 'postgres')('is kept one year, and never rewritten by a tenant', async () => {
    const hubId = await addHub(owner)
    const db = await openTestDatabase(database)
    const { organizationId } = (await owner.get('/user')).body.data
    for (const statement of ['DELETE FROM audit_log', `UPDATE audit_log SET action = 'x'`])
      await expect(db.tenant(organizationId, tx => tx.query(statement))).rejects.toThrow(/permission denied/)
    await db.system.query(`UPDATE audit_log SET at = now() - interval '366 days' WHERE resource_id = $1`, [
      hubId,
    ])
    expect(await of(hubId)).toEqual([])
    await db.close()
  })
})
