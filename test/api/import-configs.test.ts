import { beforeAll, describe, expect, it } from 'vitest'
import { importFile, upload } from '../support/imports.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('Import configs', () => {
  const { server, owner } = useOrganization()
  let dataTypeId: string
  const FIELDS = [
    { key: 'name', label: 'Name', type: 'text', required: true },
    { key: 'phone', label: 'Phone', type: 'phone' },
    { key: 'size', label: 'Size', type: 'number' },
  ]
  const MAPPING = { name: 'Customer name', phone: 'Telephone' }

  beforeAll(async () => {
    const made = await owner.post('/data-type', { name: 'Customer', fields: FIELDS })
    dataTypeId = made.body.data._id
  })

  it('are created, listed, read, replaced and deleted', async () => {
    const made = await owner.post('/import-config', { name: 'Shop', dataTypeId, mapping: MAPPING })
    expect(made.status).toBe(201)
    expect(made.body.data).toMatchObject({
      name: 'Shop',
      resource: 'data',
      dataTypeId,
      mapping: MAPPING,
      typeChanges: [],
    })
    const path = `/import-config/${made.body.data._id}`
    expect((await owner.get(path)).body.data).toEqual(made.body.data)
    expect((await owner.get(`/import-configs?dataTypeId=${dataTypeId}`)).body.data).toEqual([made.body.data])
    expect((await owner.get('/import-configs?dataTypeId=none')).body.data).toEqual([])
    const put = await owner.put(path, { name: 'Shop', dataTypeId, mapping: { name: 'Firma' } })
    expect(put.body.data.mapping).toEqual({ name: 'Firma' })
    expect((await owner.delete(path)).status).toBe(200)
    expect((await owner.get(path)).status).toBe(404)
  })

  it.each([
    ['mapping.shoe', { mapping: { name: 'Name', shoe: 'Shoe' } }],
    ['mapping', { mapping: {} }],
    ['mapping.name', { mapping: { name: ' ' } }],
    ['mapping', { mapping: undefined }],
    ['dataTypeId', { dataTypeId: '0190aaaa-0000-7000-8000-000000000000' }],
    ['resource', { resource: 'tasks' }],
    ['name', { name: '' }],
    ['shoe', { shoe: 1 }],
  ])('a wrong %s is 400: %o', async (path, wrong) => {
    const answer = await owner.post('/import-config', {
      name: 'Wrong',
      dataTypeId,
      mapping: MAPPING,
      ...wrong,
    })
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path])
  })

  it('have names of their own: 409', async () => {
    const config = { name: 'Twice', dataTypeId, mapping: MAPPING }
    expect((await owner.post('/import-config', config)).status).toBe(201)
    const again = await owner.post('/import-config', config)
    expect([again.status, again.body.message]).toEqual([
      409,
      'There is an import config named Twice already.',
    ])
  })

  it('do no harm to JSON, and name a field that is gone', async () => {
    const name = 'Of files'
    const type = await owner.post('/data-type', { name, fields: FIELDS })
    const file = { dataTypeId: type.body.data._id as string }
    const config = await owner.post('/import-config', { name: 'Table', ...file, mapping: MAPPING })
    const named = { ...file, importConfigId: config.body.data._id as string }
    // Records of JSON have the keys of the fields, whichever columns a config names.
    const records = JSON.stringify([{ data: { name: 'Ada' } }])
    expect(await importFile(server, owner, records, { ...named, dryRun: 'true' })).toMatchObject({
      created: 1,
    })
    const table = 'Name\nAda\n'
    // Alone it names the data type as well.
    const { importConfigId } = named
    const whole = 'Customer name,Telephone\nAda,+49 30 1234567\n'
    const alone = await importFile(server, owner, whole, { importConfigId, dryRun: 'true' })
    expect(alone).toMatchObject({ created: 1, dataType: { _id: file.dataTypeId } })
    for (const [path, fields] of [
      ['dataTypeId', {}],
      ['dataTypeId', { ...named, dataTypeName: name }],
      ['importConfigId', { importConfigId: crypto.randomUUID() }],
      ['importConfigId', { ...named, dataTypeId }],
      ['mapping', { importConfigId, mapping: '{}' }],
    ] as const) {
      const { status, body } = await upload(server, owner, table, fields)
      expect([status, body.errors?.[0].path], JSON.stringify(fields)).toEqual([400, path])
    }
    const both = await upload(server, owner, table, { ...file, dataTypeName: name })
    expect([both.status, both.body.message]).toEqual([
      400,
      expect.stringContaining('either dataTypeId or dataTypeName'),
    ])
    const put = await owner.put(`/data-type/${file.dataTypeId}`, { name, fields: FIELDS.slice(0, 1) })
    expect(put.status, JSON.stringify(put.body)).toBe(200)
    const gone = await upload(server, owner, table, named)
    expect([gone.status, gone.body.message]).toEqual([
      400,
      'The import config Table maps a field that Of files no longer has: phone.',
    ])
  })

  it.each([
    ['mapping.__proto__', { mapping: '{"name":"Name","__proto__":"Name"}' }],
    ['mapping', { mapping: '' }],
    ['importConfigId', { importConfigId: '' }],
    ['dataTypeId', { dataTypeId: '' }],
    ['dataTypeName', { dataTypeId: undefined, dataTypeName: '' }],
    ['mode', { mode: '' }],
    ['dryRun', { dryRun: '' }],
  ])('and the other fields of a form are 400 with %s where they say nothing', async (path, fields) => {
    const type = await owner.post('/data-type', { name: `Empty ${path}`, fields: FIELDS })
    const given = { dataTypeId: type.body.data._id, ...fields }
    const sent = Object.entries(given).filter(([, value]) => value !== undefined)
    const { status, body } = await upload(server, owner, 'Name\nAda\n', Object.fromEntries(sent))
    expect([status, body.errors]).toMatchObject([
      400,
      [{ path, code: expect.any(String), message: expect.any(String) }],
    ])
    expect((await owner.get(`/data?dataTypeId=${type.body.data._id}`)).body.data).toEqual([])
  })

  it('tell what has changed in the data type since, until they are written again', async () => {
    const type = await owner.post('/data-type', { name: 'Changing', fields: FIELDS })
    const config = { name: 'Changes', dataTypeId: type.body.data._id, mapping: { ...MAPPING, size: 'Size' } }
    const made = await owner.post('/import-config', config)
    const path = `/import-config/${made.body.data._id}`
    const [name, , size] = FIELDS
    const added = [
      { key: 'city', label: 'City', type: 'text', required: true },
      { key: 'zip', label: 'Zip', type: 'text', required: true, default: '-' },
      { key: 'note', label: 'Note', type: 'text' },
    ]
    const fields = [name, { ...size, type: 'text' }, ...added]
    const changed = await owner.put(`/data-type/${type.body.data._id}`, { name: 'Changing', fields })
    expect(changed.status, JSON.stringify(changed.body)).toBe(200)
    const expected = [
      { field: 'phone', message: 'Changing has no field phone any more.' },
      { field: 'size', message: 'Size was of the type number and is text now.' },
      { field: 'city', message: 'City is required now, and no column is mapped to it.' },
    ]
    expect((await owner.get(path)).body.data.typeChanges).toEqual(expected)
    const listed = await owner.get('/import-configs?search=Changes')
    expect(listed.body.data[0].typeChanges).toEqual(expected)
    // The shown config can be put back, and still reports the deleted fields.
    const shown = (await owner.get(path)).body.data
    const back = await owner.put(path, { ...config, mapping: shown.mapping })
    expect([back.status, back.body.data]).toMatchObject([
      200,
      { mapping: shown.mapping, typeChanges: expected.slice(0, 1) },
    ])
    for (const wrong of [{ phone: 'Another column' }, { shoe: 'Shoe' }]) {
      const answer = await owner.put(path, { ...config, mapping: { ...config.mapping, ...wrong } })
      expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, `mapping.${Object.keys(wrong)[0]}`])
    }
    const mapping = { name: 'Name', size: 'Size', city: 'Town' }
    const again = await owner.put(path, { ...config, mapping })
    expect([again.status, again.body.data.typeChanges]).toEqual([200, []])
  })

  it('show no field that the role restricts but what it sets itself, and keep it when they are replaced', async () => {
    const secret = { key: 'zqpay', label: 'ZQ Pay', type: 'text' }
    const fields = [...FIELDS, secret]
    const type = await owner.post('/data-type', { name: 'Paid', fields })
    const whole = {
      name: 'Paid',
      dataTypeId: type.body.data._id,
      mapping: { ...MAPPING, zqpay: 'ZQ column' },
    }
    const path = `/import-config/${(await owner.post('/import-config', whole)).body.data._id}`
    const put = await owner.put(`/data-type/${whole.dataTypeId}`, {
      name: 'Paid',
      fields: [...FIELDS, { ...secret, type: 'email' }],
    })
    expect(put.status, JSON.stringify(put.body)).toBe(200)
    expect((await owner.get(path)).body.data.typeChanges).toMatchObject([{ field: 'zqpay' }])
    const role = await owner.post('/role', {
      name: 'Configures',
      permissionDetails: [
        ...['view', 'update', 'create'].map(action => ({ permissionName: `${action}/import-config` })),
        {
          permissionName: 'view/data',
          dataTypes: [{ dataTypeId: whole.dataTypeId, restrictedFields: ['zqpay'] }],
        },
      ],
    })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
    const shown = [await client.get(path), await client.get(`/import-configs?dataTypeId=${whole.dataTypeId}`)]
    expect(JSON.stringify(shown.map(({ body }) => body))).not.toMatch(/zq/i)
    expect(shown[0]?.body.data).toMatchObject({ mapping: MAPPING, typeChanges: [] })
    const kept = await client.put(path, { ...whole, mapping: { name: 'Firma' } })
    expect([kept.status, kept.body.data.mapping]).toEqual([200, { name: 'Firma' }])
    expect((await owner.get(path)).body.data.mapping).toEqual({ name: 'Firma', zqpay: 'ZQ column' })
    const set = await client.put(path, { ...whole, mapping: { zqpay: 'Mine' } })
    expect([set.status, set.body.data.mapping]).toEqual([200, { zqpay: 'Mine' }])
    expect((await client.get(path)).body.data.mapping).toEqual({})
    // A user who sees all of it replaces all of it.
    await owner.put(path, { ...whole, mapping: { name: 'Name' } })
    expect((await owner.get(path)).body.data.mapping).toEqual({ name: 'Name' })
  })

  it('of a data type that the sender may not import are refused without its name', async () => {
    const name = 'Payroll'
    const type = (await owner.post('/data-type', { name, fields: FIELDS })).body.data._id
    const mapping = { name: 'Name' }
    const config = await owner.post('/import-config', { name: 'Monthly', dataTypeId: type, mapping })
    const role = await owner.post('/role', {
      name: 'Imports customers',
      permissionDetails: [
        { permissionName: 'import/data', dataTypes: [{ dataTypeId, restrictedFields: [] }] },
        { permissionName: 'view/import-config' },
      ],
    })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
    const { status, body } = await upload(server, client, 'Name\nAda\n', {
      importConfigId: config.body.data._id,
    })
    expect(status).toBe(403)
    expect(body.message).toContain('the import config Monthly')
    expect(body.message).not.toContain(name)
  })

  it('go with their data type', async () => {
    const type = await owner.post('/data-type', { name: 'Going', fields: FIELDS })
    const config = { name: 'Goes', dataTypeId: type.body.data._id, mapping: MAPPING }
    const made = await owner.post('/import-config', config)
    expect((await owner.delete(`/data-type/${type.body.data._id}`)).status).toBe(200)
    expect((await owner.get(`/import-config/${made.body.data._id}`)).status).toBe(404)
  })

  it('need their own permissions', async () => {
    const { client } = await addPerson(server, owner, { role: 'Field user' })
    expect((await client.get('/import-configs')).status).toBe(403)
    expect((await client.post('/import-config', { name: 'x', dataTypeId, mapping: MAPPING })).status).toBe(
      403,
    )
  })
})
