import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OWN_ARCHIVE } from '../../src/basemap/setting.ts'
import { createClient, createDevice, signIn } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { TOOLANGI } from '../support/remote-archive.ts'
import { openServer } from '../support/server.ts'

/** In the village, beside its road. */
const VILLAGE = { lat: -37.5373, lng: 145.4718 }
/** In the ocean. */
const SEA = { lat: -45, lng: 150 }
const query = ({ lat, lng }: { lat: number; lng: number }) => `lat=${lat}&lng=${lng}`

describe('Places', () => {
  const { server } = useServer({ BASEMAP: TOOLANGI })
  const owner = async () => signIn(server)

  it('are a street, a town and a country, with the distance', async () => {
    const { status, body } = await (await owner()).get(`/places?${query(VILLAGE)}`)
    expect(status).toBe(200)
    const [place] = body.data
    expect(place).toEqual({
      name: `${place.street}, Toolangi`,
      street: expect.stringMatching(/Road|Street/),
      town: 'Toolangi',
      country: 'Australia',
      distance: expect.any(Number),
    })
    expect(place.distance).toBeLessThan(200)
  })

  it('are there for a hundred points at once, in their order, and null where nothing is known', async () => {
    const client = await owner()
    const points = Array.from({ length: 100 }, (_, n) =>
      n % 10 === 0 ? SEA : { lat: -37.53 - n / 10_000, lng: 145.465 + n / 10_000 },
    )
    const { status, body } = await client.post('/places', { points })
    expect([status, body.data.length]).toEqual([200, 100])
    for (const [n, place] of body.data.entries()) {
      if (n % 10 === 0) expect(place).toBeNull()
      else expect(place.country).toBe('Australia')
    }
    const alone = await client.get(`/places?${query(points[55] as typeof SEA)}`)
    expect(body.data[55]).toEqual(alone.body.data[0])
    expect((await client.post('/places', { points: [] })).body.data).toEqual([])
    const tooMany = await client.post('/places', { points: [...points, SEA] })
    expect([tooMany.status, tooMany.body.errors[0].path]).toEqual([400, 'points'])
  })

  it('are found by a part of their names, whatever the case and the accents', async () => {
    const client = await owner()
    const { body } = await client.get('/places?search=toolÁngi')
    expect(body.data[0]).toMatchObject({
      name: 'Toolangi',
      street: null,
      town: 'Toolangi',
      country: 'Australia',
    })
    expect(body.data[0].lat).toBeCloseTo(-37.54, 1)
    expect(body.data[0].lng).toBeCloseTo(145.47, 1)
    const roads = (await client.get(`/places?search=oad&${query(VILLAGE)}`)).body.data
    expect(roads.length).toBe(20)
    const distances = roads.map(({ distance }: { distance: number }) => distance)
    expect(distances).toEqual(distances.toSorted((one: number, other: number) => one - other))
    for (const { street, lat, lng } of roads) {
      const [place] = (await client.get(`/places?${query({ lat, lng })}`)).body.data
      expect([street, place.distance < 100]).toEqual([street, true])
    }
    expect((await client.get('/places?search=nowhere%20at%20all')).body.data).toEqual([])
  })

  it('are asked for by a point, by a text, or by both', async () => {
    const client = await owner()
    for (const [path, wrong] of [
      ['/places', 'lat'],
      ['/places?lat=1', 'lng'],
      ['/places?search=a&lng=1', 'lat'],
      ['/places?lat=91&lng=1', 'lat'],
      ['/places?lat=1&lng=x', 'lng'],
      ['/places?search=', 'search'],
      [`/places?search=${'x'.repeat(101)}`, 'search'],
    ]) {
      const { status, body } = await client.get(path as string)
      expect([path, status, body.errors?.[0].path]).toEqual([path, 400, wrong])
    }
  })

  it('are there for whoever holds a tracking link, and for no stranger', async () => {
    const client = await owner()
    const nobody = createClient(server, '')
    expect((await nobody.get(`/places?${query(VILLAGE)}`)).status).toBe(401)
    const { id: subjectId } = await createDevice(client)
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const link = await client.post('/tracking-link', { subjectId, subjectType: 'device', expiresAt })
    const answer = await nobody.get(`/places?${query(VILLAGE)}&token=${link.body.data.token}`)
    expect([answer.status, answer.body.data[0].town]).toEqual([200, 'Toolangi'])
    expect((await nobody.post('/places', { points: [] })).status).toBe(401)
  })
})

describe('Places of other basemaps', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
  })
  afterAll(() => database.remove())
  const lookAt = async (basemap: string, work: (server: { url: string }) => Promise<void>) => {
    const server = await openServer(database, basemap === '' ? {} : { BASEMAP: basemap })
    try {
      await work(server)
    } finally {
      await server.stop()
    }
  }

  it('are nulls, and no results, where the tiles are images', () =>
    lookAt('http://127.0.0.1:9/{z}/{x}/{y}.png', async server => {
      const client = await signIn(server)
      expect((await client.get(`/places?${query(VILLAGE)}`)).body.data).toEqual([null])
      expect((await client.post('/places', { points: [SEA, VILLAGE] })).body.data).toEqual([null, null])
      expect((await client.get('/places?search=road')).body.data).toEqual([])
    }))

  it('are nulls where the tiles cannot be read', () =>
    lookAt('http://127.0.0.1:9/{z}/{x}/{y}.mvt', async server => {
      expect((await (await signIn(server)).get(`/places?${query(VILLAGE)}`)).body.data).toEqual([null])
    }))

  it('are those of San Francisco without a setting', () =>
    lookAt('', async server => {
      expect(OWN_ARCHIVE.kind).toBe('file')
      const client = await signIn(server)
      const [place] = (await client.get(`/places?${query({ lat: 37.7694, lng: -122.4298 })}`)).body.data
      expect(place).toMatchObject({ town: 'San Francisco', country: 'United States of America' })
      const found = (await client.get('/places?search=castro')).body.data
      expect(found[0]).toMatchObject({ street: 'Castro Street', town: 'San Francisco' })
    }))
})
