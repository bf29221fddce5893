import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { createDevice } from '../support/client.ts'
import { listOperations, type Operation, readDocument } from '../support/openapi.ts'
import { useOrganization } from '../support/shared-server.ts'

/** The number of lists with records of an organization in which a few were created. */
const FILLED = 9

describe('Records that are asked for by their identifiers', () => {
  const { server, owner } = useOrganization()
  let lists: Operation[]

  beforeAll(async () => {
    lists = listOperations(await readDocument(server)).filter(
      ({ method, path, spec }) =>
        method === 'get' && !path.includes('{') && spec.parameters?.some(({ name }) => name === '_id'),
    )
    for (const name of ['North', 'South', 'West']) {
      await createDevice(owner, name)
      for (const [path, more] of [
        ['/hub', { lat: 52.5, lng: 13.4 }],
        ['/team', {}],
        ['/vehicle', {}],
        ['/geofence', { shape: { type: 'circle', center: { lat: 52.5, lng: 13.4 }, radius: 100 } }],
      ] as const) {
        const answer = await owner.post(path, { name, ...more })
        expect(answer.status, JSON.stringify(answer.body)).toBe(201)
      }
    }
  })

  it('are all of them and no others, in the order of the list, whatever the list', async () => {
    let filled = 0
    for (const { path, name } of lists) {
      const own = path.replace('/api/v3', '')
      const ask = async (ids: string) => {
        const { status, body } = await owner.get(`${own}?_id=${ids}`)
        expect([name, status]).toEqual([name, 200])
        const found = (body.data as { _id: string }[]).map(({ _id }) => _id)
        return { found, total: body.pagination.total }
      }
      const all: string[] = (await owner.get(own)).body.data.map(({ _id }: { _id: string }) => _id)
      const some = all.filter((_, at) => at === 0 || at === all.length - 1)
      const asked = [newId(), ...some.toReversed(), 'nothing'].join(',')
      expect([name, await ask(asked)]).toEqual([name, { found: some, total: some.length }])
      expect([name, await ask('nothing')]).toEqual([name, { found: [], total: 0 }])
      if (all.length > 2) filled++
    }
    expect(filled).toBeGreaterThanOrEqual(FILLED)
  })
})
