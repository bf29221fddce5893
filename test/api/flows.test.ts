import { describe, expect, it } from 'vitest'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

const STEP = { status: 'open', label: 'Open', next: ['done'] }
const DONE = { status: 'done', label: 'Done' }
const FIELD = { key: 'note', label: 'Note', type: 'text' }

describe('Flows', () => {
  const { server, owner } = useOrganization()

  it('one without steps has the statuses of the contract', async () => {
    const standard = (await owner.get('/flows?search=standard')).body.data[0]
    const made = await owner.post('/flow', { name: 'Without steps' })
    expect(made.status).toBe(201)
    const statuses = (flow: { steps: { status: string; next: string[] }[] }) =>
      flow.steps.map(({ status, next }) => [status, next])
    expect(statuses(made.body.data)).toEqual(statuses(standard))
    await owner.put(`/flow/${made.body.data._id}`, { name: 'Own steps', steps: [STEP, DONE] })
    const put = await owner.put(`/flow/${made.body.data._id}`, { name: 'Without steps again' })
    expect(statuses(put.body.data)).toEqual(statuses(standard))
  })

  it('the standard one has the statuses of the contract, and they lead to each other', async () => {
    const { body } = await owner.get('/flows?search=standard')
    const { steps } = body.data[0]
    expect(steps.map((step: { status: string }) => step.status)).toEqual(
      'unassigned assigned accepted on_the_way in_progress completed failed cancelled'.split(' '),
    )
    expect(steps[4].next).toEqual(['completed', 'failed', 'cancelled'])
  })

  it('are made with every default filled in, replaced and removed', async () => {
    const made = await owner.post('/flow', {
      name: 'Pickup',
      steps: [STEP, { ...DONE, fields: [FIELD] }],
    })
    expect(made.status).toBe(201)
    expect(made.body.data).toMatchObject({
      name: 'Pickup',
      isDefault: false,
      dataTypeId: null,
      steps: [
        { status: 'open', next: ['done'], fields: [] },
        {
          status: 'done',
          next: [],
          fields: [{ ...FIELD, required: false, options: [], default: null, order: 0 }],
        },
      ],
    })
    const path = `/flow/${made.body.data._id}`
    const replaced = await owner.put(path, { name: 'Pickup', steps: [DONE] })
    expect(replaced.body.data.steps).toHaveLength(1)
    expect((await owner.get(path)).body.data).toEqual(replaced.body.data)
    expect((await owner.delete(path)).status).toBe(200)
    expect((await owner.get(path)).status).toBe(404)
  })

  it.each([
    ['steps', []],
    ['steps.1.status', [DONE, DONE]],
    ['steps.0.next.0', [STEP]],
    ['steps.0.fields.1.key', [{ ...DONE, fields: [FIELD, FIELD] }]],
    ['steps.0.fields.0.options', [{ ...DONE, fields: [{ ...FIELD, type: 'select' }] }]],
    ['steps.0.fields.0.type', [{ ...DONE, fields: [{ ...FIELD, type: 'rocket' }] }]],
    ['steps.0.fields.0.dataTypeId', [{ ...DONE, fields: [{ ...FIELD, dataTypeId: crypto.randomUUID() }] }]],
    ['steps.0.status', [{ ...DONE, status: 'Not a key' }]],
  ])('what makes no sense is 400 at %s', async (path, steps) => {
    const answer = await owner.post('/flow', { name: 'Wrong', steps })
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, path])
  })

  it('a taken name is 409', async () => {
    expect((await owner.post('/flow', { name: 'Delivery', steps: [DONE] })).status).toBe(409)
  })

  it('are seen by field users and changed by planners', async () => {
    const field = await addPerson(server, owner, { role: 'Field user' })
    const planner = await addPerson(server, owner, { role: 'Planner' })
    expect((await field.client.get('/flows')).status).toBe(200)
    expect((await field.client.post('/flow', { name: 'Mine', steps: [DONE] })).status).toBe(403)
    expect((await planner.client.post('/flow', { name: 'Mine', steps: [DONE] })).status).toBe(201)
  })
})
