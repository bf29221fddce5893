import { describe, expect, it } from 'vitest'
import { signIn } from '../support/client.ts'
import { createTestDatabase, usualKind } from '../support/database.ts'
import { addOrganization } from '../support/people.ts'
import { startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const field = (key: string, type = 'text') => ({ key, label: `The ${key}`, type })

describe('Sample data sources', () => {
  it('come with an organization, and go with its sample data; what one has added stays', async () => {
    const database = await createTestDatabase(usualKind())
    const server = await startServer(database)
    const { client } = await addOrganization(server, await signIn(server))
    await until('samples', async () => (await client.get('/data')).body.pagination.total === 8)
    const types = (await client.get('/data-types')).body.data
    expect(types.map(({ type }: { type: string }) => type).sort()).toEqual([
      'customer',
      'employee',
      'product',
    ])
    const found = await client.get('/data/type/Sample%20customer/C-1001')
    expect(found.body.data.data.name).toBe('Harbour Bakery')
    const own = { dataTypeName: 'Sample product', data: { sku: 'own', name: 'Own' } }
    expect((await client.post('/data', own)).status).toBe(201)
    const other = await client.post('/data-type', { name: 'Visit', fields: [field('who', 'reference')] })
    const visit = { dataTypeId: other.body.data._id, data: { who: found.body.data._id } }
    expect((await client.post('/data', visit)).status).toBe(201)
    const { body } = await client.delete('/organization/sample-data')
    expect(body.data.removed).toMatchObject({ dataSources: 7 })
    expect((await client.get('/data')).body.pagination.total).toBe(3)
    const left = (await client.get('/data-types')).body.data.map(({ name }: { name: string }) => name)
    expect(left).toEqual(['Sample customer', 'Sample product', 'Visit'])
    await server.stop()
    await database.remove()
  })
})

describe('Data sources on the embedded database', () => {
  it('are made, found and removed', async () => {
    const database = await createTestDatabase('pglite')
    const server = await startServer(database)
    const owner = await signIn(server)
    // The faults of a query do not depend on existing records.
    expect((await owner.get('/data-types')).body.data).toEqual([])
    expect((await owner.get('/data')).body).toMatchObject({ data: [], pagination: { total: 0 } })
    for (const query of ['cursor=xx', 'fields=a']) {
      expect([query, (await owner.get(`/data?${query}`)).status]).toEqual([query, 400])
    }
    const type = await owner.post('/data-type', {
      name: 'Customer',
      primaryKey: 'name',
      fields: [field('name')],
    })
    const record = await owner.post('/data', { dataTypeName: 'Customer', data: { name: 'Müller GmbH' } })
    expect([type.status, record.status]).toEqual([201, 201])
    expect(
      (await owner.post('/data', { dataTypeName: 'Customer', data: { name: 'Müller GmbH' } })).status,
    ).toBe(409)
    expect((await owner.get('/data?search=müll')).body.data).toEqual([record.body.data])
    expect(
      (await owner.get('/data?dataTypeName=Customer&filter[name]=M%C3%BCller%20GmbH')).body.data.length,
    ).toBe(1)
    expect((await owner.delete(`/data/${record.body.data._id}`)).status).toBe(200)
    await server.stop()
    await database.remove()
  })
})
