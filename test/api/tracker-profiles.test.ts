import { describe, expect, it } from 'vitest'
import type { Answer } from '../support/client.ts'
import { addPerson } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { readOwnProfiles, readTrackerPayloads, type TrackerPayload } from '../support/trackers.ts'

const PROFILE = {
  name: 'Pallets',
  topic: 'p/+',
  fields: { lat: { from: ['$.payload.lat'] }, lng: { from: ['$.payload.lon'] } },
}
/** As a person pastes it. */
const pasted = ({ message }: TrackerPayload) => ({
  topic: message.topic,
  clientId: message.clientId,
  query: message.query,
  payload: message.payload.length === 0 ? null : Buffer.from(message.payload).toString('utf8'),
})

describe('Tracker profiles', () => {
  const { server, owner } = useOrganization()

  it('are created, read, replaced and deleted, and listed with the built-in ones', async () => {
    const made = await owner.post('/tracker-profile', PROFILE)
    expect([made.status, made.body.errors]).toEqual([201, undefined])
    expect(made.body.data).toMatchObject({
      ...PROFILE,
      fields: {},
      isBuiltIn: false,
      each: null,
      when: [],
      device: null,
    })
    const path = `/tracker-profile/${made.body.data._id}`
    const put = await owner.put(path, { ...PROFILE, topic: 'q/#' })
    expect(put.body.data).toMatchObject({ name: 'Pallets', topic: 'q/#' })
    expect((await owner.get(path)).body.data).toEqual(put.body.data)

    const all = (await owner.get('/tracker-profiles')).body
    expect(all.pagination.total).toBe(10)
    expect(all.data.find(({ name }: { name: string }) => name === 'Pallets')).toEqual(put.body.data)
    const builtIn = all.data.filter((one: { isBuiltIn: boolean }) => one.isBuiltIn)
    expect(builtIn.map(({ _id }: { _id: string }) => _id).sort()).toEqual([
      'chirpstack',
      'flespi',
      'home-assistant',
      'meshtastic',
      'notehub',
      'sigfox',
      'teltonika',
      'traccar',
      'ttn',
    ])
    // Pages go on where the former one ended, across both kinds.
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { data, pagination } = (
        await owner.get(`/tracker-profiles?limit=4${cursor && `&cursor=${cursor}`}`)
      ).body
      seen.push(...data.map(({ _id }: { _id: string }) => _id))
      cursor = pagination.nextCursor
      if (!cursor) break
    }
    expect(seen).toEqual(all.data.map(({ _id }: { _id: string }) => _id))
    expect((await owner.get('/tracker-profile/teltonika')).body.data).toMatchObject({
      isBuiltIn: true,
      topic: '#',
    })
    expect((await owner.put('/tracker-profile/teltonika', PROFILE)).status).toBe(409)
    expect((await owner.delete('/tracker-profile/teltonika')).status).toBe(409)
    expect((await owner.delete(path)).status).toBe(200)
    expect((await owner.get(path)).status).toBe(404)
    expect((await owner.get('/tracker-profile/unheard-of')).status).toBe(404)
    const audited = (await owner.get('/audit-log?resource=tracker-profile')).body.data
    expect(audited.map(({ action }: { action: string }) => action).sort()).toEqual([
      'create',
      'delete',
      'update',
    ])
  })

  it.each<[string, object]>([
    ['fields.lat.from.0', { fields: { ...PROFILE.fields, lat: { from: ['$.payload..lat'] } } }],
    ['fields.lng', { fields: { lat: PROFILE.fields.lat } }],
    ['device.from.0', { device: { from: ['$.item.id'] } }],
    ['when.0.value', { when: [{ from: '$.payload.a', is: 'equals' }] }],
    [
      'attributes',
      {
        attributes: Object.fromEntries(
          Array.from({ length: 17 }, (_, at) => [`a${at}`, { from: ['$.payload.a'] }]),
        ),
      },
    ],
    ['topic', { topic: 'a/#/b' }],
    ['when', { when: new Array(9).fill({ from: '$.payload.a', is: 'exists' }) }],
    ['sampleMessages', { sampleMessages: [{ payload: 'x'.repeat(70_000) }] }],
    ['code', { code: 'return 1' }],
  ])('that make no sense are 400 with where: %s', async (path, wrong) => {
    const answer = await owner.post('/tracker-profile', { ...PROFILE, ...wrong })
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([400, path])
  })

  it('are tried on messages, and nothing is stored', async () => {
    const payloads = readTrackerPayloads().filter(({ family }) => !family.startsWith('ovms'))
    const own = readOwnProfiles()
    for (const family of new Set(payloads.map(one => one.profile ?? one.family))) {
      const some = payloads.filter(one => (one.profile ?? one.family) === family)
      const profile = own[family]
      const by = profile ? { profile } : { profileId: family }
      const answer = await owner.post('/tracker-profile/preview', { ...by, messages: some.map(pasted) })
      expect([answer.status, answer.body.errors]).toEqual([200, undefined])
      for (const [index, { device, points, rejected, skipped }] of answer.body.data.entries()) {
        const { file, expect: expected } = some[index] as TrackerPayload
        // Some are older than the history is kept.
        const old = rejected.filter(({ reason }: { reason: string }) => reason === 'too-old').length
        expect([file, points.length + old]).toEqual([file, Math.max(expected.length, old)])
        if (expected.length > 0) expect([file, device, skipped]).toEqual([file, expected[0]?.device, null])
        for (const [at, point] of points.entries())
          expect(point).toMatchObject({
            device: expected[at]?.device,
            lat: expect.closeTo(expected[at]?.lat ?? 0, 9),
          })
      }
    }
    const wrong = (body: object) =>
      owner.post('/tracker-profile/preview', { messages: [{ payload: {} }], ...body })
    const placeOf = ({ status, body }: Answer) => [status, body.errors?.[0].path]
    expect(placeOf(await wrong({ profileId: 'unheard-of' }))).toEqual([400, 'profileId'])
    expect(
      placeOf(
        await wrong({
          profile: { topic: '#', fields: { lat: { from: ['x'] }, lng: { from: ['$.payload.a'] } } },
        }),
      ),
    ).toEqual([400, 'profile.fields.lat.from.0'])
    // As it would be saved, with its name and its messages.
    expect((await wrong({ profile: { ...PROFILE, sampleMessages: [{ payload: {} }] } })).status).toBe(200)
    expect((await wrong({})).status).toBe(400)
    expect((await wrong({ profileId: 'ttn', messages: new Array(101).fill({ payload: {} }) })).status).toBe(
      400,
    )
    expect((await owner.get('/rejections')).body.data).toEqual([])
  })

  it('are suggested: the built-in one that reads the messages', async () => {
    const payloads = readTrackerPayloads().filter(one => one.profile && one.expect.length > 0)
    for (const payload of payloads) {
      const { data } = (await owner.post('/tracker-profile/suggest', { messages: [pasted(payload)] })).body
      expect([payload.file, data.profileId]).toEqual([payload.file, payload.profile])
    }
  })

  it('are suggested: else a draft that reads them', async () => {
    const payloads = readTrackerPayloads().filter(
      one => !one.profile && one.expect.length > 0 && !one.family.startsWith('ovms'),
    )
    for (const payload of payloads) {
      const messages = [pasted(payload)]
      const { data } = (await owner.post('/tracker-profile/suggest', { messages })).body
      expect([payload.file, data.profileId, typeof data.profile]).toEqual([payload.file, null, 'object'])
      expect(data.because.length).toBeGreaterThan(1)
      const tried = (await owner.post('/tracker-profile/preview', { profile: data.profile, messages })).body
        .data[0]
      const isOld = tried.rejected[0]?.reason === 'too-old'
      const [expected] = payload.expect
      if (!isOld) expect(tried.points[0]).toMatchObject({ lat: expected?.lat, lng: expected?.lng })
      expect([payload.file, tried.device, tried.skipped]).toEqual([payload.file, expected?.device, null])
      // A draft can be saved as it is.
      expect((await owner.post('/tracker-profile', { ...data.profile, name: payload.file })).status).toBe(201)
    }
    const list = {
      topic: 'x/truck-7/pos',
      payload: { fixes: [{ gps: '52.5,13.4', ts: Math.floor(Date.now() / 1_000), speed_kmh: 36 }] },
    }
    const { data } = (await owner.post('/tracker-profile/suggest', { messages: [list] })).body
    expect(data.profile).toMatchObject({
      topic: 'x/+/pos',
      each: '$.payload.fixes',
      device: { from: ['$.topic[1]'] },
    })
    const tried = await owner.post('/tracker-profile/preview', { profile: data.profile, messages: [list] })
    expect(tried.body.data[0]).toMatchObject({
      device: 'truck-7',
      points: [{ lat: 52.5, lng: 13.4, speed: 10 }],
    })
    const nothing = (await owner.post('/tracker-profile/suggest', { messages: [{ payload: { a: 1 } }] })).body
      .data
    expect(nothing).toMatchObject({ profileId: null, profile: null, because: [expect.any(String)] })
  })

  it('are for whoever may do the same with devices', async () => {
    const permissionDetails = [{ permissionName: 'view/device', scope: 'all' }]
    const role = (await owner.post('/role', { name: 'Looks', permissionDetails })).body.data
    const { client } = await addPerson(server, owner, { roleId: role._id })
    const { _id } = (await owner.post('/tracker-profile', PROFILE)).body.data
    expect((await client.get(`/tracker-profile/${_id}`)).status).toBe(200)
    expect(
      (await client.post('/tracker-profile/preview', { profileId: _id, messages: [{ payload: {} }] })).status,
    ).toBe(200)
    expect((await client.post('/tracker-profile', PROFILE)).status).toBe(403)
    expect((await client.put(`/tracker-profile/${_id}`, PROFILE)).status).toBe(403)
    expect((await client.delete(`/tracker-profile/${_id}`)).status).toBe(403)
  })

  it('have a preview of at most a thousand positions, whose rejections name two paths of many', async () => {
    const from = Array.from({ length: 16 }, (_, n) => `$.item.${'x'.repeat(240)}${n}`)
    const profile = { ...PROFILE, each: '$.payload', fields: { lat: { from }, lng: { from } } }
    const preview = (...counts: number[]) => {
      const messages = counts.map(count => ({ payload: JSON.stringify(Array(count).fill(0)) }))
      return owner.post('/tracker-profile/preview', { profile, messages })
    }
    const { body } = await preview(1_000)
    expect(body.data[0].rejected).toHaveLength(1_000)
    expect(body.data[0].rejected[0].message).toBe(
      `Latitude and longitude are expected at ${from[0]} or ${from[1]} or another path, and at ${from[0]} or ${from[1]} or another path.`,
    )
    const answer = await preview(600, 400, 1)
    expect([answer.status, answer.body.errors]).toMatchObject([400, [{ path: 'messages.2' }]])
    expect((await preview(600, 400)).status).toBe(200)
  })
})
