import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { detectFormat } from '../../src/sheets/format.ts'
import { openSource } from '../../src/sheets/open-source.ts'
import { type Client, signIn } from '../support/client.ts'
import { ended, importFile, upload } from '../support/imports.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { openScreen } from '../support/screen.ts'
import { until } from '../support/wait.ts'

const JSON_EXPORT = '[{"_id":"x","data":{"name":"Änne","kind":"Café"}}]'
const FILES: [string, Buffer][] = [
  ['UTF-8', Buffer.from('Name;Kind\nÄnne;Café\n')],
  ['UTF-8 with a mark', Buffer.from('\ufeffName;Kind\nÄnne;Café\n')],
  ['Windows-1252', Buffer.from('Name;Kind\nÄnne;Café\n', 'latin1')],
  ['UTF-16 with a mark', Buffer.from('\ufeffName;Kind\nÄnne;Café\n', 'utf16le')],
  ['UTF-16 without one', Buffer.from('Name;Kind\nÄnne;Café\n', 'utf16le')],
  ['UTF-16 the other way round', Buffer.from('\ufeffName;Kind\nÄnne;Café\n', 'utf16le').swap16()],
  ['UTF-16 the other way round, without a mark', Buffer.from('Name;Kind\nÄnne;Café\n', 'utf16le').swap16()],
  ['tabs', Buffer.from('Name\tKind\nÄnne\tCafé\n')],
  ['commas', Buffer.from('Name,Kind\nÄnne,Café\n')],
  ['a delimiter that it says itself', Buffer.from('sep=|\nName|Kind\nÄnne|Café\n')],
  ['a JSON export', Buffer.from(JSON_EXPORT)],
  ['a JSON export in UTF-16', Buffer.from(JSON_EXPORT, 'utf16le')],
  [
    'a JSON export in UTF-16 the other way round, with a mark',
    Buffer.from(`\ufeff${JSON_EXPORT}`, 'utf16le').swap16(),
  ],
]

