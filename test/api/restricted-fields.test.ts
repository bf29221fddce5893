import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { addApiKey } from '../support/api-keys.ts'
import type { Client } from '../support/client.ts'
import { importFile, upload } from '../support/imports.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

/** Other seeds find further faults: `SEED=7 npx vitest run test/api/restricted-fields`. */
const SEED = Number(process.env.SEED ?? 1)
const SECRETS = ['zq-phone-7731', 'zq-phone-8842', 'zq-street-9', 'zq-token-1']

describe('A field that the role restricts', () => {
  const { server, owner } = useOrganization()
  let restricted: Client
  /** A person and an API key with the restricted role. */
  let readers: Client[]
  let typeId: string
  let openTypeId: string
  let recordIds: string[]

  const text = (key: string, more: object = {}) => ({ key, label: key, type: 'text', ...more })

  beforeAll(async () => {
    const made = await owner.post('/data-type', {
      name: 'Customer',
      primaryKey: 'token',
      fields: [
        text('name'),
        text('phone'),
        { ...text('home'), type: 'location' },
        text('token'),
        text('note'),
      ],
    })
    typeId = made.body.data._id
    const open = await owner.post('/data-type', { name: 'Product', fields: [text('name')] })
    openTypeId = open.body.data._id
    await owner.post('/data', { dataTypeId: openTypeId, data: { name: 'Open product' } })
    recordIds = []
    for (const [at, name] of ['Ada', 'Bob'].entries()) {
      const data = {
        name,
        phone: SECRETS[at],
        home: { lat: 1, lng: 2, address: SECRETS[2] },
        token: at === 0 ? SECRETS[3] : 'other-token',
        note: 'seen',
      }
      recordIds.push((await owner.post('/data', { dataTypeId: typeId, data })).body.data._id)
    }
    restricted = await person(['phone', 'home', 'token'])
    const { _id: roleId } = (await restricted.get('/user')).body.data.role
    readers = [restricted, (await addApiKey(server, owner, { roleId })).client]
  })

  let people = 0
  const person = async (restrictedFields: string[], more: object[] = []) => {
    const dataTypes = [
      { dataTypeId: typeId, restrictedFields },
      { dataTypeId: openTypeId, restrictedFields: [] },
    ]
    const role = await owner.post('/role', {
      name: `Restricted ${++people}`,
      permissionDetails: [
        { permissionName: 'view/data', dataTypes },
        ...[
          'create/data',
          'update/data',
          'delete/data',
          'view/data-type',
          'update/data-type',
          'view/audit',
        ].map(permissionName => ({ permissionName })),
        ...more,
      ],
    })
    expect(role.status, JSON.stringify(role.body)).toBe(201)
    return (await addPerson(server, owner, { roleId: role.body.data._id })).client
  }
  const paths = () => [
    `/data/${recordIds[0]}`,
    `/data/type/Customer/${recordIds[0]}`,
    `/data?dataTypeId=${typeId}`,
    '/data',
  ]

  it('is left out of every answer', async () => {
    for (const reader of readers)
      for (const path of paths()) {
        const { body } = await reader.get(path)
        const shown = [body.data].flat().find(({ _id }) => _id === recordIds[0])
        expect(shown.data, path).toEqual({ name: 'Ada', note: 'seen' })
      }
    expect((await owner.get(`/data/${recordIds[0]}`)).body.data.data.phone).toBe(SECRETS[0])
  })

  it('named in fields, sort or filter is 403 and listed', async () => {
    for (const path of paths()) {
      const sign = path.includes('?') ? '&' : '?'
      const answer = await restricted.get(`${path}${sign}fields=name,phone,token`)
      expect([answer.status, answer.body.restrictedFields], path).toEqual([403, ['phone', 'token']])
      expect((await restricted.get(`${path}${sign}fields=name`)).status).toBe(200)
    }
    for (const query of [
      'sort=phone',
      'sort=-phone',
      `filter[phone]=${SECRETS[0]}`,
      'fields=phone,nonsense',
    ]) {
      for (const which of [`dataTypeId=${typeId}`, 'dataTypeName=Customer', '']) {
        for (const reader of readers) {
          const answer = await reader.get(`/data?${which}&${query}`)
          expect([answer.status, answer.body.restrictedFields], query).toEqual([403, ['phone']])
        }
      }
    }
  })

  it('is not found by a search, nor by the primary key', async () => {
    for (const secret of SECRETS) {
      for (const text of [secret, secret.slice(3), secret.toUpperCase()]) {
        for (const reader of readers)
          expect((await reader.get(`/data?search=${text}`)).body, text).toMatchObject({
            data: [],
            pagination: { total: 0 },
          })
        expect((await owner.get(`/data?search=${text}`)).body.data.length, text).toBeGreaterThan(0)
      }
    }
    expect((await restricted.get('/data?search=ada')).body.data.length).toBe(1)
    expect((await restricted.get('/data?search=product')).body.data.length).toBe(1)
    expect((await restricted.get(`/data/type/Customer/${SECRETS[3]}`)).status).toBe(404)
    expect((await owner.get(`/data/type/Customer/${SECRETS[3]}`)).status).toBe(200)
  })

  it('is taken by writes, whose answer holds what the request set and nothing of the rest', async () => {
    const data = { name: 'Cyd', phone: 'own-phone', token: 'own-token' }
    const made = await restricted.post('/data', { dataTypeId: typeId, data })
    expect([made.status, made.body.data.data]).toEqual([201, data])
    const path = `/data/${made.body.data._id}`
    await owner.patch(path, { data: { home: { lat: 3, lng: 4 } } })
    const patched = await restricted.patch(path, { data: { phone: 'new-phone' } })
    expect(patched.body.data.data).toEqual({ name: 'Cyd', phone: 'new-phone' })
    const put = await restricted.put(path, { data: { note: 'only' } })
    expect(put.body.data.data).toEqual({ note: 'only' })
    expect((await owner.get(path)).body.data.data).toEqual({
      note: 'only',
      phone: 'new-phone',
      token: 'own-token',
      home: { lat: 3, lng: 4 },
    })
    const taken = await restricted.patch(path, { data: { token: SECRETS[3] } })
    expect([taken.status, taken.body.conflicts]).toEqual([409, { fields: ['token'], count: 1, ids: [] }])
    expect((await restricted.delete(path)).status).toBe(200)
  })

  it('keeps its rules: what records contradict would tell of them', async () => {
    const { body } = await restricted.get(`/data-type/${typeId}`)
    const { name, type, primaryKey, fields } = body.data
    const change = (key: string, rule: object) =>
      restricted.put(`/data-type/${typeId}`, {
        name,
        type,
        primaryKey,
        fields: fields.map((one: { key: string }) => (one.key === key ? { ...one, ...rule } : one)),
      })
    const refused = await change('phone', { type: 'select', options: [SECRETS[0]] })
    expect([refused.status, refused.body.restrictedFields]).toEqual([403, ['phone']])
    expect((await change('name', { label: 'Full name' })).status).toBe(200)
  })

  it('cannot be granted by who may not see it', async () => {
    const client = await person(['phone'], [{ permissionName: 'create/role' }])
    const grant = (detail: object) =>
      client.post('/role', {
        name: `Granted ${++people}`,
        permissionDetails: [{ permissionName: 'view/data', ...detail }],
      })
    expect((await grant({})).status).toBe(403)
    expect((await grant({ dataTypes: [{ dataTypeId: typeId, restrictedFields: [] }] })).status).toBe(403)
    const same = { dataTypes: [{ dataTypeId: typeId, restrictedFields: ['phone', 'note'] }] }
    expect((await grant(same)).status).toBe(201)
  })

  it('a type that the role does not name is out of sight as a whole', async () => {
    const role = await owner.post('/role', {
      name: 'Products only',
      permissionDetails: [
        { permissionName: 'view/data', dataTypes: [{ dataTypeId: openTypeId, restrictedFields: [] }] },
        { permissionName: 'create/data' },
      ],
    })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
    expect((await client.get(`/data/${recordIds[0]}`)).status).toBe(404)
    expect((await client.get(`/data/type/Customer/${recordIds[0]}`)).status).toBe(404)
    expect((await client.get(`/data?dataTypeId=${typeId}`)).body.data).toEqual([])
    expect((await client.get('/data?search=Ada')).body.data).toEqual([])
    expect((await client.get('/data')).body.data.length).toBe(1)
    const answer = await client.post('/data', { dataTypeId: typeId, data: { token: 'unseen', name: 'x' } })
    expect(answer.body.data.data).toEqual({ name: 'x', token: 'unseen' })
    expect((await client.patch(`/data/${recordIds[0]}`, { data: {} })).status).toBe(403)
    await owner.delete(`/data/${answer.body.data._id}`)
  })

  it('no sequence of reads ever contains a value of it, nor tells one by what it finds', async () => {
    const key = fc.constantFrom('name', 'phone', 'home', 'token', 'note', 'createdAt', 'nonsense')
    const part = fc
      .constantFrom(...SECRETS)
      .chain(secret =>
        fc
          .tuple(fc.nat(secret.length - 3), fc.integer({ min: 3, max: 30 }))
          .map(([from, length]) => secret.slice(from, from + length)),
      )
    const value = fc.oneof(fc.constantFrom(...SECRETS), part, fc.string({ unit: 'grapheme', maxLength: 12 }))
    const parameter = fc.oneof(
      fc.tuple(fc.constant('search'), value),
      fc.tuple(
        key.map(name => `filter[${name}]`),
        value,
      ),
      fc.tuple(
        fc.constant('sort'),
        fc.tuple(fc.constantFrom('', '-'), key).map(parts => parts.join('')),
      ),
      fc.tuple(
        fc.constant('fields'),
        fc.array(key, { maxLength: 4 }).map(keys => keys.join(',')),
      ),
      fc.tuple(fc.constant('limit'), fc.constantFrom('1', '2', '500')),
      fc.tuple(
        fc.constantFrom('dataTypeId', 'dataTypeName'),
        fc.constantFrom(typeId, openTypeId, 'Customer'),
      ),
    )
    const path = fc.oneof(
      fc.constant('/data'),
      fc.constantFrom(...recordIds).map(id => `/data/${id}`),
      fc
        .oneof(value, fc.constantFrom(...recordIds))
        .map(id => `/data/type/Customer/${encodeURIComponent(id)}`),
      fc.constantFrom(`/data-type/${typeId}`, '/audit-log', `/audit-log?resourceId=${recordIds[0]}`),
    )
    const read = fc.tuple(path, fc.array(parameter, { maxLength: 4 }))
    await fc.assert(
      fc.asyncProperty(fc.array(read, { minLength: 1, maxLength: 4 }), async reads => {
        for (const [path, parameters] of reads) {
          const query = new URLSearchParams(parameters).toString()
          let next: string | null = `${path}${path.includes('?') ? '&' : '?'}${query}`
          for (let pages = 0; next && pages < 4; pages++) {
            const { status, body } = await restricted.get(next)
            expect(status).toBeLessThan(500)
            const { data, pagination } = body
            for (const secret of SECRETS) {
              expect(JSON.stringify({ data, pagination }), next).not.toContain(secret)
              const cursor = Buffer.from(pagination?.nextCursor ?? '', 'base64url').toString()
              expect(cursor, next).not.toContain(secret)
            }
            const cursor: string | null | undefined = pagination?.nextCursor
            next = cursor && path === '/data' ? `/data?${query}&cursor=${cursor}` : null
          }
          // The search text comes from the caller itself; but it must not find hidden values.
          const search = new URLSearchParams(query).get('search')
          if (path === '/data' && search && SECRETS.includes(search)) {
            const { status, body } = await restricted.get(`/data?search=${encodeURIComponent(search)}`)
            expect([status, body.data]).toEqual([200, []])
          }
        }
      }),
      { numRuns: 60, seed: SEED },
    )
  })

  it('is not found out by a dry run of an import, which tells no values that there are', async () => {
    const fields = [text('number', { unique: true }), text('email', { unique: true })]
    const type = { name: 'Guest', primaryKey: 'number', fields }
    const dataTypeId = (await owner.post('/data-type', type)).body.data._id
    await owner.post('/data', { dataTypeId, data: { number: '1', email: 'ada@example.com' } })
    /** Tries a row with an existing key, and one with an existing e-mail address. */
    const tryBoth = async (...restrictedFields: string[]) => {
      const role = await owner.post('/role', {
        name: `Restricted ${++people}`,
        permissionDetails: [
          { permissionName: 'import/data' },
          { permissionName: 'view/data', dataTypes: [{ dataTypeId, restrictedFields }] },
        ],
      })
      const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
      const file = 'number,email\n1,bob@example.com\n2,ada@example.com\n'
      const how = { dataTypeId, dryRun: 'true', mode: 'upsert' }
      const { created, updated, failed } = await importFile(server, client, file, how)
      return { created, updated, failed }
    }
    expect(await tryBoth()).toEqual({ created: 0, updated: 1, failed: 1 })
    expect(await tryBoth('email')).toEqual({ created: 1, updated: 1, failed: 0 })
    expect(await tryBoth('number', 'email')).toEqual({ created: 2, updated: 0, failed: 0 })
  })

  it('is in nothing that an import tells, neither to a colleague nor to who sends a file without it', async () => {
    const fields = [
      ...[
        text('number', { unique: true }),
        text('name'),
        { ...text('zqpay', { label: 'ZQ Pay' }), type: 'number' },
      ],
      text('zqcode', { label: 'ZQ Code', unique: true, required: true }),
    ]
    const type = { name: 'Staff', primaryKey: 'number', fields }
    const made = await owner.post('/data-type', type)
    const dataTypeId: string = made.body.data._id
    const secret = ['zqpay', 'zqcode']
    const role = await owner.post('/role', {
      name: `Restricted ${++people}`,
      permissionDetails: [
        { permissionName: 'import/data' },
        { permissionName: 'view/data', dataTypes: [{ dataTypeId, restrictedFields: secret }] },
      ],
    })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
    const head = 'number,name,ZQ Pay,ZQ Code\n'
    const files = [
      `${head}1,Ada,1,zq-1\n2,Bob,2,zq-2\n`,
      // Values that differ, are invalid, are repeated, or are taken.
      `${head}1,Eve,2,zq-1\n3,Eve,zq-3,zq-3\n4,Eve,4,zq-4\n5,Eve,5,zq-4\n6,Eve,6,zq-2\n7,Eve,7,\n`,
      JSON.stringify([{ data: { number: '8', zqpay: 'zq-8', name: 8 } }, { number: '9', zqcode: 'zq-9' }]),
    ]
    for (const file of files) await importFile(server, owner, file, { dataTypeId })
    // An invalid record is quoted as a whole, whatever the mapping names.
    const whole = JSON.stringify([{ data: { number: '13', name: 1 } }, { number: '14', zqcode: 'zq-14' }])
    await importFile(server, owner, whole, { dataTypeId, mapping: '{"number":"number","name":"name"}' })
    const ofAll = (await owner.get('/import-monitoring')).body.data
    const told = JSON.stringify(ofAll)
    for (const known of [
      'differs in name, ZQ Pay',
      'ZQ Code already',
      '"zqpay":"ZQ Pay"',
      'zq-9',
      'zq-8',
      'zq-14',
    ])
      expect(told).toContain(known)
    const seen = (await client.get('/import-monitoring')).body.data
    expect(seen).toHaveLength(ofAll.length)
    expect(JSON.stringify(seen)).not.toMatch(/zq/i)
    expect(JSON.stringify(seen)).toContain('and it differs.')
    expect(JSON.stringify(seen)).toContain('This has to be a text.')
    for (const { _id } of ofAll)
      expect(JSON.stringify((await client.get(`/import-monitoring/${_id}`)).body)).not.toMatch(/zq/i)

    const others = await client.get(`/import-monitoring/${ofAll[0]._id}/failed-rows`)
    expect([others.status, JSON.stringify(others.body)]).toEqual([403, expect.not.stringMatching(/zq/i)])

    const refuse = async (file: string, mode = 'create') => {
      const { status, body } = await upload(server, client, file, { dataTypeId, mode })
      expect([status, body.message]).toEqual([422, expect.not.stringMatching(/zq/i)])
      return body.message
    }
    expect(await refuse('Nothing\n1\n')).toContain('a field of Staff: number, name.')
    expect(await refuse('number,name\n1,Ada\n')).toContain('a field that your role may not see')
    const own = await importFile(server, client, 'number,name\n1,Ann\n9,New\n', {
      dataTypeId,
      mode: 'upsert',
    })
    expect(own).toMatchObject({ updated: 1, failed: 1 })
    expect(own.failures).toMatchObject([
      { row: 3, field: null, message: expect.stringContaining('may not see') },
    ])
    const file = await client.get(`/import-monitoring/${own._id}/failed-rows`)
    expect(file.status).toBe(200)
    expect(JSON.stringify([own, file.body])).not.toMatch(/zq/i)
    // Its own JSON names the columns by the keys of the type, and missing keys have no effect.
    const json = JSON.stringify([{ data: { number: '11', name: 'Cid' } }, { data: { number: '1', name: 1 } }])
    const partial = await importFile(server, client, json, { dataTypeId })
    expect(partial).toMatchObject({ created: 0, failed: 2, mapping: { number: 'number', name: 'name' } })
    expect(JSON.stringify(partial)).not.toMatch(/zq/i)
    const equal = JSON.stringify([
      { data: { number: '1', name: 'Ann' } },
      { data: { number: '1', zqpay: 'zq' } },
    ])
    expect(await importFile(server, client, equal, { dataTypeId })).toMatchObject({ unchanged: 1, failed: 1 })
    const mapped = await upload(server, client, json, { dataTypeId, mapping: '{"name":"nobody"}' })
    expect([mapped.status, JSON.stringify(mapped.body)]).toEqual([
      422,
      expect.not.stringMatching(/zq|Row 1/i),
    ])
    const full = JSON.stringify([{ data: { number: '12', zqcode: 'zq-12', zqpay: 'zq-pay' } }])
    const told12 = await importFile(server, client, full, { dataTypeId })
    expect(told12.failures).toMatchObject([{ field: 'zqpay', value: 'zq-pay' }])
    // The sender sees the values of its own file.
    const sent = await importFile(server, client, `${head}10,Ada,zq-10,zq-10\n`, { dataTypeId })
    expect(sent.failures).toMatchObject([{ field: 'zqpay', value: 'zq-10' }])
  })
})
