import { beforeAll, describe, expect, it } from 'vitest'
import { importFile } from '../support/imports.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('References of imports', () => {
  const { server, owner } = useOrganization()
  let dataTypeId: string
  let number = 0

  beforeAll(async () => {
    await owner.patch('/organization', { language: 'de', timeZone: 'Europe/Berlin' })
  })

  /** A new type for a test. */
  async function newType(more: object, fields: object[]): Promise<string> {
    const made = await owner.post('/data-type', { name: `Customer ${++number}`, fields, ...more })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    dataTypeId = made.body.data._id
    return dataTypeId
  }
  const list = async (id = dataTypeId) =>
    (await owner.get(`/data?dataTypeId=${id}&limit=500&sort=createdAt`)).body.data
  const read = async (id = dataTypeId) =>
    (await list(id)).map(({ data }: { data: { [field: string]: unknown } }) => data)
  const send = (file: string, fields: { [name: string]: string } = {}) =>
    importFile(server, owner, file, { dataTypeId, ...fields })

  it('lead to records by the primary key of the other type, to rows before them too', async () => {
    const customers = await newType({ primaryKey: 'number' }, [
      { key: 'number', label: 'Customer number', type: 'text' },
    ])
    await send('Customer number\n7\n')
    const [ada] = (await owner.get(`/data?dataTypeId=${customers}`)).body.data
    const orders = await newType({ primaryKey: 'id' }, [{ key: 'id', label: 'Id', type: 'text' }])
    const fields = [
      { key: 'id', label: 'Id', type: 'text' },
      { key: 'customer', label: 'Customer', type: 'reference', dataTypeId: customers },
      { key: 'parent', label: 'Parent', type: 'reference', dataTypeId: orders },
    ]
    const put = await owner.put(`/data-type/${orders}`, { name: 'Orders', primaryKey: 'id', fields })
    expect(put.status, JSON.stringify(put.body)).toBe(200)
    const file = `Id;Customer;Parent\na;7;\nb;${ada._id};a\nc;8;\nd;7;z\n`
    const dry = await send(file, { dryRun: 'true' })
    const done = await send(file)
    expect(done.failures).toEqual(dry.failures)
    expect(done).toMatchObject({ created: 2, failed: 2 })
    const [a, b] = (await owner.get(`/data?dataTypeId=${dataTypeId}`)).body.data
    expect([a.data, b.data]).toEqual([
      { id: 'a', customer: ada._id },
      { id: 'b', customer: ada._id, parent: a._id },
    ])
  })

  it('lead to no row before them that fails, for whatever reason and however far before, and a dry run says so', async () => {
    const tree = await newType({ primaryKey: 'id' }, [{ key: 'id', label: 'id', type: 'text' }])
    const fields = [
      { key: 'id', label: 'id', type: 'text' },
      { key: 'n', label: 'n', type: 'number' },
      { key: 'u', label: 'u', type: 'text', unique: true },
      { key: 'p', label: 'p', type: 'reference', dataTypeId: tree },
    ]
    const { name } = (await owner.get(`/data-type/${tree}`)).body.data
    const put = await owner.put(`/data-type/${tree}`, { name, primaryKey: 'id', fields })
    expect(put.status, JSON.stringify(put.body)).toBe(200)
    expect(await send('id,u\nold,taken\n')).toMatchObject({ created: 1, failed: 0 })
    // Rows that are wrong by themselves, by a value of another record, and by a reference; then rows that refer to
    // them.
    const wrong = ['a,bad,,', 'b,1,taken,', 'c,1,,nowhere', 'good,1,,old']
    const next = ['d,1,,a', 'e,1,,b', 'f,1,,c', 'g,1,,e', 'h,1,,good', 'good,2,,', 'i,1,,good']
    const between = Array.from({ length: 4_500 }, (_, at) => `x${at},1,,`)
    for (const [lines, created] of [
      [[...wrong, ...next], 3],
      [[...wrong, ...between, ...next], between.length],
    ] as const) {
      const file = `id,n,u,p\n${lines.join('\n')}\n`
      const dry = await send(file, { dryRun: 'true' })
      const done = await send(file)
      expect(done.failures).toEqual(dry.failures)
      expect([dry.created, dry.failed, dry.unchanged]).toEqual([done.created, done.failed, done.unchanged])
      expect([done.created, done.failed]).toEqual([created, 8])
    }
    const records = await list()
    const ids = new Set(records.map((one: { _id: string }) => one._id))
    for (const { data } of records) if (data.p !== undefined) expect(ids).toContain(data.p)
  })

  it.each([
    ['email', 'ada@example.com', 'ADA@example.com'],
    ['number', '7', '007'],
  ])('lead to one record however they are written: %s', async (type, key, alike) => {
    const customers = await newType({ primaryKey: 'key' }, [{ key: 'key', label: 'Key', type }])
    await send(`Key\n${key}\n`)
    const [{ _id: customer }] = (await owner.get(`/data?dataTypeId=${customers}`)).body.data
    await newType({}, [{ key: 'customer', label: 'Customer', type: 'reference', dataTypeId: customers }])
    expect(await send(`Customer\n${key}\n${alike}\n`)).toMatchObject({ created: 2, failures: [] })
    expect(await read()).toEqual([{ customer }, { customer }])
  })

  it('lead to the record whose key has the same blanks, else to the one without', async () => {
    const parents = await newType({ primaryKey: 'code' }, [{ key: 'code', label: 'Code', type: 'text' }])
    const codes = [' A', 'A', 'B ', 'C']
    const ids: { [code: string]: string } = {}
    for (const code of codes)
      ids[code] = (await owner.post('/data', { dataTypeId: parents, data: { code } })).body.data._id
    await newType({}, [{ key: 'parent', label: 'Parent', type: 'reference', dataTypeId: parents }])
    const written = [' A', 'A', 'A ', 'B ', 'C ', ` ${ids.A} `]
    expect(await send(`Parent;x\n${written.map(code => `${code};\n`).join('')}B;\n`)).toMatchObject({
      created: written.length,
      failures: [{ row: 8, field: 'parent', value: 'B', message: 'There is no such record to refer to.' }],
    })
    expect(await read()).toEqual([' A', 'A', 'A', 'B ', 'C', 'A'].map(code => ({ parent: ids[code] })))
    const json = JSON.stringify([' A', 'A', 'A ', 'C '].map(parent => ({ data: { parent } })))
    expect(await send(json)).toMatchObject({ created: 2, failures: [{ value: 'A ' }, { value: 'C ' }] })
    expect((await read()).slice(-2)).toEqual([{ parent: ids[' A'] }, { parent: ids.A }])
  })

  it('lead to a row before them whose key has blanks', async () => {
    const own = await newType({ primaryKey: 'code' }, [{ key: 'code', label: 'Code', type: 'text' }])
    const fields = [
      { key: 'code', label: 'Code', type: 'text' },
      { key: 'parent', label: 'Parent', type: 'reference', dataTypeId: own },
    ]
    await owner.put(`/data-type/${own}`, { name: `Own ${number}`, primaryKey: 'code', fields })
    const file = 'code;parent\nA ;\nB;A \nA;\nC;A \nD; A\n'
    expect(await send(file, { dryRun: 'true' })).toMatchObject({ created: 5, failures: [] })
    expect(await send(file)).toMatchObject({ created: 5, failures: [] })
    const [blank, b, plain, c, d] = await list()
    expect([b, c, d].map(one => one.data.parent)).toEqual([blank._id, blank._id, plain._id])
  })

  it.each([
    ['date', '2026-11-21', ['21.11.2026', '2026-11-21', '21. November 2026']],
    ['number', '-0,5', ['-0,5', '-0,50', ' -0,5 ']],
    ['number', '5', ['5,0', '5', '005']],
    [
      'datetime',
      '2026-11-21 09:00',
      ['21.11.2026 09:00', '2026-11-21T08:00:00Z', '2026-11-21T09:00:00+01:00'],
    ],
    ['select', 'a, b', ['A, B', 'a-b']],
  ])('lead to a record by all that its key can be written as: %s %s', async (type, key, written) => {
    const options = type === 'select' ? ['a, b', 'c'] : []
    const days = await newType({ primaryKey: 'key' }, [{ key: 'key', label: 'Key', type, options }])
    expect(await send(`Key;x\n"${key}";\n`)).toMatchObject({ created: 1 })
    const [{ _id: day }] = await list()
    await newType({}, [{ key: 'day', label: 'Day', type: 'reference', dataTypeId: days }])
    expect(await send(`Day;x\n${written.map(one => `"${one}";\n`).join('')}`)).toMatchObject({ failures: [] })
    expect(await read()).toEqual(written.map(() => ({ day })))
  })

  it('lead nowhere where nobody knows which of two records is meant', async () => {
    const days = await newType({ primaryKey: 'key' }, [{ key: 'key', label: 'Key', type: 'date' }])
    await send('Key\n2026-04-03\n')
    await newType({}, [{ key: 'day', label: 'Day', type: 'reference', dataTypeId: days }])
    expect(await send('Day\n03/04/2026\n')).toMatchObject({ failed: 1 })
  })
})
