import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice } from '../support/client.ts'
import { addHub, addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

const NOTHING = {
  plate: null,
  capacity: { weight: null, volume: null, units: null },
  speed: null,
  workingHours: [],
  tags: [],
  constraints: { maxDistance: null, maxDuration: null, maxStops: null, skills: [] },
  hubId: null,
  deviceId: null,
  driverId: null,
}
const FULL = {
  name: 'Van 12',
  plate: 'B-FL 1234',
  capacity: { weight: 1200, volume: 11.5, units: 40 },
  speed: 13.9,
  workingHours: [
    { weekday: 'mon', from: '08:00', to: '12:00' },
    { weekday: 'mon', from: '12:00', to: '17:30' },
    { weekday: 'sat', from: '22:00', to: '24:00' },
  ],
  tags: ['electric', 'box'],
  constraints: { maxDistance: 250_000, maxDuration: 28_800, maxStops: 30, skills: ['refrigerated'] },
}

describe('Vehicles', () => {
  const { server, owner } = useOrganization()
  let hubId: string
  let driverId: string

  beforeAll(async () => {
    hubId = await addHub(owner)
    driverId = (await addPerson(server, owner)).userId
  })

  const add = async (body: object): Promise<{ path: string; vehicle: Record<string, unknown> }> => {
    const made = await owner.post('/vehicle', body)
    expect([made.status, made.body.errors]).toEqual([201, undefined])
    return { path: `/vehicle/${made.body.data._id}`, vehicle: made.body.data }
  }

  it('are created with what is given, read, and deleted', async () => {
    const device = await createDevice(owner)
    const given = { ...FULL, hubId, deviceId: device.id, driverId }
    const { path, vehicle } = await add(given)
    expect(vehicle).toEqual({
      ...given,
      _id: expect.any(String),
      isSample: false,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect((await owner.get(path)).body.data).toEqual(vehicle)
    expect((await owner.delete(path)).body.data).toEqual({ _id: vehicle._id })
    expect((await owner.get(path)).status).toBe(404)
    expect((await owner.get(`/device/${device.id}`)).body.data.vehicleId).toBeNull()
  })

  it('need a name alone', async () => {
    expect((await add({ name: 'Bare' })).vehicle).toMatchObject({ name: 'Bare', ...NOTHING })
  })

  it('PUT replaces: what is left out has its default', async () => {
    const { path } = await add({ ...FULL, hubId, driverId, deviceId: (await createDevice(owner)).id })
    const replaced = await owner.put(path, { name: 'Other', capacity: { units: 3 } })
    const { capacity } = NOTHING
    expect(replaced.body.data).toMatchObject({
      name: 'Other',
      ...NOTHING,
      capacity: { ...capacity, units: 3 },
    })
    expect((await owner.get(path)).body.data).toEqual(replaced.body.data)
    expect((await owner.put(path, { plate: 'x' })).body.errors).toMatchObject([{ path: 'name' }])
  })

  it('PATCH merges as RFC 7396 says, whatever the patch', async () => {
    const { path } = await add(FULL)
    const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
    const partial = <T extends Record<string, fc.Arbitrary<unknown>>>(shape: T) =>
      fc.record(shape, { requiredKeys: [] })
    const words = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'))
    const number = maybe(fc.integer({ min: 0, max: 1000 }))
    const patches = partial({
      name: fc.constantFrom('One', 'Two'),
      plate: maybe(fc.constantFrom('P', 'Q')),
      speed: maybe(fc.integer({ min: 1, max: 30 })),
      tags: maybe(words),
      workingHours: maybe(fc.subarray(FULL.workingHours)),
      capacity: maybe(partial({ weight: number, volume: number, units: number })),
      constraints: maybe(
        partial({ maxDistance: number, maxDuration: number, maxStops: number, skills: maybe(words) }),
      ),
    })
    let expected: Record<string, unknown> = (await owner.get(path)).body.data
    await fc.assert(
      fc.asyncProperty(patches, async patch => {
        expected = withDefaults(mergePatch(expected, patch) as Record<string, unknown>)
        const { status, body } = await owner.patch(path, patch)
        expect(status).toBe(200)
        const { updatedAt } = body.data
        expect(body.data).toEqual({ ...expected, updatedAt })
      }),
      { numRuns: 30 },
    )
    expect((await owner.patch(path, { name: null })).status).toBe(400)
  })

  it.each([
    ['name', { name: ' ' }],
    ['speed', { speed: 0 }],
    ['speed', { speed: 151 }],
    ['capacity.weight', { capacity: { weight: -1 } }],
    ['capacity.units', { capacity: { units: 1.5 } }],
    ['capacity.wheels', { capacity: { wheels: 4 } }],
    ['constraints.maxStops', { constraints: { maxStops: -1 } }],
    ['constraints.skills.0', { constraints: { skills: [''] } }],
    ['workingHours.0.weekday', { workingHours: [{ weekday: 'monday', from: '08:00', to: '09:00' }] }],
    ['workingHours.0.from', { workingHours: [{ weekday: 'mon', from: '8:00', to: '09:00' }] }],
    ['workingHours.0.to', { workingHours: [{ weekday: 'mon', from: '08:00', to: '24:01' }] }],
    ['workingHours.0.to', { workingHours: [{ weekday: 'mon', from: '22:00', to: '06:00' }] }],
    ['workingHours.0.to', { workingHours: [{ weekday: 'mon', from: '08:00', to: '08:00' }] }],
    [
      'workingHours.2',
      {
        workingHours: [
          { weekday: 'mon', from: '08:00', to: '12:00' },
          { weekday: 'tue', from: '11:00', to: '13:00' },
          { weekday: 'mon', from: '11:59', to: '13:00' },
        ],
      },
    ],
    ['hubId', { hubId: 'none' }],
    ['deviceId', { deviceId: '019aa3c0-5b6e-7d4a-9f10-2b3c4d5e6f70' }],
    ['driverId', { driverId: '' }],
    ['isSample', { isSample: true }],
  ])('a wrong %s is 400, in every way to write it: %o', async (path, wrong) => {
    const { path: at, vehicle } = await add({ name: 'Right' })
    for (const answer of [
      await owner.post('/vehicle', { name: 'New', ...wrong }),
      await owner.put(at, { name: 'New', ...wrong }),
      await owner.patch(at, wrong),
    ]) {
      expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path])
    }
    expect((await owner.get(at)).body.data).toEqual(vehicle)
  })

  it('are listed by hub, driver and tag, searched by name and plate, sorted, page by page', async () => {
    const { client } = await addOrganization(
      server,
      (await addPerson(server, owner, { role: 'Admin' })).client,
    )
    const hub = await addHub(client)
    const { data: me } = (await client.get('/user')).body
    for (const [index, name] of ['Delta', 'alpha', 'Charlie', 'bravo'].entries()) {
      const tags = index % 2 === 0 ? ['even'] : ['odd', 'all']
      const plate = `P-${index}`
      const of = index < 2 ? { hubId: hub } : { driverId: me._id }
      expect((await client.post('/vehicle', { name, plate, tags, ...of })).status).toBe(201)
    }
    const names = async (query: string) =>
      (await client.get(`/vehicles?search=&${query}`)).body.data
        .filter((one: { isSample: boolean }) => !one.isSample)
        .map((one: { name: string }) => one.name)
    expect(await names('')).toEqual(['alpha', 'bravo', 'Charlie', 'Delta'])
    expect(await names('sort=-createdAt')).toEqual(['bravo', 'Charlie', 'alpha', 'Delta'])
    expect(await names(`hubId=${hub}`)).toEqual(['alpha', 'Delta'])
    expect(await names(`driverId=${me._id}`)).toEqual(['bravo', 'Charlie'])
    expect(await names('tags=all,none')).toEqual(['alpha', 'bravo'])
    expect((await client.get('/vehicles?search=p-2')).body.data).toMatchObject([{ name: 'Charlie' }])
    const first = (await client.get('/vehicles?tags=even&limit=1')).body
    expect(first.pagination.total).toBe(2)
    const second = (await client.get(`/vehicles?tags=even&limit=1&cursor=${first.pagination.nextCursor}`))
      .body
    expect([first.data[0].name, second.data[0].name, second.pagination.nextCursor]).toEqual([
      'Charlie',
      'Delta',
      null,
    ])
  })

  it('of a hub without access are 404 and not listed, and no device or hub of one can be named', async () => {
    const other = await addHub(owner, 'Other')
    const { client } = await addPerson(server, owner, { hubId: [hubId] })
    const { path, vehicle } = await add({ name: 'Hidden', hubId: other })
    const open = (await add({ name: 'Open', hubId })).path
    const device = await createDevice(owner)
    await owner.patch(`/device/${device.id}`, { hubId: other })
    for (const answer of [
      await client.get(path),
      await client.put(path, { name: 'Taken' }),
      await client.patch(path, { name: 'Taken' }),
      await client.delete(path),
    ]) {
      expect(answer.status).toBe(404)
    }
    expect((await client.patch(open, { hubId: other })).status).toBe(400)
    expect((await client.patch(open, { deviceId: device.id })).status).toBe(400)
    const { data } = (await client.get('/vehicles?limit=500')).body
    expect(data.map(({ _id }: { _id: string }) => _id)).not.toContain(vehicle._id)
    // References that the vehicle has already may stay, even if the caller has no access to them.
    await owner.patch(open, { deviceId: device.id })
    expect((await client.patch(open, { deviceId: device.id, name: 'Kept' })).status).toBe(200)
  })

  it('two who merge at once lose nothing of each other', async () => {
    const { path } = await add({ name: 'Merged' })
    const members = ['weight', 'volume', 'units']
    for (let round = 1; round <= 5; round++) {
      await Promise.all(members.map(member => owner.patch(path, { capacity: { [member]: round } })))
      const { capacity } = (await owner.get(path)).body.data
      expect(capacity).toEqual({ weight: round, volume: round, units: round })
    }
  })
})

/** RFC 7396, section 2, to the letter. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result = { ...(typeof target === 'object' && !Array.isArray(target) ? target : {}) } as Record<
    string,
    unknown
  >
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = mergePatch(result[name], value)
  }
  return result
}

const withDefaults = (vehicle: Record<string, unknown>): Record<string, unknown> => ({
  ...NOTHING,
  ...vehicle,
  capacity: { ...NOTHING.capacity, ...(vehicle.capacity as object) },
  constraints: { ...NOTHING.constraints, ...(vehicle.constraints as object) },
})
