import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { addHub, addPerson, type Person } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

describe('OwnTracks over HTTP', () => {
  const { server, owner } = useOrganization()
  let driver: Person
  let mate: Person
  let stranger: Person
  let phone: TestDevice
  let van: TestDevice

  const post = async (device: TestDevice, second = 0) => {
    const tst = Math.floor(Date.now() / 1000) - 60 + second
    const response = await fetch(`${server.url}/api/v3/ingest/owntracks`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`x:${device.key}`).toString('base64')}` },
      body: JSON.stringify({ _type: 'location', lat: 52, lon: 13, tst }),
    })
    expect(response.status).toBe(200)
    return (await response.json()) as {
      _type: string
      name?: string
      tid: string
      topic: string
      lat?: number
    }[]
  }
  const names = (friends: { name?: string }[]) => friends.flatMap(({ name }) => name ?? []).sort()
  /** The answer is cached for some seconds. */
  const untilNamed = async (what: string, device: TestDevice, expected: string[]) => {
    let friends: Awaited<ReturnType<typeof post>> = []
    await until(what, async () => {
      friends = await post(device)
      return JSON.stringify(names(friends)) === JSON.stringify(expected)
    })
    return friends
  }
  const allow = (teamPositions: boolean) => owner.patch('/organization', { settings: { teamPositions } })
  const addVehicle = async (device: TestDevice, driverId: string | null) =>
    (await owner.post('/vehicle', { name: `Van ${device.id.slice(-6)}`, deviceId: device.id, driverId })).body
      .data._id

  beforeAll(async () => {
    driver = await addPerson(server, owner, { role: 'Planner' })
    mate = await addPerson(server, owner, { role: 'Planner' })
    stranger = await addPerson(server, owner, { role: 'Planner' })
    await owner.post('/team', { name: 'North', memberIds: [driver.userId, mate.userId] })
    phone = await createDevice(owner, 'Own phone')
    van = await createDevice(owner, 'Other van')
    const now = Date.now()
    for (const [person, lat] of [
      [driver, 1],
      [mate, 2],
      [stranger, 3],
    ] as const) {
      const points = [{ lat, lng: 1, timestamp: now, speed: 10, battery: 50.4, attributes: { secret: 1 } }]
      await person.client.post('/location-history/bulk', { points })
    }
    await createClient(server, van.key).post('/location-history/bulk', {
      points: [{ lat: 4, lng: 1, timestamp: now }],
    })
  })

  it('is answered with nobody unless the organization allows it, and its device is on a vehicle with a driver', async () => {
    await addVehicle(phone, driver.userId)
    expect(await post(phone)).toEqual([])
    const loose = await createDevice(owner)
    await allow(true)
    await untilNamed('allowed', phone, ['Person'])
    expect(await post(loose)).toEqual([])
    await addVehicle(loose, null)
    expect(await post(loose, 1)).toEqual([])
    await allow(false)
    await untilNamed('not allowed any more', phone, [])
  })

  it('is answered with a card and a location of whoever is of the driver’s teams, and of their vehicles', async () => {
    await allow(true)
    await addVehicle(van, mate.userId)
    const friends = await untilNamed('the van', phone, ['Other van', 'Person'])
    expect(friends).toHaveLength(4)
    const [card, location] = friends.filter(({ topic }) => topic.endsWith(mate.userId))
    const tid = card?.tid
    expect(card).toEqual({ _type: 'card', tid, topic: `owntracks/team/${mate.userId}`, name: 'Person' })
    expect(location).toMatchObject({ _type: 'location', tid, lat: 2, lon: 1, vel: 36, batt: 50 })
    expect(new Set(friends.map(friend => friend.tid)).size).toBe(2)
    expect(JSON.stringify(friends)).not.toMatch(
      new RegExp(`secret|${driver.userId}|${stranger.userId}|${phone.id}`),
    )
  })

  it('shows nothing to who had a hand in it and lacks view/location: the key, the mount, the driver', async () => {
    await allow(true)
    const shown = await createDevice(owner, 'Shown')
    const vehicleId = await addVehicle(shown, driver.userId)
    await untilNamed('everything by the owner', shown, ['Other van', 'Own phone', 'Person'])
    const permissions = ['view', 'create', 'update'].flatMap(action =>
      ['device', 'vehicle', 'user'].map(resource => ({ permissionName: `${action}/${resource}` })),
    )
    const role = await owner.post('/role', { name: 'Fleet', permissionDetails: permissions })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id })
    const toDevice = ({ _id, key }: { _id: string; key: string }) => ({ id: _id, key })
    const ways: { [what: string]: () => Promise<TestDevice> } = {
      'the key': async () => ({
        id: shown.id,
        key: (await client.post(`/device/${shown.id}/rotate-key`)).body.data.key,
      }),
      'the mount': async () => {
        const own = await createDevice(owner, 'Given')
        expect((await client.patch(`/device/${own.id}`, { vehicleId })).status).toBe(200)
        return own
      },
      'the mount by the vehicle': async () => {
        const own = await createDevice(owner, 'Given')
        expect((await client.patch(`/vehicle/${vehicleId}`, { deviceId: own.id })).status).toBe(200)
        return own
      },
      'both at once': async () =>
        toDevice((await client.post('/device', { name: 'Mine', vehicleId })).body.data),
      'the driver': async () => {
        const own = await createDevice(owner, 'Given')
        const van = await addVehicle(own, null)
        const named = await client.patch(`/vehicle/${van}`, { driverId: driver.userId })
        expect(named.status).toBe(200)
        return own
      },
    }
    for (const [what, take] of Object.entries(ways)) {
      const own = await take()
      // What it was answered before is cached.
      if (own.id === shown.id) await untilNamed(what, own, [])
      expect(await post(own), what).toEqual([])
      if (own.id !== shown.id) await owner.delete(`/device/${own.id}`)
    }
    const { key } = (await owner.post(`/device/${shown.id}/rotate-key`)).body.data
    await owner.patch(`/vehicle/${vehicleId}`, { deviceId: shown.id })
    await untilNamed('by the owner again', { ...shown, key }, ['Other van', 'Own phone', 'Person'])
    await owner.delete(`/vehicle/${vehicleId}`)
  })

  it('shows no more than the driver may see', async () => {
    await untilNamed('both', phone, ['Other van', 'Person'])
    const [hub, other] = [await addHub(owner), await addHub(owner)]
    await owner.patch(`/user/${driver.userId}`, { hubId: [hub] })
    await owner.patch(`/user/${mate.userId}`, { hubId: [other] })
    await untilNamed('of no other hub', phone, ['Other van'])
    await owner.patch(`/device/${van.id}`, { hubId: other })
    await untilNamed('nor a device of it', phone, [])
    await owner.patch(`/user/${mate.userId}`, { hubId: [hub] })
    await untilNamed('of the same hub', phone, ['Person'])
    await owner.patch(`/user/${driver.userId}`, { status: 'suspended' })
    await untilNamed('nothing when the driver is suspended', phone, [])
  })
})
