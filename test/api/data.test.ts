import { describe, expect, it } from 'vitest'
import { type Answer, signIn } from '../support/client.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

let counter = 0
const field = (key: string, type = 'text', more: object = {}) => ({ key, label: `The ${key}`, type, ...more })

describe('Data sources', () => {
  const { server, owner } = useOrganization()

  const makeType = async (fields: object[], more: object = {}) => {
    const answer = await owner.post('/data-type', { name: `Type ${++counter}`, fields, ...more })
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    return answer.body.data
  }
  const make = (type: { _id: string }, data: object) => owner.post('/data', { dataTypeId: type._id, data })
  const made = async (type: { _id: string }, data: object) => {
    const answer = await make(type, data)
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    return answer.body.data
  }
  const paths = ({ body }: Answer) => body.errors.map(({ path }: { path: string }) => path)
  const names = ({ body }: Answer) => body.data.map(({ data }: { data: { name: string } }) => data.name)

  it('are made, read by _id and by type and primary key, changed and removed', async () => {
    const type = await makeType([field('name'), field('phone', 'phone')], { primaryKey: 'name' })
    const record = await made(type, { phone: '+49 30 1234567', name: 'Acme/1' })
    expect(record).toMatchObject({
      dataType: { _id: type._id, name: type.name },
      data: { name: 'Acme/1', phone: '+49 30 1234567' },
    })
    expect((await owner.get(`/data/${record._id}`)).body.data).toEqual(record)
    const byName = `/data/type/${encodeURIComponent(type.name)}`
    for (const key of ['Acme%2F1', record._id]) {
      expect((await owner.get(`${byName}/${key}`)).body.data).toEqual(record)
    }
    // Clients remove both from a path.
    for (const name of ['.', '..']) expect(paths(await make(type, { name }))).toEqual(['data.name'])
    expect(paths(await owner.patch(`/data/${record._id}`, { data: { name: '..' } }))).toEqual(['data.name'])
    // The maximum length of a primary key.
    const long = '\u00e4'.repeat(500)
    const second = await made(type, { name: long })
    expect((await owner.get(`${byName}/${encodeURIComponent(long)}`)).body.data).toEqual(second)
    expect((await owner.get(`${byName}/${'x'.repeat(5_000)}`)).status).toBe(404)
    const patched = await owner.patch(`/data/${record._id}`, { data: { phone: null } })
    expect(patched.body.data.data).toEqual({ name: 'Acme/1' })
    const put = { dataTypeName: type.name, data: { name: 'Acme' } }
    expect((await owner.put(`/data/${record._id}`, put)).body.data.data).toEqual({ name: 'Acme' })
    expect((await owner.get(`${byName}/Acme%2F1`)).status).toBe(404)
    expect((await owner.get(`${byName}/Acme`)).status).toBe(200)
    expect((await owner.delete(`/data/${record._id}`)).body.data).toEqual({ _id: record._id })
    expect((await owner.get(`/data/${record._id}`)).status).toBe(404)
    expect((await owner.get(`${byName}/Acme`)).status).toBe(404)
    expect((await make(type, { name: 'Acme' })).status).toBe(201)
  })

  it.each([
    ['number', [0, -1.5, 1e300], ['1', true, [], {}]],
    ['boolean', [true, false], ['true', 1]],
    ['date', ['2024-02-29'], ['2023-02-29', '2026-13-01', '21.11.2026', 5]],
    ['email', ['a@example.com'], ['a@', 'a', 5]],
    ['phone', ['+49 (30) 123-45', '030/1234567'], ['call me', '12', 5]],
    ['url', ['https://example.com/a?b=c', 'http://localhost:80'], ['example.com', 'javascript:alert(1)']],
    ['select', ['a'], ['c', ['a'], 'A']],
    ['multiselect', [['a'], ['a', 'b']], ['a', ['c'], [1]]],
    [
      'location',
      [
        { lat: 1, lng: 2 },
        { lat: 1, lng: 2, address: 'x' },
      ],
      [{ lat: 91, lng: 2 }, { lat: 1 }, 'x', []],
    ],
    ['text', ['x', ' x '], [5, 'nul \0', 'lone \ud800', 'x'.repeat(10_001)]],
  ])('values of a %s field are checked, wrong ones are 400 at their path', async (kind, right, wrong) => {
    const type = await makeType([
      field('value', kind, kind.endsWith('select') ? { options: ['a', 'b'] } : {}),
    ])
    for (const value of right) expect((await made(type, { value })).data).toEqual({ value })
    for (const value of wrong) {
      const answer = await make(type, { value })
      expect([answer.status, paths(answer)], JSON.stringify(value)).toEqual([400, ['data.value']])
    }
  })

  it('a datetime is kept in UTC with milliseconds', async () => {
    const type = await makeType([field('at', 'datetime')])
    expect((await made(type, { at: '2026-11-21T10:00:00+01:00' })).data).toEqual({
      at: '2026-11-21T09:00:00.000Z',
    })
    expect(paths(await make(type, { at: '2026-02-30T10:00:00Z' }))).toEqual(['data.at'])
    expect(paths(await make(type, { at: '2026-02-03T10:00:00' }))).toEqual(['data.at'])
    // A stored value can be sent again: in UTC these are of the years 10000 and 0.
    for (const at of ['9999-12-31T23:59:59-12:00', '0001-01-01T00:00:00+14:00'])
      expect(paths(await make(type, { at }))).toEqual(['data.at'])
    const { _id, data } = await made(type, { at: '9999-12-31T23:59:59+12:00' })
    expect((await owner.put(`/data/${_id}`, { data })).status).toBe(200)
  })

  it('what is required, unknown or left to its default', async () => {
    const type = await makeType([
      field('name', 'text', { required: true }),
      field('kind', 'select', { options: ['a', 'b'], default: 'b' }),
    ])
    for (const data of [{}, { name: null }, { name: ' ' }]) {
      expect(paths(await make(type, data))).toEqual(['data.name'])
    }
    expect(paths(await make(type, { name: 'x', shoe: 1, constructor: 2 })).sort()).toEqual([
      'data.constructor',
      'data.shoe',
    ])
    expect((await made(type, { name: 'x' })).data).toEqual({ name: 'x', kind: 'b' })
    expect((await made(type, { name: 'x', kind: null })).data).toEqual({ name: 'x' })
    for (const body of [{ data: {} }, { dataTypeId: type._id, dataTypeName: type.name, data: {} }]) {
      expect((await owner.post('/data', body)).status).toBe(400)
    }
    expect(paths(await owner.post('/data', { dataTypeName: 'no', data: {} }))).toEqual(['dataTypeName'])
    expect(paths(await owner.post('/data', { dataTypeId: 'no', data: {} }))).toEqual(['dataTypeId'])
  })

  it('a unique value is taken once, also when many want it at once; an address without case', async () => {
    const type = await makeType([field('email', 'email', { unique: true }), field('name')])
    const record = await made(type, { email: 'A@example.com' })
    const answer = await make(type, { email: 'a@example.com' })
    expect(answer.status).toBe(409)
    expect(answer.body.conflicts).toEqual({ fields: ['email'], count: 1, ids: [record._id] })
    expect((await owner.patch(`/data/${record._id}`, { data: { name: 'x' } })).status).toBe(200)
    const other = await made(type, {})
    expect((await owner.patch(`/data/${other._id}`, { data: { email: 'A@EXAMPLE.com' } })).status).toBe(409)
    const twins = await Promise.all(
      Array.from({ length: 10 }, () => make(type, { email: 'twin@example.com' })),
    )
    expect(twins.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)])
    await owner.patch(`/data/${record._id}`, { data: { email: null } })
    expect((await make(type, { email: 'a@example.com' })).status).toBe(201)
  })

  it('references lead to a record of their type, which stays while they do', async () => {
    const type = await makeType([field('name')])
    const [target, stranger] = [await made(type, {}), await made(await makeType([]), {})]
    const referring = await makeType([field('ref', 'reference', { dataTypeId: type._id })])
    for (const ref of ['x', type._id, stranger._id]) {
      expect(paths(await make(referring, { ref }))).toEqual(['data.ref'])
    }
    const record = await made(referring, { ref: target._id })
    for (const [ref, found] of [
      [target._id.toUpperCase(), 1],
      [stranger._id, 0],
      ['x', 0],
      ['', 0],
    ])
      expect(
        (await owner.get(`/data?dataTypeId=${referring._id}&filter[ref]=${ref}`)).body.data,
      ).toHaveLength(found)
    const refused = await owner.delete(`/data/${target._id}`)
    expect([refused.status, refused.body.conflicts]).toEqual([409, { count: 1, ids: [record._id] }])
    await owner.delete(`/data/${record._id}`)
    expect((await owner.delete(`/data/${target._id}`)).status).toBe(200)
  })

  it('are listed by page, search, filter and sort', async () => {
    const type = await makeType([
      field('name'),
      field('age', 'number'),
      field('vip', 'boolean'),
      field('tags', 'multiselect', { options: ['red', 'blue'] }),
      field('place', 'location'),
      field('at', 'datetime'),
    ])
    const all = [
      { name: 'Ada', age: 36, vip: true, tags: ['red', 'blue'] },
      { name: 'bob', age: -4, vip: false, place: { lat: 1, lng: 2, address: 'Main Street 100%' } },
      { name: 'Cyd', at: '2026-11-21T10:00:00Z' },
      { age: 100, tags: ['blue'] },
    ]
    for (const data of all) await made(type, data)
    const list = (query: string) => owner.get(`/data?dataTypeId=${type._id}&${query}`)
    expect(names(await list(''))).toEqual(['Ada', 'bob', 'Cyd', undefined])
    expect((await list('')).body.pagination).toEqual({ limit: 50, nextCursor: null, total: 4 })
    expect(names(await list('sort=-createdAt'))).toEqual([undefined, 'Cyd', 'bob', 'Ada'])
    expect(names(await list('sort=name'))).toEqual([undefined, 'Ada', 'bob', 'Cyd'])
    expect(names(await list('sort=-age'))).toEqual([undefined, 'Ada', 'bob', 'Cyd'])
    expect((await list('sort=updatedAt')).status).toBe(200)
    for (const [query, expected] of [
      ['search=AD', ['Ada']],
      ['search=main', ['bob']],
      ['search=100%25', ['bob']],
      ['search=_', []],
      ['filter[name]=Ada', ['Ada']],
      ['filter[age]=-4', ['bob']],
      ['filter[vip]=false', ['bob']],
      ['filter[tags]=blue', ['Ada', undefined]],
      ['filter[tags]=blue&filter[vip]=true', ['Ada']],
      ['filter[at]=2026-11-21T11:00:00%2B01:00', ['Cyd']],
      ['filter[name]=Ada&search=bob', []],
    ] as const) {
      expect(names(await list(query)), query).toEqual(expected)
    }
    for (const sort of ['name', '-age', 'createdAt', '-updatedAt', 'place']) {
      const seen: string[] = []
      for (let cursor = ''; ; ) {
        const { body } = await list(`sort=${sort}&limit=1${cursor && `&cursor=${cursor}`}`)
        seen.push(body.data[0]._id)
        cursor = body.pagination.nextCursor
        if (!cursor) break
      }
      expect(new Set(seen).size, sort).toBe(4)
    }
    const byName = await owner.get(
      `/data?dataTypeName=${encodeURIComponent(type.name)}&fields=name,%20vip&limit=1`,
    )
    expect(byName.body.data[0].data).toEqual({ name: 'Ada', vip: true })
  })

  it('a query that makes no sense is 400, a type that is none matches nothing', async () => {
    const type = await makeType([field('name'), field('age', 'number'), field('place', 'location')])
    const { data } = { data: await made(type, { name: 'x' }) }
    for (const [query, path, said = ''] of [
      ['fields=no', 'fields'],
      ['filter[no]=1', 'filter.no'],
      ['filter[age]=old', 'filter.age', '"filter[age]" is not valid: this has to be a number.'],
      ['filter[age]=1&filter[age]=2', 'filter.age', 'not valid at "filter[age]"'],
      ['filter[place]=here', 'filter.place'],
      ['sort=no', 'sort'],
      ['cursor=no', 'cursor'],
      ['limit=501', 'limit'],
    ]) {
      const answer = await owner.get(`/data?dataTypeId=${type._id}&${query}`)
      expect([answer.status, paths(answer)], query).toEqual([400, [path]])
      expect(answer.body.message).toContain(said)
    }
    expect((await owner.get('/data?sort=name')).status).toBe(400)
    expect((await owner.get('/data?filter[name]=x')).status).toBe(400)
    expect((await owner.get(`/data/${data._id}?fields=no`)).status).toBe(400)
    for (const query of ['dataTypeId=no', `dataTypeId=${data._id}`, 'dataTypeName=no']) {
      expect((await owner.get(`/data?${query}`)).body.data, query).toEqual([])
    }
    expect((await owner.get('/data')).status).toBe(200)
    for (const path of ['no', type._id, 'type/no/no', `type/${type.name}/no`]) {
      expect((await owner.get(`/data/${encodeURI(path)}`)).status, path).toBe(404)
    }
  })

  it('another organization finds none of them, by no route', async () => {
    const type = await makeType([field('name')], { primaryKey: 'name' })
    const record = await made(type, { name: 'Secret of the first' })
    const { client } = await addOrganization(server, await signIn(server))
    for (const answer of [
      await client.get(`/data/${record._id}`),
      await client.put(`/data/${record._id}`, { data: { name: 'x' } }),
      await client.patch(`/data/${record._id}`, { data: {} }),
      await client.delete(`/data/${record._id}`),
      await client.get(`/data/type/${encodeURIComponent(type.name)}/${record._id}`),
    ]) {
      expect(answer.status).toBe(404)
    }
    for (const query of ['', `?dataTypeId=${type._id}`, '?search=Secret']) {
      expect(JSON.stringify((await client.get(`/data${query}`)).body), query).not.toContain('Secret')
    }
    expect((await client.post('/data', { dataTypeId: type._id, data: { name: 'x' } })).status).toBe(400)
    const own = await client.post('/data-type', { name: 'Referring', fields: [field('ref', 'reference')] })
    const referring = { dataTypeId: own.body.data._id, data: { ref: record._id } }
    expect((await client.post('/data', referring)).status).toBe(400)
    expect((await client.post('/data-type', { name: type.name, fields: [], primaryKey: null })).status).toBe(
      201,
    )
  })

  it('ask for their permissions', async () => {
    const type = await makeType([field('name')])
    const { client } = await addPerson(server, owner, { role: 'Field user' })
    const record = await made(type, { name: 'x' })
    expect((await client.get(`/data/${record._id}`)).status).toBe(200)
    expect((await client.post('/data', { dataTypeId: type._id, data: {} })).status).toBe(403)
    expect((await client.delete(`/data/${record._id}`)).status).toBe(403)
  })

  it('the audit log names the fields that a write touched, and no value', async () => {
    const type = await makeType([field('name')])
    const record = await made(type, { name: 'Unlogged' })
    const { body } = await owner.get(`/audit-log?resourceId=${record._id}`)
    expect(body.data).toMatchObject([{ action: 'create', resource: 'data', changes: { name: {} } }])
    expect(JSON.stringify(body)).not.toContain('Unlogged')
  })

  describe('when their type changes', () => {
    const change = async (before: object[], after: object[], data: object[]) => {
      const type = await makeType(before)
      const records = []
      for (const one of data) records.push(await made(type, one))
      const answer = await owner.put(`/data-type/${type._id}`, { name: type.name, fields: after })
      return { type, records: records.map(({ _id }) => _id), answer }
    }

    it.each([
      ['a field goes that has values', [field('a'), field('b')], [field('a')], [{ a: 'x' }, { b: 'y' }], [1]],
      ['one becomes required', [field('a')], [field('a', 'text', { required: true })], [{}, { a: 'x' }], [0]],
      ['a required one is added', [], [field('a', 'text', { required: true })], [{}], [0]],
      [
        'one becomes unique',
        [field('a')],
        [field('a', 'text', { unique: true })],
        [{ a: 'x' }, { a: 'x' }],
        [1],
      ],
      ['the type changes', [field('a')], [field('a', 'number')], [{ a: '1' }, {}], [0]],
      [
        'an option goes',
        [field('a', 'select', { options: ['x', 'y'] })],
        [field('a', 'select', { options: ['x'] })],
        [{ a: 'x' }, { a: 'y' }],
        [1],
      ],
      [
        'addresses differ in case alone',
        [field('a', 'text', { unique: true })],
        [field('a', 'email', { unique: true })],
        [{ a: 'a@b.example' }, { a: 'A@b.example' }],
        [1],
      ],
    ])(
      '%s: 409 with the records that contradict, and nothing changes',
      async (_, before, after, data, expected) => {
        const { type, records, answer } = await change(before, after, data)
        expect(answer.status).toBe(409)
        expect(answer.body.conflicts).toEqual({
          count: expected.length,
          ids: expected.map(at => records[at]),
        })
        expect((await owner.get(`/data-type/${type._id}`)).body.data).toEqual(type)
      },
    )

    it('what no record contradicts is done, and holds from then on', async () => {
      const { type, answer, records } = await change(
        [field('a'), field('b')],
        [field('a', 'email', { unique: true, required: true }), field('c')],
        [{ a: 'x@b.example' }, { a: 'y@b.example' }],
      )
      expect(answer.status).toBe(200)
      expect((await make(type, { a: 'X@b.example' })).status).toBe(409)
      const free = { name: type.name, fields: [field('a')] }
      expect((await owner.put(`/data-type/${type._id}`, free)).status).toBe(200)
      expect((await make(type, { a: 'x@b.example' })).status).toBe(201)
      expect((await owner.delete(`/data-type/${type._id}`)).status).toBe(409)
      expect(records.length).toBe(2)
    })

    it('records that are made meanwhile keep its rules', async () => {
      const type = await makeType([field('a')])
      const required = { name: type.name, fields: [field('a', 'text', { required: true })] }
      const makes = Array.from({ length: 8 }, () => make(type, {}))
      const [changed] = await Promise.all([owner.put(`/data-type/${type._id}`, required), ...makes])
      const { body } = await owner.get(`/data?dataTypeId=${type._id}`)
      expect(changed.status).toBe(body.data.length === 0 ? 200 : 409)
    })
  })
})
