import { describe, expect, it } from 'vitest'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

const field = (key: string, type = 'text') => ({ key, label: `The ${key}`, type })

describe('Sample data sources', () => {
  const { owner } = useOrganization()

  it('come with an organization, and go with its sample data; what one has added stays', async () => {
    await until('samples', async () => (await owner.get('/data')).body.pagination.total === 8)
    const types = (await owner.get('/data-types')).body.data
    expect(types.map(({ type }: { type: string }) => type).sort()).toEqual([
      'customer',
      'employee',
      'product',
    ])
    const found = await owner.get('/data/type/Sample%20customer/C-1001')
    expect(found.body.data.data.name).toBe('Harbour Bakery')
    const own = { dataTypeName: 'Sample product', data: { sku: 'own', name: 'Own' } }
    expect((await owner.post('/data', own)).status).toBe(201)
    const other = await owner.post('/data-type', { name: 'Visit', fields: [field('who', 'reference')] })
    const visit = { dataTypeId: other.body.data._id, data: { who: found.body.data._id } }
    expect((await owner.post('/data', visit)).status).toBe(201)
    const { body } = await owner.delete('/organization/sample-data')
    expect(body.data.removed).toMatchObject({ dataSources: 7 })
    expect((await owner.get('/data')).body.pagination.total).toBe(3)
    const left = (await owner.get('/data-types')).body.data.map(({ name }: { name: string }) => name)
    expect(left).toEqual(['Sample customer', 'Sample product', 'Visit'])
  })
})
