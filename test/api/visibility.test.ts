import { beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../support/client.ts'
import { addHub, addOrganization, addPerson, type Person } from '../support/people.ts'
import { openScreen, type TestScreen } from '../support/screen.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

/**
 * Contract section 4: the visibility of an organization's records, by hub, team and scope, in answers and on open
 * streams.
 */
describe('Visibility', () => {
  const { server, owner } = useOrganization()
  let north: string
  let south: string

  beforeAll(async () => {
    north = await addHub(owner, 'North')
    south = await addHub(owner, 'South')
  })

  const addDevice = async (hubId: string | null) =>
    (await owner.post('/device', { name: 'Tracker', hubId })).body.data as { _id: string; key: string }

  const move = async (token: string, lat = 50) => {
    const points = [{ lat, lng: 8, timestamp: Date.now() }]
    const { status } = await createClient(server, token).post('/location-history/bulk', { points })
    expect(status).toBe(200)
  }

  const addRole = async (name: string, scope: string) => {
    const permissionDetails = ['view/location', 'create/location'].map(permissionName => ({
      permissionName,
      scope,
    }))
    return (await owner.post('/role', { name, permissionDetails })).body.data._id as string
  }

  const shows = (screen: TestScreen, ...ids: string[]) =>
    until(`the screen shows ${ids.length}`, () => {
      const shown = [...screen.positions.keys()].sort()
      return JSON.stringify(shown) === JSON.stringify([...ids].sort())
    })

  describe('of devices', () => {
    it('a device of a hub without access is 404 everywhere and not listed, except for Owner and Admin', async () => {
      const [there, here, nowhere] = [await addDevice(south), await addDevice(north), await addDevice(null)]
      const { client } = await addPerson(server, owner, { hubId: [north] })
      const { body } = await client.get('/devices?limit=500')
      const ids = body.data.map((device: { _id: string }) => device._id)
      expect(ids).toEqual(expect.arrayContaining([here._id, nowhere._id]))
      expect(ids).not.toContain(there._id)
      expect(body.pagination.total).toBe(ids.length)
      const path = `/device/${there._id}`
      for (const answer of [
        await client.get(path),
        await client.patch(path, { name: 'Mine' }),
        await client.post(`${path}/rotate-key`),
        await client.get(`${path}/rejections`),
        await client.delete(path),
      ]) {
        expect(answer.status).toBe(404)
      }
      const admin = await addPerson(server, owner, { role: 'Admin' })
      expect((await admin.client.get(path)).status).toBe(200)
    })

    it('none is moved into a hub without access: 400', async () => {
      const device = await addDevice(north)
      const { client } = await addPerson(server, owner, { hubId: [north] })
      for (const answer of [
        await client.patch(`/device/${device._id}`, { hubId: south }),
        await client.post('/device', { name: 'New', hubId: south }),
      ]) {
        expect([answer.status, answer.body.errors[0].path]).toEqual([400, 'hubId'])
      }
    })

    it('points of a device of a hub without access are not taken for it: 400', async () => {
      const device = await addDevice(south)
      const { client } = await addPerson(server, owner, { hubId: [north] })
      const points = [{ lat: 1, lng: 2, timestamp: Date.now(), deviceId: device._id }]
      expect((await client.post('/location-history/bulk', { points })).status).toBe(400)
    })
  })

  describe('of users', () => {
    it('those of other hubs are 404 and not listed, those of none are seen', async () => {
      const there = await addPerson(server, owner, { hubId: [south] })
      const both = await addPerson(server, owner, { hubId: [north, south] })
      const nowhere = await addPerson(server, owner)
      const permissionDetails = [{ permissionName: 'view/user' }]
      const role = await owner.post('/role', { name: 'Sees users', permissionDetails })
      const roleId = role.body.data._id
      const { client, userId } = await addPerson(server, owner, { roleId, hubId: [north] })
      const ids = (await client.get('/users?limit=500')).body.data.map((user: { _id: string }) => user._id)
      expect(ids).toEqual(expect.arrayContaining([both.userId, nowhere.userId, userId]))
      expect(ids).not.toContain(there.userId)
      expect((await client.get(`/user/email/${there.email}`)).status).toBe(404)
    })
  })

  it('of users with scope team is the own teams, with scope own the caller alone', async () => {
    const mayNothing = await owner.post('/role', { name: 'May nothing', permissionDetails: [] })
    const mate = await addPerson(server, owner, { roleId: mayNothing.body.data._id })
    for (const [scope, expected] of [
      ['team', 2],
      ['own', 1],
    ] as const) {
      const permissionDetails = ['view/user', 'update/user'].map(permissionName => ({
        permissionName,
        scope,
      }))
      const role = await owner.post('/role', { name: `Sees users ${scope}`, permissionDetails })
      const { client, userId } = await addPerson(server, owner, { roleId: role.body.data._id })
      await owner.post('/team', { name: `Team ${scope}`, memberIds: [mate.userId, userId] })
      expect((await client.get('/users')).body.pagination.total).toBe(expected)
      const status = scope === 'team' ? 200 : 404
      expect((await client.get(`/user/email/${mate.email}`)).status).toBe(status)
      expect((await client.patch(`/user/${mate.userId}`, { hubId: [] })).status).toBe(status)
    }
  })

  describe('of the history', () => {
    it('holds for every way to ask', async () => {
      const [there, here] = [await addDevice(south), await addDevice(north)]
      await move(there.key)
      await move(here.key)
      const { client } = await addPerson(server, owner, { hubId: [north] })
      const read = async (query: string) => (await client.get(`/location-histories${query}`)).body.data
      const [point] = (await owner.get(`/location-histories?deviceId=${there._id}`)).body.data
      expect(await read(`?deviceId=${there._id}`)).toEqual([])
      expect(await read(`?deviceId=${there._id},${here._id}`)).toMatchObject([{ subjectId: here._id }])
      const newest = (await read('?limit=100000')).map((one: { subjectId: string }) => one.subjectId)
      expect(newest).toContain(here._id)
      expect(newest).not.toContain(there._id)
      expect((await client.get(`/location-history/${point._id}`)).status).toBe(404)
      expect((await owner.get(`/location-history/${point._id}`)).status).toBe(200)
    })

    it('with scope own it is the own one, with scope team that of the own teams', async () => {
      const [mate, other] = [await addPerson(server, owner), await addPerson(server, owner)]
      const own = await addPerson(server, owner, { roleId: await addRole('Sees itself', 'own') })
      const team = await addPerson(server, owner, { roleId: await addRole('Sees the team', 'team') })
      await owner.post('/team', { name: 'Watched', memberIds: [mate.userId], leaderIds: [team.userId] })
      for (const person of [mate, other, own, team]) await move(person.client.token)
      const newest = async ({ client }: Person) =>
        (await client.get('/location-histories')).body.data.map((one: { subjectId: string }) => one.subjectId)
      expect(await newest(own)).toEqual([own.userId])
      expect((await newest(team)).sort()).toEqual([team.userId, mate.userId].sort())
      const asked = `/location-histories?userId=${mate.userId},${other.userId},${own.userId}`
      const found = async ({ client }: Person) => (await client.get(asked)).body.data
      expect(await found(own)).toMatchObject([{ subjectId: own.userId }])
      expect(await found(team)).toMatchObject([{ subjectId: mate.userId }])
    })
  })

  describe('of live streams', () => {
    it('is that of role and hub', async () => {
      const { client, organizationId } = await addOrganization(
        server,
        (await addPerson(server, owner, { role: 'Admin' })).client,
      )
      expect(organizationId).toBeTruthy()
      const [mine, other] = [await addHub(client), await addHub(client)]
      const add = async (hubId: string | null) =>
        (await client.post('/device', { name: 'Tracker', hubId })).body.data as { _id: string; key: string }
      const [here, there, nowhere] = [await add(mine), await add(other), await add(null)]
      for (const device of [here, there, nowhere]) await move(device.key)
      const all = await openScreen(server, client.token)
      await shows(all, here._id, there._id, nowhere._id)
      const planner = await addPerson(server, client, { hubId: [mine] })
      const screen = await openScreen(server, planner.client.token)
      await shows(screen, here._id, nowhere._id)
      // A record that moves out of sight is not sent either.
      await move(there.key, 51)
      await until('on the first', () => all.positions.get(there._id)?.lat === 51)
      await shows(screen, here._id, nowhere._id)
      for (const one of [all, screen]) one.cut()
    })

    it('changes at once on open ones: hubs given and taken, devices moved, roles replaced', async () => {
      const { client } = await addOrganization(
        server,
        (await addPerson(server, owner, { role: 'Admin' })).client,
      )
      const [first, second] = [await addHub(client), await addHub(client)]
      const device = (await client.post('/device', { name: 'Tracker', hubId: first })).body.data
      await move(device.key)
      const role = (await client.post('/role', { name: 'Watcher', permissionDetails: [] })).body.data._id
      const watch = (scope: string) =>
        client.put(`/role/${role}`, {
          name: 'Watcher',
          permissionDetails: [{ permissionName: 'view/location', scope }],
        })
      await watch('all')
      const person = await addPerson(server, client, { roleId: role, hubId: [second] })
      const screen = await openScreen(server, person.client.token)
      await shows(screen)
      await client.patch(`/user/${person.userId}`, { hubId: [first] })
      await shows(screen, device._id)
      await client.patch(`/device/${device._id}`, { hubId: second })
      await shows(screen)
      expect(screen.messages).toContainEqual({ type: 'gone', subjectIds: [device._id] })
      await client.patch(`/device/${device._id}`, { hubId: null })
      await shows(screen, device._id)
      await watch('own')
      await shows(screen)
      await watch('all')
      await shows(screen, device._id)
      await client.patch(`/device/${device._id}`, { name: 'Renamed' })
      await until('the new name', () => screen.positions.get(device._id)?.name === 'Renamed')
      screen.cut()
    })

    it('is filtered by hubIds and teamIds, which are ANDed with each other and ORed in themselves', async () => {
      const { client } = await addOrganization(
        server,
        (await addPerson(server, owner, { role: 'Admin' })).client,
      )
      const [first, second] = [await addHub(client), await addHub(client)]
      const anna = await addPerson(server, client, { role: 'Field user', hubId: [first] })
      const bert = await addPerson(server, client, { role: 'Field user', hubId: [second] })
      const carl = await addPerson(server, client, { role: 'Field user' })
      const people = [anna, bert, carl]
      for (const person of people) await move(person.client.token)
      const team = (
        await client.post('/team', { name: 'Two', memberIds: [anna.userId], leaderIds: [carl.userId] })
      ).body.data
      const screen = await openScreen(server, client.token)
      const filtered = async (filter: object, ...expected: Person[]) => {
        screen.send({ type: 'subscribe', filter, since: null })
        await shows(screen, ...expected.map(({ userId }) => userId))
      }
      await filtered({ hubIds: [first] }, anna)
      await filtered({ hubIds: [first, second] }, anna, bert)
      await filtered({ teamIds: [team._id] }, anna, carl)
      await filtered({ teamIds: [team._id], hubIds: [first, second] }, anna)
      await filtered({ teamIds: [crypto.randomUUID()] })
      await filtered({ teamIds: [team._id] }, anna, carl)
      await client.put(`/team/${team._id}`, { name: 'Two', memberIds: [bert.userId] })
      await shows(screen, bert.userId)
      await client.delete(`/team/${team._id}`)
      await shows(screen)
      screen.cut()
    })

    it('with scope team follows the teams', async () => {
      const roleId = await addRole('Team watcher', 'team')
      const watcher = await addPerson(server, owner, { roleId })
      const mate = await addPerson(server, owner, { role: 'Field user' })
      await move(mate.client.token)
      const screen = await openScreen(server, watcher.client.token)
      await shows(screen)
      const members = { name: 'Followed', memberIds: [mate.userId, watcher.userId] }
      const team = (await owner.post('/team', members)).body.data
      await shows(screen, mate.userId)
      await owner.put(`/team/${team._id}`, { ...members, memberIds: [mate.userId] })
      await shows(screen)
      screen.cut()
    })
  })
})
