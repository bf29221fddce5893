import { describe, expect, it } from 'vitest'
import { signIn } from '../support/client.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

let counter = 0
const newName = (name = 'Type') => `${name} ${++counter}`
const name = { key: 'name', label: 'Name', type: 'text' }

describe('Data types', () => {
  const { server, owner } = useOrganization()

  const make = async (body: object) => {
    const answer = await owner.post('/data-type', { name: newName(), ...body })
    expect(answer.body.message).toBe('Data type created')
    return answer.body.data
  }
  const paths = (answer: { body: { errors: { path: string }[] } }) =>
    answer.body.errors.map(({ path }) => path)

  it('are made of a name alone, or with every type of field', async () => {
    expect(await make({})).toMatchObject({ type: 'custom', primaryKey: null, fields: [] })
    const other = await make({})
    const types = 'text number boolean date datetime email phone url select multiselect location reference'
    const fields = types.split(' ').map((type, order) => ({
      key: type,
      label: type,
      type,
      order,
      ...(type.endsWith('select') ? { options: ['a', 'b'] } : {}),
      ...(type === 'reference' ? { dataTypeId: other._id } : {}),
    }))
    const made = await make({ type: 'customer', fields })
    expect(made.fields).toMatchObject(fields)
    expect(made.fields[0]).toEqual({
      ...fields[0],
      required: false,
      unique: false,
      options: [],
      default: null,
      dataTypeId: null,
    })
    expect((await owner.get(`/data-type/${made._id}/`)).body.data).toEqual(made)
    expect((await owner.get('/data-types?limit=500')).body.data).toContainEqual(made)
  })

  it('the primary key becomes required and unique, and names a field', async () => {
    const made = await make({ primaryKey: 'name', fields: [name] })
    expect(made.fields[0]).toMatchObject({ required: true, unique: true })
    const answer = await owner.post('/data-type', { name: newName(), primaryKey: 'no', fields: [name] })
    expect([answer.status, paths(answer)]).toEqual([400, ['primaryKey']])
    // A path with such a name leads elsewhere.
    for (const dots of ['.', '..'])
      expect(paths(await owner.post('/data-type', { name: dots, fields: [name] }))).toEqual(['name'])
  })

  it('stand in the order that their fields say', async () => {
    const fields = [
      { ...name, key: 'second', order: 2 },
      { ...name, key: 'first', order: 1 },
    ]
    const made = await make({ fields })
    expect(made.fields.map(({ key }: { key: string }) => key)).toEqual(['first', 'second'])
  })

  it.each([
    ['a key twice', [name, name], ['fields.1.key']],
    ['a key that is none', [{ ...name, key: '1st' }], ['fields.0.key']],
    ['a key that every record has', [{ ...name, key: 'createdAt' }], ['fields.0.key']],
    ['no label', [{ key: 'a', type: 'text' }], ['fields.0.label']],
    ['an unknown type', [{ ...name, type: 'color' }], ['fields.0.type']],
    ['an unknown key', [{ ...name, colour: 1 }], ['fields.0.colour']],
    ['nothing to select from', [{ ...name, type: 'select' }], ['fields.0.options']],
    ['options of a text', [{ ...name, options: ['a'] }], ['fields.0.options']],
    ['an option twice', [{ ...name, type: 'select', options: ['a', 'a'] }], ['fields.0.options.1']],
    ['a unique place', [{ ...name, type: 'location', unique: true }], ['fields.0.unique']],
    ['a default of another type', [{ ...name, type: 'number', default: 'one' }], ['fields.0.default']],
    ['a default that is unique', [{ ...name, unique: true, default: 'a' }], ['fields.0.default']],
    ['a type of a text', [{ ...name, dataTypeId: 'x' }], ['fields.0.dataTypeId']],
    ['a reference to nothing', [{ ...name, type: 'reference', dataTypeId: 'x' }], ['fields.0.dataTypeId']],
  ])('%s is 400 at its path', async (_, fields, expected) => {
    const answer = await owner.post('/data-type', { name: newName(), fields })
    expect([answer.status, paths(answer)]).toEqual([400, expected])
  })

  it('a taken name is 409, when made and when changed', async () => {
    const made = await make({})
    expect((await owner.post('/data-type', { name: made.name })).status).toBe(409)
    const other = await make({})
    expect((await owner.put(`/data-type/${other._id}`, { name: made.name })).status).toBe(409)
    expect((await owner.put(`/data-type/${made._id}`, { name: made.name })).status).toBe(200)
  })

  it('another organization sees nothing of them: 404', async () => {
    const made = await make({ fields: [name] })
    const { client } = await addOrganization(server, await signIn(server))
    for (const answer of [
      await client.get(`/data-type/${made._id}`),
      await client.put(`/data-type/${made._id}`, { name: 'x' }),
      await client.delete(`/data-type/${made._id}`),
    ]) {
      expect(answer.status).toBe(404)
    }
    const reference = { ...name, type: 'reference', dataTypeId: made._id }
    expect((await client.post('/data-type', { name: 'x', fields: [reference] })).status).toBe(400)
    expect((await client.post('/data-type', { name: made.name })).status).toBe(201)
  })

  it('ask for their permissions', async () => {
    const { client } = await addPerson(server, owner, { role: 'Field user' })
    expect((await client.get('/data-types')).status).toBe(200)
    expect((await client.post('/data-type', { name: newName() })).status).toBe(403)
  })

  it('stay while another data type or a flow refers to them: 409', async () => {
    const made = await make({})
    const reference = { key: 'ref', label: 'Reference', type: 'reference', dataTypeId: made._id }
    const other = await make({ fields: [reference] })
    expect((await owner.delete(`/data-type/${made._id}`)).status).toBe(409)
    await owner.delete(`/data-type/${other._id}`)
    const step = { status: 'new', label: 'New', fields: [reference] }
    const flow = await owner.post('/flow', { name: newName('Flow'), dataTypeId: made._id, steps: [step] })
    expect(flow.status).toBe(201)
    expect((await owner.delete(`/data-type/${made._id}`)).status).toBe(409)
    await owner.delete(`/flow/${flow.body.data._id}`)
    expect((await owner.delete(`/data-type/${made._id}`)).body.data).toEqual({ _id: made._id })
    expect((await owner.get(`/data-type/${made._id}`)).status).toBe(404)
  })

  it('stay while only the step of a flow refers to them, in capitals: 409', async () => {
    const { _id } = await make({})
    const field = { key: 'ref', label: 'Reference', type: 'reference', dataTypeId: _id.toUpperCase() }
    const steps = [{ status: 'new', label: 'New', fields: [field] }]
    const flow = await owner.post('/flow', { name: newName('Flow'), steps })
    expect(flow.body.data.steps[0].fields[0].dataTypeId).toBe(_id)
    expect((await owner.delete(`/data-type/${_id}`)).status).toBe(409)
  })

  it('are what roles and flows may name, and nothing else', async () => {
    const details = (dataTypeId: string) => [
      { permissionName: 'view/data', dataTypes: [{ dataTypeId, restrictedFields: ['name'] }] },
    ]
    const role = (dataTypeId: string) =>
      owner.post('/role', { name: newName('Role'), permissionDetails: details(dataTypeId) })
    const refused = await role('0190aaaa-0000-7000-8000-000000000000')
    expect([refused.status, paths(refused)]).toEqual([400, ['permissionDetails.0.dataTypes.0.dataTypeId']])
    const made = await make({ fields: [name] })
    const answer = await role(made._id.toUpperCase())
    expect(answer.body.data.permissionDetails[0].dataTypes[0].dataTypeId).toBe(made._id)
  })
})
