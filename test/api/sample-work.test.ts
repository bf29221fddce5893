import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization } from '../support/people.ts'
import { until } from '../support/wait.ts'

interface Task {
  flowId: string
  status: string
  hubId: string
  vehicleId: string
  dataIds: string[]
  location: { lat: number; lng: number }
  startTime: string
  isSample: boolean
  history: { status: string; at: string; fields: { [key: string]: unknown } }[]
}

describe('The work of a new organization', () => {
  const { server } = useServer()
  let client: Client
  let hubIds: string[]

  beforeAll(async () => {
    // A place where a degree of longitude is short, near the antimeridian.
    const made = await addOrganization(server, await signIn(server), { hubLat: 66, hubLng: -179.99 })
    client = made.client
    hubIds = made.hubIds
    const count = async () => (await client.get('/tasks')).body.data.length
    await until('the tasks of the week', async () => (await count()) === 10)
  })

  it('is a week of tasks around its first hub, on vehicles that a planner can plan with', async () => {
    const tasks: Task[] = (await client.get('/tasks?sort=startTime')).body.data
    const vehicles = (await client.get('/vehicles')).body.data
    for (const { location, isSample, hubId, vehicleId, dataIds } of tasks) {
      const metres = 111_320 * Math.hypot(location.lat - 66, turn(location.lng + 179.99) * Math.cos(1.152))
      expect(metres).toBeLessThan(3_500)
      expect([isSample, hubId, dataIds.length]).toEqual([true, hubIds[0], 1])
      expect(vehicles.map(({ _id }: { _id: string }) => _id)).toContain(vehicleId)
    }
    const days = tasks.map(({ startTime }) => Date.parse(startTime) / 86_400_000)
    expect((days.at(-1) as number) - (days[0] as number)).toBeLessThan(7)
    for (const { capacity, speed, workingHours } of vehicles)
      expect([capacity.weight > 0, speed > 0, workingHours.length > 0]).toEqual([true, true, true])
  })

  it('has gone the ways that its flows allow, with what their steps ask for', async () => {
    const tasks: Task[] = (await client.get('/tasks')).body.data
    const flows = (await client.get('/flows')).body.data as {
      _id: string
      steps: { status: string; next: string[]; fields: { key: string; required: boolean }[] }[]
    }[]
    for (const { flowId, status, history } of tasks) {
      const steps = flows.find(({ _id }) => _id === flowId)?.steps ?? []
      const stepOf = (name: string) => steps.find(step => step.status === name)
      expect(history.at(-1)?.status).toBe(status)
      history.forEach((entry, at) => {
        const before = history[at - 1]
        if (before) expect(stepOf(before.status)?.next).toContain(entry.status)
        if (before) expect(entry.at >= before.at).toBe(true)
        const required = stepOf(entry.status)?.fields.filter(field => field.required) ?? []
        expect(Object.keys(entry.fields)).toEqual(expect.arrayContaining(required.map(({ key }) => key)))
      })
    }
  })

  it('goes in one call', async () => {
    const { body } = await client.delete('/organization/sample-data')
    expect(body.data.removed).toMatchObject({ vehicles: 3, tasks: 10 })
    expect((await client.get('/tasks')).body.data).toEqual([])
    expect((await client.get('/vehicles')).body.data).toEqual([])
  })
})

/** A difference of longitudes, the short way round. */
const turn = (degrees: number) => ((((degrees + 180) % 360) + 360) % 360) - 180