describe('Imports', () => {
  const { server } = useServer()
  let owner: Client
  let dataTypeId: string
  let number = 0
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-imports-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const FIELDS = [
    { key: 'number', label: 'Customer number', type: 'text' },
    { key: 'name', label: 'Name', type: 'text', required: true },
    { key: 'phone', label: 'Phone', type: 'phone' },
    { key: 'email', label: 'E-mail', type: 'email', unique: true },
    { key: 'size', label: 'Größe', type: 'number' },
    { key: 'since', label: 'Since', type: 'date' },
    { key: 'seen', label: 'Last seen', type: 'datetime' },
    { key: 'active', label: 'Active', type: 'boolean' },
    { key: 'kind', label: 'Kind', type: 'select', options: ['Shop', 'Café'], default: 'Shop' },
    { key: 'tags', label: 'Tags', type: 'multiselect', options: ['a', 'b', 'a, b; c'] },
    { key: 'place', label: 'Place', type: 'location' },
  ]

  beforeAll(async () => {
    owner = (await addOrganization(server, await signIn(server))).client
    await owner.patch('/organization', { language: 'de', timeZone: 'Europe/Berlin' })
  })

  /** A new type for a test. */
  async function newType(
    more: object = { primaryKey: 'number' },
    fields: object[] = FIELDS,
  ): Promise<string> {
    const made = await owner.post('/data-type', { name: `Customer ${++number}`, fields, ...more })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    dataTypeId = made.body.data._id
    return dataTypeId
  }
  const read = async (id = dataTypeId) =>
    (await owner.get(`/data?dataTypeId=${id}&limit=500`)).body.data.map(
      ({ data }: { data: { [field: string]: unknown } }) => data,
    )
  const send = (file: Buffer | string, fields: { [name: string]: string } = {}, name = 'file.csv') =>
    importFile(server, owner, file, { dataTypeId, ...fields }, name)

  it('bring values in as people write them, in the language and time zone of the organization', async () => {
    await newType()
    const file = [
      'customer NUMBER;Name;phone;E-Mail;grosse;Since;last seen;active;kind;TAGS;place',
      '007;Ada;+49 30 1234567;ADA@example.com;1.234,5;21.11.2026;21.11.2026 09:00;ja;cafe;b, a;52.5, 13.4',
      '008;"Bob; ""Sons""";8.49123456789E+11;;-0,5;1. März 2024;2026-07-01T10:00:00Z;Nein;Shop;"a, b; c; b";',
      '',
      '009;Eve;;;;;;;;;"52,5; 13,4; Am Platz 1"',
    ].join('\r\n')
    const done = await send(file)
    expect(done).toMatchObject({
      status: 'completed',
      total: 3,
      processed: 3,
      created: 3,
      failed: 0,
      progress: 1,
    })
    expect(done.mapping).toMatchObject({
      number: 'customer NUMBER',
      size: 'grosse',
      email: 'E-Mail',
      tags: 'TAGS',
    })
    expect(await read()).toEqual([
      {
        number: '007',
        name: 'Ada',
        phone: '+49 30 1234567',
        email: 'ADA@example.com',
        size: 1234.5,
        since: '2026-11-21',
        seen: '2026-11-21T08:00:00.000Z',
        active: true,
        kind: 'Café',
        tags: ['b', 'a'],
        place: { lat: 52.5, lng: 13.4 },
      },
      {
        number: '008',
        name: 'Bob; "Sons"',
        phone: '849123456789',
        size: -0.5,
        since: '2024-03-01',
        seen: '2026-07-01T10:00:00.000Z',
        active: false,
        kind: 'Shop',
        tags: ['a, b; c', 'b'],
      },
      { number: '009', name: 'Eve', place: { lat: 52.5, lng: 13.4, address: 'Am Platz 1' } },
    ])
  })

  it('report each bad row with its reason, and the rest is in', async () => {
    await newType()
    const file = [
      'Customer number,Name,Phone,Since,E-mail',
      '1,Ada,8.49E+10,,a@example.com',
      '2,,n/a,31.02.2026,b@example.com',
      '3,Cleo,,,c@example.com',
      '3,Other,,,d@example.com',
      '4,Dora,,,C@example.com',
      '5,Eve,1,2,3,4',
    ].join('\n')
    const done = await send(file)
    expect(done).toMatchObject({ status: 'completed_with_errors', created: 1, failed: 5, processed: 6 })
    expect(done.failures.map(({ row, field, value }) => [row, field, value])).toEqual([
      [2, 'phone', '8.49E+10'],
      [3, 'name', null],
      [3, 'phone', 'n/a'],
      [3, 'since', '31.02.2026'],
      [5, 'number', '3'],
      [6, 'email', 'C@example.com'],
      [7, null, null],
      [7, 'phone', '1'],
      [7, 'email', '3'],
      [7, 'since', '2'],
    ])
    expect(done.failures[0]?.message).toContain('dropped its last digits')
    expect(done.failures[4]?.message).toBe(
      'Row 4 has this Customer number already, and it counts or has failed itself: keep one of the two.',
    )
    expect(await read()).toEqual([{ number: '3', name: 'Cleo', email: 'c@example.com', kind: 'Shop' }])
  })

  it('of known rows are a success: equal ones are unchanged, others fail in mode create and change in mode upsert', async () => {
    await newType()
    const file = 'Customer number;Name;Größe\n1;Ada;1\n2;Bob;2\n'
    expect(await send(file)).toMatchObject({ created: 2 })
    expect(await send(file)).toMatchObject({ status: 'completed', created: 0, unchanged: 2, failed: 0 })
    const other = 'Customer number;Name;Phone\n1;Ada;030 123\n2;Bob;\n3;Cleo;\n'
    const report = await send(other, { dryRun: 'true' })
    expect(report).toMatchObject({ created: 1, unchanged: 1, failed: 1 })
    expect(report.failures[0]?.message).toBe(
      'There is a record with this Customer number already, and it differs in Phone.',
    )
    const upsert = await send(other, { mode: 'upsert', dryRun: 'true' })
    expect(upsert).toMatchObject({ created: 1, updated: 1, unchanged: 1, failed: 0 })
    expect(await read()).toHaveLength(2)
    expect(await send(other, { mode: 'upsert' })).toMatchObject({ created: 1, updated: 1, unchanged: 1 })
    // A field without a column keeps its value, an empty cell removes it.
    expect(await send('Customer number;Größe\n1;\n', { mode: 'upsert' })).toMatchObject({ updated: 1 })
    expect(await read()).toEqual([
      { number: '1', name: 'Ada', phone: '030 123', kind: 'Shop' },
      { number: '2', name: 'Bob', size: 2, kind: 'Shop' },
      { number: '3', name: 'Cleo', kind: 'Shop' },
    ])
  })

  it('a dry run gives the report of the import and changes nothing', async () => {
    await newType()
    const rows = ['1;Ada;a@example.com', '2;;', '1;Ada;a@example.com', '1;Bob;', '4;Dora;A@example.com']
    const file = `Customer number;Name;E-mail\n${rows.join('\n')}`
    const { _id, ...dry } = await send(file, { dryRun: 'true' })
    expect(await read()).toEqual([])
    const real = await send(file)
    const compared = ({ failures, created, unchanged, failed, status, total }: typeof real) => ({
      ...{ failures, created, unchanged, failed, status, total },
    })
    expect(compared({ _id, ...dry })).toEqual(compared(real))
    expect(real).toMatchObject({ created: 1, unchanged: 1, failed: 3 })
  })

  // The thread of an import calls these functions. Here they read every file, and three files are imported as well.
  it.each(FILES)('read %s', async (_name, file) => {
    const path = join(folder, String(++number))
    writeFileSync(path, file)
    const source = await openSource({ path, format: await detectFormat(path) }, ['name', 'kind'])
    const rows = []
    for await (const { cells } of source.rows) rows.push(cells)
    source.close()
    const json = [['name', 'kind'], ['Änne', 'Café'].map(value => ({ json: value }))]
    const table = [
      ['Name', 'Kind'],
      ['Änne', 'Café'],
    ]
    expect(rows).toEqual(source.isKeyed ? json : table)
  })

  it.each(FILES.filter(([name]) => /^(Windows|UTF-16 without|.*JSON.* mark)/.test(name)))(
    'take in %s',
    async (_name, file) => {
      await newType({})
      expect(await send(file)).toMatchObject({ status: 'completed', created: 1 })
      expect(await read()).toEqual([{ name: 'Änne', kind: 'Café' }])
    },
  )

  it('go by a mapping that is given, or by an import config', async () => {
    await newType()
    const file = 'Nr,Firma,Name\n1,Ada GmbH,x\n'
    const mapping = { number: 'nr', name: 'FIRMA' }
    expect(await send(file, { mapping: JSON.stringify(mapping) })).toMatchObject({
      created: 1,
      mapping: { number: 'Nr', name: 'Firma' },
    })
    const config = await owner.post('/import-config', { name: 'Shop', dataTypeId, mapping })
    expect(await send(file, { importConfigId: config.body.data._id })).toMatchObject({ unchanged: 1 })
    expect(await read()).toEqual([{ number: '1', name: 'Ada GmbH', kind: 'Shop' }])
  })

  it.each<[number, string, string, { [name: string]: string }]>([
    [422, 'The file is empty', '', {}],
    [422, 'The file is empty', '\n\n', {}],
    [422, 'names these columns twice: name', 'Name;name\nA;B\n', {}],
    [422, 'Row 2 was taken for the names of the columns: Customers.', '\nCustomers;\nName;Phone\n', {}],
    [422, 'no column Firma. Row 1 was taken', 'Name\nA\n', { mapping: '{"name":"Firma"}' }],
    [422, 'no column for Customer number, Name', 'Phone\n1234\n', {}],
    [422, 'no column for Customer number', 'Name\nA\n', { mode: 'upsert' }],
    [400, 'has no field shoe', 'Name\nA\n', { mapping: '{"shoe":"Name"}' }],
    [400, '"mapping" is not valid: this has to be JSON', 'Name\nA\n', { mapping: '{' }],
    [422, 'one object of JSON: send the array', '{"data":[{"name":"A"}]}', {}],
    [422, 'Record 1 has no "data"', '[ {"name":"A"}]', {}],
    [400, 'There is no such data type', 'Name\nA\n', { dataTypeId: 'x' }],
    [400, 'There is no such import config', 'Name\nA\n', { importConfigId: 'x' }],
    [400, '"shoe" is not valid', 'Name\nA\n', { shoe: 'x' }],
    [400, '"mode" is not valid', 'Name\nA\n', { mode: 'replace' }],
  ])('are refused with %d where %s', async (status, message, file, fields) => {
    await newType()
    const answer = await upload(server, owner, file, { dataTypeId, ...fields })
    expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)])
    expect(await read()).toEqual([])
  })

  it('keep the name of their file, without a path and what turns its letters round', async () => {
    await newType()
    const [file, fileName] = ['Name,Customer number\nA,1\n', '..\\etc/\u202egnp\t.csv']
    const answer = await upload(server, owner, file, { dataTypeId }, fileName)
    expect(answer.body.data.fileName).toBe('gnp.csv')
  })

  it('without a file, or as something else than a form, are refused', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    for (const body of [
      '',
      '--x--\r\n',
      '--x\r\nContent-Disposition: form-data; name="mode"\r\n\r\ncreate\r\n--x--\r\n',
      'x',
      '--x\r\n',
    ]) {
      const answer = await owner.post('/data/import', body, headers)
      expect([body, answer.status]).toEqual([body, 400])
    }
    const part = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nName\nA\r\n'
    const second = part.replace('"file"', '"more"')
    for (const body of [`${part}${part}--x--\r\n`, `${part}${second}--x--\r\n`, `${second}--x--\r\n`]) {
      const answer = await owner.post('/data/import', body, headers)
      expect([answer.status, answer.body.errors?.[0].message]).toEqual([
        400,
        'Send one file, in the field "file".',
      ])
    }
    const twice = '--x\r\nContent-Disposition: form-data; name="mode"\r\n\r\ncreate\r\n'.repeat(2)
    expect((await owner.post('/data/import', `${twice}--x--\r\n`, headers)).body.message).toContain('"mode"')
    const cut = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nName\nA'
    expect((await owner.post('/data/import', cut, headers)).status).toBe(400)
    expect((await owner.post('/data/import', {})).status).toBe(415)
    expect((await owner.post('/hub', 'x', headers)).status).toBe(415)
  })

  it('are listed and filtered, and seen by those who import into the type', async () => {
    await newType()
    const made = await send('Name;Customer number\nA;1\n')
    const listed = await owner.get(
      `/import-monitoring?dataTypeId=${dataTypeId}&status=completed&dryRun=false`,
    )
    expect(listed.body.data).toEqual([made])
    expect((await owner.get(`/import-monitoring?dataTypeId=${dataTypeId}&dryRun=true`)).body.data).toEqual([])
    const role = async (dataTypes?: object[]) => {
      const permissionDetails = [{ permissionName: 'import/data', ...(dataTypes ? { dataTypes } : {}) }]
      const { body } = await owner.post('/role', { name: `Importer ${++number}`, permissionDetails })
      return (await addPerson(server, owner, { roleId: body.data._id })).client
    }
    const other = (await owner.get('/data-types?limit=500')).body.data.find(
      (type: { _id: string }) => type._id !== dataTypeId,
    )
    const [all, elsewhere] = [await role(), await role([{ dataTypeId: other._id, restrictedFields: [] }])]
    expect((await all.get(`/import-monitoring/${made._id}`)).status).toBe(200)
    expect((await elsewhere.get(`/import-monitoring/${made._id}`)).status).toBe(404)
    expect(
      (await elsewhere.get('/import-monitoring')).body.data.map(({ _id }: { _id: string }) => _id),
    ).not.toContain(made._id)
    expect((await upload(server, elsewhere, 'Name\nA\n', { dataTypeId })).status).toBe(403)
    const stranger = (await addOrganization(server, await signIn(server))).client
    expect((await stranger.get(`/import-monitoring/${made._id}`)).status).toBe(404)
    expect((await stranger.post(`/import-monitoring/${made._id}/cancel`)).status).toBe(404)
    expect((await upload(server, stranger, 'Name\nA\n', { dataTypeId })).status).toBe(400)
  })

  it('tell nobody a value that the role restricts', async () => {
    await newType()
    await send('Customer number;Name;Phone\n1;Ada;030 123456\n')
    const bad = await send('Customer number;Name;Phone\n2;Bob;not to be seen\n')
    const restricted = [{ dataTypeId, restrictedFields: ['phone'] }]
    const { body } = await owner.post('/role', {
      name: `Restricted ${++number}`,
      permissionDetails: [
        { permissionName: 'import/data' },
        { permissionName: 'view/data', dataTypes: restricted },
      ],
    })
    const { client } = await addPerson(server, owner, { roleId: body.data._id })
    const seen = await client.get(`/import-monitoring/${bad._id}`)
    expect(seen.body.data.failures).toMatchObject([{ row: 2, field: null, value: null }])
    // Nor does it reveal whether the guess was right.
    const tried = []
    for (const phone of ['030 123456', '030 999999']) {
      const file = `Customer number;Name;Phone\n1;Ada;${phone}\n`
      const done = await importFile(server, client, file, { dataTypeId, dryRun: 'true' })
      tried.push([done.unchanged, done.failed, done.failures[0]?.message])
    }
    const same = [0, 1, 'There is a record with this Customer number already.']
    expect(tried).toEqual([same, same])
  })

  it('are cancelled: what is in stays in, and nothing more comes', async () => {
    await newType({})
    const file = `Name\n${Array.from({ length: 60_000 }, (_, at) => `Row ${at}`).join('\n')}`
    const { _id } = (await upload(server, owner, file, { dataTypeId })).body.data
    await until(
      'it has begun',
      async () => (await owner.get(`/import-monitoring/${_id}`)).body.data.created > 0,
    )
    const cancelled = await owner.post(`/import-monitoring/${_id}/cancel`)
    expect([cancelled.status, cancelled.body.data.status]).toEqual([200, 'cancelled'])
    const { created } = await ended(owner, _id)
    expect(created).toBeGreaterThan(0)
    expect(created).toBeLessThan(60_000)
    const again = await owner.post(`/import-monitoring/${_id}/cancel`)
    expect(again.status).toBe(409)
    // Another import continues at once, and finds as many as were counted.
    await send('Name\nafterwards\n')
    let found = 0
    for (let cursor = ''; ; ) {
      const page = await owner.get(`/data?dataTypeId=${dataTypeId}&limit=500${cursor}`)
      found += page.body.data.length
      if (page.body.pagination.nextCursor === null) break
      cursor = `&cursor=${page.body.pagination.nextCursor}`
    }
    expect(found).toBe(created + 1)
  })

  it('are watched: at most twice a second while they work, and once at their end', async () => {
    await newType({})
    const screen = await openScreen(server, owner.token)
    screen.send({ type: 'watch', topics: ['imports'] })
    await until('the answer', () => screen.messages.some(({ type }) => type === 'watching'))
    const begun = performance.now()
    const file = `Name\n${Array.from({ length: 5_000 }, (_, at) => `Row ${at}`).join('\n')}`
    const done = await send(file)
    const told = screen.messages as unknown as { type: string; import: typeof done }[]
    const seen = () => told.filter(one => one.type === 'import' && one.import._id === done._id)
    await until('the end', () => seen().some(one => one.import.status === 'completed'))
    const tookMs = performance.now() - begun
    expect(seen().length).toBeLessThanOrEqual(tookMs / 500 + 2)
    expect(seen().filter(one => one.import.status === 'completed')).toHaveLength(1)
    expect(seen().at(-1)?.import).toEqual(done)
    const progress = seen().map(one => one.import.processed)
    expect(progress).toEqual([...progress].sort((a, b) => a - b))
    screen.cut()
  })
})
