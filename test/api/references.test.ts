import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createDevice, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addHub, addPerson } from '../support/people.ts'

describe('A record that another refers to', () => {
  const { server } = useServer({ ROLES: 'api,ingest,writer,live' })
  let owner: Client
  /** One of each kind. */
  const ids: { [field: string]: string } = {}

  const make = async (path: string, body: object): Promise<string> => {
    const answer = await owner.post(path, { name: 'One', ...body })
    expect(answer.status, JSON.stringify(answer.body)).toBe(201)
    return answer.body.data._id
  }

  beforeAll(async () => {
    owner = await signIn(server)
    ids.hubId = await addHub(owner)
    ids.assigneeId = (await addPerson(server, owner)).userId
    ids.teamId = await make('/team', { name: 'Team', memberIds: [ids.assigneeId] })
    ids.driverId = ids.assigneeId
    ids.deviceId = (await createDevice(owner)).id
    ids.vehicleId = await make('/vehicle', {})
  })

  it.each([
    ['/task', ['hubId', 'teamId', 'assigneeId', 'vehicleId']],
    ['/task/schedule', ['hubId', 'teamId', 'assigneeId', 'vehicleId', 'flowId']],
    ['/vehicle', ['hubId', 'deviceId', 'driverId']],
  ])('of one kind is no reference of another kind: %s', async (path, fields) => {
    const given = Object.fromEntries(fields.filter(field => ids[field]).map(field => [field, ids[field]]))
    const record = (await owner.get(`${path}/${await make(path, given)}`)).body.data
    const answers: [string, number, string][] = []
    for (const field of fields) {
      for (const other of fields.filter(one => record[one] !== record[field])) {
        const { status, body } = await owner.patch(`${path}/${record._id}`, { [field]: record[other] })
        answers.push([`${field}: ${other}`, status, body.message])
      }
      if (path === '/vehicle') continue
      const { status, body } = await owner.patch(`${path}/${record._id}`, { dataIds: [record[field]] })
      answers.push([`dataIds: ${field}`, status, body.message])
    }
    expect(answers.length).toBeGreaterThan(5)
    expect(answers.filter(([, status]) => status !== 400)).toEqual([])
    expect((await owner.get(`${path}/${record._id}`)).body.data).toEqual(record)
  })

  it.each([
    ['hub', (id: string) => owner.post('/task', { name: 'Task', hubId: id })],
    ['hub', (id: string) => owner.patch(`/vehicle/${ids.vehicleId}`, { hubId: id })],
    ['team', (id: string) => owner.post('/task/schedule', { name: 'Schedule', teamId: id })],
    ['vehicle', (id: string) => owner.patch(`/device/${ids.deviceId}`, { vehicleId: id })],
  ])('may be deleted at the same moment: a %s', async (kind, refer) => {
    const statuses = new Set<number>()
    for (let round = 0; round < 15; round++) {
      const id = kind === 'hub' ? await addHub(owner) : await make(`/${kind}`, { name: `Gone ${round}` })
      const [answer] = await Promise.all([refer(id), owner.delete(`/${kind}/${id}`)])
      statuses.add(answer.status)
    }
    expect([...statuses].filter(status => ![200, 201, 400, 409].includes(status))).toEqual([])
  })

  it('may be deleted at the same moment: a deleted device is on no vehicle', async () => {
    for (let round = 0; round < 15; round++) {
      const device = await createDevice(owner)
      const [mounted] = await Promise.all([
        owner.patch(`/vehicle/${ids.vehicleId}`, { deviceId: device.id }),
        owner.delete(`/device/${device.id}`),
      ])
      expect([200, 400, 409]).toContain(mounted.status)
      expect((await owner.get(`/vehicle/${ids.vehicleId}`)).body.data.deviceId).toBeNull()
    }
  })
})
