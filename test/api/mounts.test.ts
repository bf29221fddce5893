import { describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, type TestDevice } from '../support/client.ts'
import { addHub, addPerson } from '../support/people.ts'
import { openScreen, type TestScreen } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'
import { pause, until } from '../support/wait.ts'

describe('A device on a vehicle', () => {
  const { server, owner } = useOrganization()

  const addVehicle = async (body: object = {}): Promise<string> =>
    (await owner.post('/vehicle', { name: 'Vehicle', ...body })).body.data._id
  const vehicleOf = async (device: TestDevice) =>
    (await owner.get(`/device/${device.id}`)).body.data.vehicleId
  const deviceOf = async (vehicleId: string) => (await owner.get(`/vehicle/${vehicleId}`)).body.data.deviceId
  const mount = (device: TestDevice, vehicleId: string | null) =>
    owner.patch(`/device/${device.id}`, { vehicleId })
  /** Sends a present point, identified by its latitude. Earlier and later mounts are at other moments. */
  const send = async (device: TestDevice, lat: number) => {
    await pause(10)
    const points = [{ lat, lng: 8, timestamp: Date.now() }]
    await createClient(server, device.key).post('/location-history/bulk', { points })
    await pause(10)
  }

  it('is named by both: on one vehicle at the most, and one device a vehicle', async () => {
    const [one, other] = [await createDevice(owner), await createDevice(owner)]
    const [van, truck] = [await addVehicle({ deviceId: one.id }), await addVehicle()]
    expect([await vehicleOf(one), await deviceOf(van)]).toEqual([van, one.id])
    await mount(one, truck)
    expect([await vehicleOf(one), await deviceOf(van), await deviceOf(truck)]).toEqual([truck, null, one.id])
    await owner.patch(`/vehicle/${truck}`, { deviceId: other.id })
    expect([await vehicleOf(one), await vehicleOf(other)]).toEqual([null, truck])
    await owner.patch(`/vehicle/${truck}`, { deviceId: null })
    expect([await vehicleOf(other), await deviceOf(truck)]).toEqual([null, null])
    await mount(one, van)
    await owner.delete(`/device/${one.id}`)
    expect(await deviceOf(van)).toBeNull()
  })

  it('gives the vehicle a history of its own, also after it has moved on', async () => {
    const [first, second] = [await createDevice(owner), await createDevice(owner)]
    const [van, truck] = [await addVehicle(), await addVehicle()]
    await send(first, 1)
    await mount(first, van)
    await send(first, 2)
    await mount(first, truck)
    await send(first, 3)
    await mount(second, van)
    await send(second, 4)
    await owner.delete(`/device/${second.id}`)
    const latitudes = async (vehicleId: string) =>
      (await owner.get(`/location-histories?vehicleId=${vehicleId}&includeAnomalies=true`)).body.data.map(
        (point: { lat: number; subjectId: string }) => [point.lat, point.subjectId],
      )
    expect(await latitudes(van)).toEqual([
      [2, first.id],
      [4, second.id],
    ])
    expect(await latitudes(truck)).toEqual([[3, first.id]])
    expect(await latitudes(`${van},${truck}`)).toHaveLength(3)
  })

  it('shows no history of a vehicle of a hub without access', async () => {
    const hubId = await addHub(owner)
    const device = await createDevice(owner)
    const van = await addVehicle({ hubId, deviceId: device.id })
    await send(device, 5)
    const points = async (client: Client) =>
      (await client.get(`/location-histories?vehicleId=${van}`)).body.data.length
    const without = await addPerson(server, owner, { hubId: [await addHub(owner)] })
    const within = await addPerson(server, owner, { hubId: [hubId] })
    expect([await points(owner), await points(within.client), await points(without.client)]).toEqual([
      1, 1, 0,
    ])
  })

  it('is seen by who may see the vehicle, from the moment that it is on it, or that the vehicle moves', async () => {
    const [north, south] = [await addHub(owner, 'North'), await addHub(owner, 'South')]
    const device = await createDevice(owner, 'Rider')
    await send(device, 6)
    const people = [
      await addPerson(server, owner, { hubId: [north] }),
      await addPerson(server, owner, { hubId: [south] }),
    ]
    const screens = await Promise.all(
      people.map(({ client }) => openScreen(server, client.token, { filter: { subjectIds: [device.id] } })),
    )
    /** Whether each of the two users sees it, in every list. */
    const isSeenBy = async (what: string, expected: boolean[]) => {
      await until(what, () => screens.every((screen, at) => screen.positions.has(device.id) === expected[at]))
      for (const [at, { client }] of people.entries()) {
        const statuses = [
          (await client.get(`/device/${device.id}`)).status === 200,
          (await client.get('/devices?limit=500')).body.data.some(
            ({ _id }: { _id: string }) => _id === device.id,
          ),
          (
            await client.post('/tracking-link', {
              subjectId: device.id,
              subjectType: 'device',
              expiresAt: new Date(Date.now() + 60_000),
            })
          ).status === 201,
        ]
        expect(statuses, `${what} ${at}`).toEqual(Array(3).fill(expected[at]))
      }
    }
    await isSeenBy('on no vehicle', [true, true])
    const van = await addVehicle({ name: 'Northern van', hubId: north, deviceId: device.id })
    await isSeenBy('on a vehicle of the north', [true, false])
    for (const screen of screens) screen.send({ type: 'watch', topics: ['geofences'] })
    await until('they watch', () =>
      screens.every(({ messages }) => messages.some(({ type }) => type === 'watching')),
    )
    const shape = { type: 'circle', center: { lat: 7, lng: 8 }, radius: 500 }
    await owner.post('/geofence', { name: 'Seen by all', shape })
    const other = await createDevice(owner)
    const crossed = (screen: TestScreen, { id }: TestDevice) =>
      screen.messages.some(message => message.type === 'geofence' && JSON.stringify(message).includes(id))
    for (const one of [device, other]) {
      await send(one, 6.99)
      await send(one, 7)
      await until('it is told', () => crossed(screens[0] as TestScreen, one))
    }
    await until('that of another', () => crossed(screens[1] as TestScreen, other))
    expect(crossed(screens[1] as TestScreen, device)).toBe(false)
    await owner.patch(`/vehicle/${van}`, { hubId: south })
    await isSeenBy('the vehicle moves to the south', [false, true])
    await owner.patch(`/device/${device.id}`, { hubId: north })
    await isSeenBy('whatever its own hub', [false, true])
    await owner.patch(`/vehicle/${van}`, { hubId: null })
    await isSeenBy('its own where the vehicle has none', [true, false])
    const isListed = async (hubId: string) =>
      JSON.stringify((await owner.get(`/devices?hubId=${hubId}`)).body.data).includes(device.id)
    expect([await isListed(north), await isListed(south)]).toEqual([true, false])
    await owner.patch(`/vehicle/${van}`, { hubId: south })
    expect([await isListed(north), await isListed(south)], 'the hub that live goes by').toEqual([false, true])
    for (const screen of screens) screen.cut()
  })

  it('is shown live under the vehicle’s name, from the moment of a change', async () => {
    const device = await createDevice(owner, 'Tracker')
    await send(device, 6)
    const screen = await openScreen(server, owner.token, { filter: { subjectIds: [device.id] } })
    const shows = (name: string) =>
      until(`shown as ${name}`, () => screen.positions.get(device.id)?.name === name)
    await shows('Tracker')
    const van = await addVehicle({ name: 'Van 12', deviceId: device.id })
    await shows('Van 12')
    await owner.patch(`/vehicle/${van}`, { name: 'Van 13' })
    await shows('Van 13')
    await owner.delete(`/vehicle/${van}`)
    await shows('Tracker')
    screen.cut()
  })

  it('is somewhere alone, however many mount devices and vehicles at once', async () => {
    const devices = await Promise.all([1, 2, 3].map(() => createDevice(owner)))
    const vehicles = await Promise.all([1, 2, 3].map(() => addVehicle()))
    for (let round = 0; round < 8; round++) {
      const answers = await Promise.all(
        devices.flatMap((device, at) => {
          const vehicle = vehicles[(at + round) % 3] as string
          const other = devices[(at + 2 * round + 1) % 3] as TestDevice
          return [mount(device, vehicle), owner.patch(`/vehicle/${vehicle}`, { deviceId: other.id })]
        }),
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    }
    const ofDevices = await Promise.all(devices.map(vehicleOf))
    const ofVehicles = await Promise.all(vehicles.map(deviceOf))
    devices.forEach((device, at) => {
      const vehicle = ofDevices[at]
      if (vehicle) expect(ofVehicles[vehicles.indexOf(vehicle)]).toBe(device.id)
    })
    expect(ofVehicles.filter(id => id !== null)).toHaveLength(ofDevices.filter(id => id !== null).length)
  })
})
