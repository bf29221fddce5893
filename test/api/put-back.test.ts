import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice } from '../support/client.ts'
import { listOperations, type OpenApi, type Operation, readDocument } from '../support/openapi.ts'
import { addHub, addPerson } from '../support/people.ts'
import {
  bodySchema,
  createResolver,
  exampleBody,
  listReferences,
  type Path,
  withReference,
} from '../support/references.ts'
import { useOrganization } from '../support/shared-server.ts'

/** The kinds of records that references name by other words. */
const KINDS: { [reference: string]: string } = {
  member: 'user',
  leader: 'user',
  driver: 'user',
  assignee: 'user',
}
const FIELDS = ['name', 'phone'].map(key => ({ key, label: key, type: 'text' }))
const REFERENCE = { key: 'other', label: 'Other', type: 'reference' }
/** Bodies that may name records, for operations whose example in the document names none. */
const BODIES: { [path: string]: object } = {
  '/role': {
    permissionDetails: [{ permissionName: 'view/data', dataTypes: [{ restrictedFields: ['phone'] }] }],
  },
  '/data-type': { fields: [REFERENCE] },
  '/flow': { steps: [{ status: 'new', label: 'New', fields: [REFERENCE] }] },
}

/** Covers every resource of the document that is read and replaced at one path. A new one needs no line here. */
describe('The answer of GET can be PUT back', () => {
  const { server, owner } = useOrganization()
  let document: OpenApi
  let operations: Operation[]

  beforeAll(async () => {
    document = await readDocument(server)
    operations = listOperations(document).filter(
      ({ method, path }) => method === 'put' && document.paths[path]?.get,
    )
  })

  const add = async (path: string, body: object): Promise<string> => {
    const answer = await owner.post(path, { name: crypto.randomUUID(), ...body })
    expect(answer.status, `${path} ${JSON.stringify([body, answer.body])}`).toBe(201)
    return answer.body.data._id
  }
  const makers: { [kind: string]: () => Promise<string> } = {
    hub: () => addHub(owner),
    user: async () => (await addPerson(server, owner)).userId,
    device: async () => (await createDevice(owner)).id,
    vehicle: () => add('/vehicle', {}),
    team: () => add('/team', {}),
    flow: () => add('/flow', { steps: [{ status: 'new', label: 'New' }] }),
    'data-type': () => add('/data-type', { fields: FIELDS }),
    data: async () => {
      const dataTypeId = await add('/data-type', { fields: FIELDS })
      return (await owner.post('/data', { dataTypeId, data: {} })).body.data._id
    },
  }
  const kindOf = (reference: Path) => {
    const name = (reference.filter(step => step !== 0).at(-1) as string).replace(/Ids?$/, '')
    return KINDS[name] ?? name.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
  }

  /** Adds a record, which refers to another one if there is a reference. Resolves to its path. */
  async function addNaming(operation: Operation, reference: Path | null, id: string): Promise<string> {
    const create = operation.path.replace('/{id}', '')
    const path = create.replace('/api/v3', '')
    const post = {
      name: '',
      method: 'post',
      path: create,
      spec: document.paths[create]?.post ?? { responses: {} },
    }
    const own = new Map([
      [
        'dataTypeId',
        reference && kindOf(reference) === 'data-type' ? id : ((await makers['data-type']?.()) as string),
      ],
    ])
    const example = { ...(exampleBody(post, document, own) as { name?: string }) }
    if (example.name) example.name = crypto.randomUUID()
    const body = reference
      ? withReference({ ...example, ...BODIES[path] }, bodySchema(post) ?? {}, document, reference, id)
      : example
    const answer = await owner.post(path, body)
    expect(answer.status, `${path} ${JSON.stringify([body, answer.body])}`).toBe(201)
    return `${path}/${answer.body.data._id}`
  }

  /** The fields of a record that a PUT accepts: it rejects read-only ones, such as `_id`. */
  function takenOf(record: { [key: string]: unknown }, operation: Operation): object {
    const taken = Object.keys(createResolver(document)(bodySchema(operation) ?? {}).properties ?? {})
    return Object.fromEntries(taken.filter(key => key in record).map(key => [key, record[key]]))
  }

  /**
   * Puts back the record that was read, and reads it again. Resolves to the faults; to none if the record was deleted.
   */
  async function putBack(path: string, operation: Operation): Promise<string[]> {
    const before = await owner.get(path)
    if (before.status === 404) return []
    const put = await owner.put(path, takenOf(before.body.data, operation))
    if (put.status !== 200) return [`${put.status}: ${JSON.stringify(put.body.errors ?? put.body.message)}`]
    const after = await owner.get(path)
    // Read-only fields may change by themselves, such as the next run of a schedule.
    const [was, ...is] = [before, put, after].map(({ body }) => JSON.stringify(takenOf(body.data, operation)))
    return is.filter(text => text !== was).map(text => `${was} became ${text}`)
  }

  /** Ways to delete the target of a reference, each later one going further. */
  const removals = (kind: string, id: string) => [
    ...(kind === 'data-type'
      ? [() => owner.put(`/data-type/${id}`, { name: crypto.randomUUID(), fields: [] })]
      : []),
    () => owner.delete(`/${kind}/${id}`),
  ]

  it('whatever it refers to, and when that is gone', async () => {
    const problems: string[] = []
    let removed = 0
    for (const operation of operations) {
      const references = listReferences(bodySchema(operation) ?? {}, createResolver(document))
      for (const reference of [null, ...references]) {
        const kind = reference ? kindOf(reference) : ''
        const id = reference ? await (makers[kind] as () => Promise<string>)() : ''
        const path = await addNaming(operation, reference, id)
        const report = (when: string, found: string[]) =>
          problems.push(...found.map(text => `${path} ${reference?.join('.') ?? ''} ${when}: ${text}`))
        report('as it is', await putBack(path, operation))
        for (const remove of reference ? removals(kind, id) : []) {
          if ((await remove()).status !== 200) continue
          removed++
          report(`without its ${kind}`, await putBack(path, operation))
        }
      }
    }
    expect(problems).toEqual([])
    expect(removed).toBeGreaterThan(10)
  })

  it('when a schedule’s assignee has left the team, and its flow asks for something else', async () => {
    const assigneeId = await (makers.user as () => Promise<string>)()
    const teamId = await add('/team', { memberIds: [assigneeId] })
    const step = (type: string) => [
      { status: 'new', label: 'New', fields: [{ key: 'parcels', label: 'Parcels', type }] },
    ]
    const flowId = await add('/flow', { steps: step('text') })
    const schedule = { teamId, assigneeId, flowId, content: { parcels: 'three' } }
    const path = `/task/schedule/${await add('/task/schedule', { ...schedule, repeat: { frequency: 'daily' } })}`
    expect((await owner.put(`/team/${teamId}`, { name: 'Without' })).status).toBe(200)
    expect((await owner.put(`/flow/${flowId}`, { name: 'Another', steps: step('number') })).status).toBe(200)
    const operation = operations.find(one => one.path === '/api/v3/task/schedule/{id}') as Operation
    const shown = takenOf((await owner.get(path)).body.data, operation)
    const put = await owner.put(path, shown)
    expect([put.status, put.body.data]).toMatchObject([200, schedule])
    const changed = await owner.put(path, { ...shown, content: { parcels: 'four' } })
    expect([changed.status, changed.body.errors?.[0].path]).toEqual([400, 'content.parcels'])
  })
})
