import { describe, expect, it } from 'vitest'
import { type Client, createClient } from '../support/client.ts'
import { addHub, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { until } from '../support/wait.ts'

describe('Hubs', () => {
  const { server, owner } = useOrganization()

  it('are created, read, changed and deleted', async () => {
    const made = await owner.post('/hub', { name: 'Munich', lat: 48.1, lng: 11.6 })
    expect(made.status).toBe(201)
    expect(made.body.data).toMatchObject({ name: 'Munich', lat: 48.1, lng: 11.6, address: null })
    const path = `/hub/${made.body.data._id}`
    const changed = await owner.patch(path, { address: 'Marienplatz 1' })
    expect(changed.body.data).toMatchObject({ name: 'Munich', address: 'Marienplatz 1' })
    expect((await owner.get(path)).body.data).toEqual(changed.body.data)
    expect((await owner.delete(path)).status).toBe(200)
    expect((await owner.get(path)).status).toBe(404)
  })

  it.each([
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(101) }],
    ['lat', { lat: 90.5 }],
    ['lng', { lng: -180.5 }],
    ['lng', { lng: undefined }],
    ['radius', { radius: 3 }],
  ])('a wrong %s is 400: %o', async (path, wrong) => {
    const answer = await owner.post('/hub', { name: 'Hub', lat: 1, lng: 2, ...wrong })
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, path])
  })

  it('while something is bound to one it stays: 409', async () => {
    const hubId = await addHub(owner)
    const team = await owner.post('/team', { name: 'Bound', hubId })
    expect((await owner.delete(`/hub/${hubId}`)).status).toBe(409)
    await owner.delete(`/team/${team.body.data._id}`)
    expect((await owner.delete(`/hub/${hubId}`)).status).toBe(200)
  })

  it('outlive no device that was deleted, whose past then belongs to nobody with a hub', async () => {
    const [mine, gone] = [await addHub(owner, 'Mine'), await addHub(owner, 'Gone')]
    const device = (await owner.post('/device', { name: 'Once here', hubId: gone })).body.data
    const points = [{ lat: 48.1, lng: 11.6, timestamp: new Date().toISOString() }]
    expect((await createClient(server, device.key).post('/location-history/bulk', { points })).status).toBe(
      200,
    )
    const read = async (client: Client) =>
      (await client.get(`/location-histories?deviceId=${device._id}`)).body.data?.length
    await until('it is stored', async () => (await read(owner)) === 1)
    expect((await owner.delete(`/hub/${gone}`)).status).toBe(409)
    const [former, other] = [
      await addPerson(server, owner, { hubId: [gone, mine] }),
      await addPerson(server, owner, { hubId: [mine] }),
    ]
    await owner.delete(`/device/${device._id}`)
    const seen = () => Promise.all([owner, former.client, other.client].map(read))
    expect(await seen()).toEqual([1, 1, 0])
    expect((await owner.delete(`/hub/${gone}`)).status).toBe(200)
    expect(await seen()).toEqual([1, 0, 0])
  })

  it('without access they are 404 and not listed, except for Owner and Admin', async () => {
    const [mine, other] = [await addHub(owner, 'Mine'), await addHub(owner, 'Other')]
    const { client } = await addPerson(server, owner, { hubId: [mine] })
    const admin = await addPerson(server, owner, { role: 'Admin' })
    expect((await client.get('/hubs')).body.data).toMatchObject([{ _id: mine }])
    expect((await client.get('/hubs')).body.pagination.total).toBe(1)
    for (const answer of [
      await client.get(`/hub/${other}`),
      await client.patch(`/hub/${other}`, { name: 'Taken' }),
      await client.delete(`/hub/${other}`),
    ]) {
      expect(answer.status).toBe(404)
    }
    expect((await admin.client.get(`/hub/${other}`)).body.data.name).toBe('Other')
  })

  it('whoever creates one has access to it', async () => {
    const { client } = await addPerson(server, owner)
    const hubId = await addHub(client, 'Own')
    expect((await client.get(`/hub/${hubId}`)).status).toBe(200)
    expect((await client.get('/user')).body.data.hubId).toEqual([hubId])
  })
})
