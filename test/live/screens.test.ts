import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { forEach } from '../support/at-once.ts'
import { type Client, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { openScreen } from '../support/screen.ts'
import { openServer, type Server } from '../support/server.ts'
import { useOrganization } from '../support/shared-server.ts'
import { pause, until, untilTold } from '../support/wait.ts'

const ago = (seconds: number) => Date.now() - seconds * 1000

describe('A screen', () => {
  let database: TestDatabase
  let server: Server
  let owner: Client

  beforeAll(async () => {
    database = await createTestDatabase('pglite')
    server = await openServer(database)
    owner = await signIn(server)
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  const send = (device: TestDevice, point: object) =>
    owner.post('/location-history/bulk', { points: [point] }, { authorization: `Bearer ${device.key}` })

  it('sees a point when it is acknowledged', async () => {
    const device = await createDevice(owner, 'Van 1')
    const screen = await openScreen(server, owner.token, { filter: { subjectIds: [device.id] } })
    await send(device, { lat: 1, lng: 2, timestamp: ago(1), speed: 4 })
    await untilTold(() => until('on the screen', () => screen.positions.has(device.id)))
    expect(screen.positions.get(device.id)).toMatchObject({
      subjectType: 'device',
      name: 'Van 1',
      lat: 1,
      lng: 2,
      speed: 4,
      state: 'moving',
    })
    screen.cut()
  })

  it('is never moved backwards by a late point', async () => {
    const device = await createDevice(owner)
    const screen = await openScreen(server, owner.token, { filter: { subjectIds: [device.id] } })
    await send(device, { lat: 2, lng: 2, timestamp: ago(1) })
    await send(device, { lat: 1, lng: 1, timestamp: ago(60) })
    await until('on the screen', () => screen.positions.has(device.id))
    await pause(600)
    expect(screen.positions.get(device.id)).toMatchObject({ lat: 2 })
    const newest = await owner.get('/location-histories')
    expect(newest.body.data).toContainEqual(expect.objectContaining({ subjectId: device.id, lat: 2 }))
    screen.cut()
  })

  it('with a box hears when a subject enters and when it leaves', async () => {
    const device = await createDevice(owner)
    // Across the antimeridian.
    const screen = await openScreen(server, owner.token, { filter: { bbox: [170, -20, -170, -10] } })
    await send(device, { lat: -15, lng: 160, timestamp: ago(30) })
    await pause(600)
    expect(screen.positions.size).toBe(0)
    await send(device, { lat: -15, lng: 175, timestamp: ago(20) })
    await until('entered', () => screen.positions.has(device.id))
    await send(device, { lat: -15, lng: -175, timestamp: ago(10) })
    await until('moved', () => screen.positions.get(device.id)?.lng === -175)
    await send(device, { lat: -15, lng: -160, timestamp: ago(5) })
    await until('left', () => !screen.positions.has(device.id))
    screen.cut()
  })

  it('that resumes hears which subjects left its box meanwhile', async () => {
    const device = await createDevice(owner)
    const filter = { bbox: [20, 20, 30, 30] }
    const before = await openScreen(server, owner.token, { filter })
    await send(device, { lat: 25, lng: 25, timestamp: ago(30) })
    await until('entered', () => before.positions.has(device.id))
    before.cut()
    await send(device, { lat: 35, lng: 25, timestamp: ago(20) })
    const after = await openScreen(server, owner.token, { filter, resume: before })
    await until('left', () => !after.positions.has(device.id))
    expect(after.snapshots).toBe(0)
    after.cut()
  })

  it('that resumes with another filter is sent a snapshot', async () => {
    const before = await openScreen(server, owner.token)
    before.cut()
    const after = await openScreen(server, owner.token, { resume: before, filter: { subjectIds: ['x'] } })
    expect(after.snapshots).toBe(1)
    expect(after.positions.size).toBe(0)
    after.cut()
  })

  it('loses a device that is deleted, and follows one that is renamed', async () => {
    const [renamed, deleted] = [await createDevice(owner, 'Old name'), await createDevice(owner)]
    for (const device of [renamed, deleted]) await send(device, { lat: 1, lng: 1, timestamp: ago(1) })
    const screen = await openScreen(server, owner.token)
    await until('both', () => screen.positions.has(renamed.id) && screen.positions.has(deleted.id))
    await owner.patch(`/device/${renamed.id}`, { name: 'New name' })
    await owner.delete(`/device/${deleted.id}`)
    await until('renamed', () => screen.positions.get(renamed.id)?.name === 'New name')
    await until('gone', () => !screen.positions.has(deleted.id))
    screen.cut()
  })

  it('may open with the token among the subprotocols, as browsers have to', async () => {
    const screen = await openScreen(server, owner.token, { subprotocol: true })
    expect(screen.snapshots).toBe(1)
    screen.cut()
  })

  it('is answered 401 without a valid token', async () => {
    await expect(openScreen(server, 'nonsense')).rejects.toThrow('401')
    const device = await createDevice(owner)
    await expect(openScreen(server, device.key)).rejects.toThrow('403')
  })

  it('that says nonsense hears so, and stays; one that comes with no cursor of ours gets a snapshot', async () => {
    const screen = await openScreen(server, owner.token)
    for (const nonsense of ['{', '{"type":"dance"}', '{"type":"subscribe","filter":{"bbox":[1]}}', '[]']) {
      screen.send(nonsense)
    }
    await until('four errors', () => screen.errors.length === 4)
    screen.send({ type: 'subscribe', since: 'no cursor' })
    await until('a snapshot', () => screen.snapshots === 2)
    screen.cut()
  })

  it('is closed with 4401 at once after signing out', async () => {
    const other = await signIn(server)
    const screen = await openScreen(server, other.token)
    await untilTold(async () => {
      await other.post('/auth/logout')
      expect((await screen.closed).code).toBe(4401)
    })
    expect((await other.get('/user')).status).toBe(401)
  })

  it('sees a subject go offline and come back as idle without a point arriving, as the organization says', async () => {
    const device = await createDevice(owner)
    const screen = await openScreen(server, owner.token, { filter: { subjectIds: [device.id] } })
    const state = () => screen.positions.get(device.id)?.state
    await send(device, { lat: 1, lng: 1, timestamp: ago(20) })
    await until('idle', () => state() === 'idle')
    await owner.patch('/organization', { settings: { offlineAfterMinutes: 0.4 } })
    await until('offline', () => state() === 'offline')
    expect(Date.now()).toBeGreaterThanOrEqual(
      Date.parse(screen.positions.get(device.id)?.timestamp ?? '') + 24_000,
    )
    screen.cut()
    await owner.patch('/organization', { settings: { offlineAfterMinutes: 10 } })
    const other = await openScreen(server, owner.token, { filter: { subjectIds: [device.id] } })
    await until('idle again', () => other.positions.get(device.id)?.state === 'idle')
    other.cut()
  })
})

// On PostgreSQL, where devices and points cost little: the database does not know who reads.
describe('A screen that does not read', () => {
  const { server, owner } = useOrganization()

  it('delays no other, and has the newest states when it reads again', async () => {
    const devices: TestDevice[] = []
    const names = Array.from({ length: 200 }, (_, n) => `Crowd ${n}`)
    await forEach(names, async name => void devices.push(await createDevice(owner, name)))
    const filter = { subjectIds: devices.map(({ id }) => id) }
    const [slow, quick] = [
      await openScreen(server, owner.token, { filter }),
      await openScreen(server, owner.token, { filter }),
    ]
    slow.pause()
    const rounds = 20
    for (let round = 0; round < rounds; round++) {
      const points = devices.map(({ id }) => ({
        lat: 1 + round / 100,
        lng: 1,
        timestamp: ago(300 - round),
        deviceId: id,
      }))
      await owner.post('/location-history/bulk', { points })
    }
    const isNewest = (screen: typeof slow) =>
      devices.every(({ id }) => screen.positions.get(id)?.lat === 1 + (rounds - 1) / 100)
    await until('the quick one is up to date', () => isNewest(quick))
    slow.resume()
    await until('the slow one is up to date', () => isNewest(slow))
    expect(slow.messages.length).toBeLessThanOrEqual(quick.messages.length)
    slow.cut()
    quick.cut()
  })
})
