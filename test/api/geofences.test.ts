import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { newId } from '../../db/client.ts'
import { openTestDatabase, postgresMissing } from '../support/database.ts'
import { addHub, addOrganization, addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

const CIRCLE = { type: 'circle', center: { lat: 52.52, lng: 13.405 }, radius: 150 }
const SQUARE = [
  [13, 52],
  [14, 52],
  [14, 53],
  [13, 53],
]
const CLOSED = [...SQUARE, [13, 52]]
const polygon = (coordinates: unknown) => ({ type: 'polygon', coordinates })

describe('Geofences', () => {
  const { server, database, owner, organization } = useOrganization()
  let hubId: string

  beforeAll(async () => {
    hubId = await addHub(owner)
  })

  const add = async (body: object): Promise<{ path: string; geofence: Record<string, unknown> }> => {
    const made = await owner.post('/geofence', body)
    expect([made.status, made.body.errors]).toEqual([201, undefined])
    return { path: `/geofence/${made.body.data._id}`, geofence: made.body.data }
  }

  it('are created with what is given, read, replaced, changed and deleted', async () => {
    const { path, geofence } = await add({ name: 'Depot', hubId, shape: CIRCLE })
    const rest = { isSample: false, createdAt: expect.any(String), updatedAt: expect.any(String) }
    expect(geofence).toEqual({ _id: expect.any(String), name: 'Depot', hubId, shape: CIRCLE, ...rest })
    expect((await owner.get(path)).body.data).toEqual(geofence)
    const smaller = { ...CIRCLE, radius: 50 }
    const changed = (await owner.patch(path, { shape: smaller })).body.data
    expect(changed).toEqual({ ...geofence, shape: smaller, updatedAt: expect.any(String) })
    const replaced = (await owner.put(path, { name: 'Yard', shape: polygon(SQUARE) })).body.data
    expect(replaced).toMatchObject({ name: 'Yard', hubId: null, shape: polygon(CLOSED) })
    expect((await owner.patch(path, {})).body.data).toMatchObject({ name: 'Yard', shape: polygon(CLOSED) })
    expect((await owner.delete(path)).body.data).toEqual({ _id: geofence._id })
    expect((await owner.get(path)).status).toBe(404)
    expect((await owner.delete(path)).status).toBe(404)
  })

  it.each([
    ['closed already', CLOSED],
    ['not closed', SQUARE],
    ['with a vertex twice', [SQUARE[0], ...SQUARE]],
  ])('a ring that is %s is the same ring', async (_, ring) => {
    expect((await add({ name: 'Ring', shape: polygon(ring) })).geofence.shape).toEqual(polygon(CLOSED))
  })

  it.each([
    ['a triangle', [SQUARE[0], SQUARE[1], SQUARE[2]]],
    ['clockwise', [...SQUARE].reverse()],
    ['with a notch', [...SQUARE, [13.5, 52.5]]],
    ['with a vertex in the middle of an edge', [[13, 52], [13.5, 52], [14, 52], [14, 53]]], // biome-ignore format: one ring
    ['across the antimeridian', [[179, -17], [-179, -17], [-179, -16], [179, -16]]], // biome-ignore format: one ring
    ['at the antimeridian', [[179, -17], [180, -17], [180, -16], [179, -16]]], // biome-ignore format: one ring
    ['of 500 vertices', Array.from({ length: 500 }, (_, n) => around(n, 500))],
  ])('a polygon may be %s', async (_, ring) => {
    const { shape } = (await add({ name: 'Polygon', shape: polygon(ring) })).geofence
    expect(shape).toEqual(polygon([...ring, ring[0]]))
  })

  it.each([
    ['name', { name: ' ' }],
    ['hubId', { hubId: 'none' }],
    ['shape', { shape: null }],
    ['shape.type', { shape: { type: 'line', coordinates: SQUARE } }],
    ['shape.radius', { shape: { ...CIRCLE, radius: 0 } }],
    ['shape.radius', { shape: { ...CIRCLE, radius: 500_001 } }],
    ['shape.radius', { shape: { type: 'circle', center: CIRCLE.center } }],
    ['shape.center.lat', { shape: { ...CIRCLE, center: { lat: 91, lng: 0 } } }],
    ['shape.center.lng', { shape: { ...CIRCLE, center: { lat: 0, lng: -181 } } }],
    ['shape.coordinates', { shape: { ...CIRCLE, coordinates: SQUARE } }],
    ['shape.coordinates', { shape: polygon(SQUARE.slice(0, 2)) }],
    ['shape.coordinates', { shape: polygon([SQUARE[0], SQUARE[1], SQUARE[0], SQUARE[1]]) }],
    ['shape.coordinates', { shape: polygon(Array.from({ length: 502 }, (_, n) => around(n, 502))) }],
    ['shape.coordinates.1.1', { shape: polygon([SQUARE[0], [14, 91], SQUARE[2]]) }],
    ['shape.coordinates.1', { shape: polygon([SQUARE[0], [14, 52, 100], SQUARE[2]]) }],
    ['shape.coordinates.0', { shape: polygon([SQUARE]) }],
    ['radius', { radius: 5 }],
  ])('a wrong %s is 400, in every way to write it', async (path, wrong) => {
    const { path: at, geofence } = await add({ name: 'Right', shape: CIRCLE })
    for (const answer of [
      await owner.post('/geofence', { name: 'New', shape: CIRCLE, ...wrong }),
      await owner.put(at, { name: 'New', shape: CIRCLE, ...wrong }),
      await owner.patch(at, wrong),
    ]) {
      expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path])
    }
    expect((await owner.get(at)).body.data).toEqual(geofence)
  })

  it.each([
    ['crosses itself', [[0, 0], [1, 1], [1, 0], [0, 1]], 'crossed-edges', { vertices: [1, 3] }], // biome-ignore format: one ring
    ['touches itself', [[0, 0], [2, 0], [2, 2], [1, 0], [0, 2]], 'crossed-edges', { vertices: [1, 3] }], // biome-ignore format: one ring
    ['goes through a vertex twice', [[0, 0], [1, 1], [2, 0], [2, 2], [1, 1], [0, 2]], 'crossed-edges', { vertices: [1, 4] }], // biome-ignore format: one ring
    ['turns back', [[0, 0], [2, 0], [1, 0], [1, 1]], 'reversed-edge', { vertices: [2] }], // biome-ignore format: one ring
    ['has two vertices', [[0, 0], [1, 1], [0, 0]], 'too-few', { limit: 3 }], // biome-ignore format: one ring
    ['has no area', [[0, 0], [0.000001, 0], [0, 0.000001]], 'area-too-small', { limit: 1 }], // biome-ignore format: one ring
    ['is a line', [[0, 0], [1, 1], [2, 2]], 'reversed-edge', { vertices: [3] }], // biome-ignore format: one ring
    ['goes round a pole', [[-120, 80], [0, 80], [120, 80]], 'area-too-wide', undefined], // biome-ignore format: one ring
    ['spans half the world', [[-90, 0], [90, 0], [0, 40]], 'ambiguous-edge', undefined], // biome-ignore format: one ring
    ['crosses itself at the antimeridian', [[179, 0], [-179, 1], [-179, 0], [179, 1]], 'crossed-edges', { vertices: [1, 3] }], // biome-ignore format: one ring
  ])('a polygon that %s is 400 and says why', async (_, ring, code, params) => {
    const { status, body } = await owner.post('/geofence', { name: 'Wrong', shape: polygon(ring) })
    const path = 'shape.coordinates'
    const message = expect.stringMatching(/^(A|An|The) (polygon|edge) /)
    expect([status, body.errors]).toEqual([400, [{ path, code, message, params }]])
  })

  it('are listed by hub and name, sorted, page by page', async () => {
    const founder = (await addPerson(server, owner, { role: 'Admin' })).client
    const { client } = await addOrganization(server, founder)
    const hub = await addHub(client)
    for (const [index, name] of ['Delta', 'alpha', 'Charlie', 'bravo'].entries())
      await client.post('/geofence', { name, shape: CIRCLE, hubId: index < 2 ? hub : null })
    const names = async (query: string) =>
      (await client.get(`/geofences?${query}`)).body.data.map(({ name }: { name: string }) => name)
    expect(await names('')).toEqual(['alpha', 'bravo', 'Charlie', 'Delta'])
    expect(await names('sort=-createdAt')).toEqual(['bravo', 'Charlie', 'alpha', 'Delta'])
    expect(await names(`hubId=${hub}`)).toEqual(['alpha', 'Delta'])
    expect(await names('search=RAV')).toEqual(['bravo'])
    const first = (await client.get('/geofences?limit=3')).body
    expect(first.pagination.total).toBe(4)
    expect(await names(`limit=3&cursor=${first.pagination.nextCursor}`)).toEqual(['Delta'])
  })

  it('of a hub without access are 404 and not listed, and none can be bound to it', async () => {
    const other = await addHub(owner, 'Other')
    const { client } = await addPerson(server, owner, { hubId: [hubId] })
    const { path, geofence } = await add({ name: 'Hidden', hubId: other, shape: CIRCLE })
    const open = (await add({ name: 'Open', hubId, shape: CIRCLE })).path
    const taken = { name: 'Taken', shape: CIRCLE }
    for (const answer of [
      await client.get(path),
      await client.put(path, taken),
      await client.patch(path, taken),
      await client.delete(path),
    ]) {
      expect(answer.status).toBe(404)
    }
    expect((await client.patch(open, { hubId: other })).status).toBe(400)
    expect((await client.patch(open, { name: 'Mine' })).status).toBe(200)
    const { data } = (await client.get('/geofences?limit=500')).body
    expect(data.map(({ _id }: { _id: string }) => _id)).not.toContain(geofence._id)
    expect((await owner.delete(`/hub/${other}`)).status).toBe(409)
  })

  it('may be as many as are said, with as many vertices', async context => {
    if (!database.url) return context.skip(postgresMissing())
    const db = await openTestDatabase(database)
    onTestFinished(() => db.close())
    const { path } = await add({ name: 'One of many', shape: CIRCLE })
    const fill = (count: number, shape: object) =>
      db.system.query(
        `INSERT INTO geofences (id, organization_id, name, shape)
         SELECT i, $1, 'Filling', $3::jsonb FROM unnest($2::uuid[]) i`,
        [organization.organizationId, Array.from({ length: count }, newId), JSON.stringify(shape)],
      )
    const ring = polygon([...Array.from({ length: 500 }, (_, n) => around(n, 500)), around(0, 500)])
    const big = async () => owner.post('/geofence', { name: 'Big', shape: ring })
    await fill(198, ring)
    for (let tries = 0; (await big()).status === 201; tries++) expect(tries).toBeLessThan(3)
    expect((await owner.patch(path, { shape: ring })).status).toBe(409)
    expect((await owner.patch(path, { name: 'Still' })).status).toBe(200)
    await db.system.query(`DELETE FROM geofences WHERE name = 'Filling'`)
    const { total } = (await owner.get('/geofences')).body.pagination
    await fill(2_000 - total, CIRCLE)
    const more = await owner.post('/geofence', { name: 'One more', shape: CIRCLE })
    expect([more.status, more.body.message]).toEqual([409, expect.stringContaining('2000')])
    await owner.delete(path)
    expect((await owner.post('/geofence', { name: 'In its place', shape: CIRCLE })).status).toBe(201)
    // Only one of two simultaneous requests can have the last place.
    await db.system.query(
      `DELETE FROM geofences WHERE id = (SELECT id FROM geofences WHERE name = 'Filling' LIMIT 1)`,
    )
    const answers = await Promise.all(
      [1, 2, 3].map(() => owner.post('/geofence', { name: 'Last', shape: CIRCLE })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
    await db.system.query(`DELETE FROM geofences WHERE name = 'Filling'`)
  })
})

/** A vertex of a ring of many. */
function around(n: number, many: number): [number, number] {
  const angle = (2 * Math.PI * n) / many
  return [13 + Math.cos(angle), 52 + Math.sin(angle)]
}
