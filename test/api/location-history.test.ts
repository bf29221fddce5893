import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createClient, createDevice, readHistory, sendPoints } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('The location history', () => {
  const { server, owner } = useOrganization()

  const track = (count: number, begin = Date.now() - 3_600_000) =>
    Array.from({ length: count }, (_, n) => ({ lat: 50 + n / 1250, lng: 8, timestamp: begin + n * 1000 }))

  describe('takes points in bulk', () => {
    it('of a device by its key, of the calling user, and of a device that the user names', async () => {
      const device = await createDevice(owner)
      const [mine, named, own] = track(3)
      const byKey = await createClient(server, device.key).post('/location-history/bulk', { points: [mine] })
      expect(byKey).toMatchObject({
        status: 200,
        body: { data: { accepted: 1, duplicates: 0, rejected: [] } },
      })
      const byUser = await owner.post('/location-history/bulk', {
        points: [{ ...named, deviceId: device.id }, own],
      })
      expect(byUser).toMatchObject({ status: 200, body: { data: { accepted: 2 } } })
      expect(await readHistory(owner, device.id)).toHaveLength(2)
      const userId = (await owner.get('/user')).body.data._id
      expect((await owner.get(`/location-histories?userId=${userId}`)).body.data).toHaveLength(1)
    })

    it('and tells duplicates, conflicts and wrong ones apart, adding up', async () => {
      const device = await createDevice(owner)
      const client = createClient(server, device.key)
      const [first, second] = track(2)
      await client.post('/location-history/bulk', { points: [first] })
      const { body } = await client.post('/location-history/bulk', {
        points: [
          first,
          { ...first, lat: 1 },
          second,
          second,
          { ...second, lat: 2 },
          { lat: 91, lng: 0 },
          null,
        ],
      })
      expect(body.data).toMatchObject({ accepted: 1, duplicates: 2 })
      expect(
        body.data.rejected.map(({ index, reason }: { index: number; reason: string }) => [index, reason]),
      ).toEqual([
        [1, 'conflict'],
        [4, 'conflict'],
        [5, 'bad-coordinates'],
        [6, 'bad-shape'],
      ])
      const { body: rejections } = await owner.get(`/device/${device.id}/rejections`)
      expect(rejections.counts).toEqual({ conflict: 2, 'bad-coordinates': 1, 'bad-shape': 1 })
      const conflicts = rejections.data.filter(({ reason }: { reason: string }) => reason === 'conflict')
      expect(conflicts[0].stored).toMatchObject({ lng: 8, timestamp: expect.stringMatching(/Z$/) })
    })

    it('packed with gzip, and not what unpacks to more than 4 MiB', async () => {
      const device = await createDevice(owner)
      const send = (body: unknown) =>
        fetch(`${server.url}/api/v3/location-history/bulk`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${device.key}`,
            'content-type': 'application/json',
            'content-encoding': 'gzip',
          },
          body: gzipSync(JSON.stringify(body)),
        })
      expect((await send({ points: track(100) })).status).toBe(200)
      expect((await send({ points: [{ ...track(1)[0], junk: 'x'.repeat(5_000_000) }] })).status).toBe(413)
      expect(await readHistory(owner, device.id)).toHaveLength(100)
    })

    it('not more than 5,000, none at all, nor only wrong ones', async () => {
      expect((await owner.post('/location-history/bulk', { points: track(5_001) })).status).toBe(413)
      expect(await owner.post('/location-history/bulk', { points: [] })).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'points' }] },
      })
      expect(await owner.post('/location-history/bulk', { points: ['x'] })).toMatchObject({
        status: 400,
        body: {
          status: false,
          errors: [{ path: 'points.0' }],
          data: { accepted: 0, rejected: [{ index: 0 }] },
        },
      })
      expect(await owner.post('/location-history/bulk', { points: [{ deviceId: 'x' }] })).toMatchObject({
        status: 400,
        body: { errors: [{ path: 'points.0.deviceId' }], data: { rejected: [{ reason: 'unknown-device' }] } },
      })
    })

    it('and a point that names an unknown device is lost alone, in the answer alone', async () => {
      const device = await createDevice(owner)
      const other = await createDevice(owner)
      const points = track(5)
      for (const [client, unknown] of [
        [createClient(server, device.key), other.id],
        [owner, '01a1fbdd-3b2c-7344-80d5-e1ccd295e6ce'],
      ] as const) {
        const named = { deviceId: client === owner ? other.id : device.id.toUpperCase() }
        const answer = await client.post('/location-history/bulk', {
          points: [
            { ...points[0], ...named },
            { ...points[1], deviceId: unknown },
            { ...points[2], deviceId: '' },
            { ...points[3], deviceId: 42 },
            { lat: 91, ...named },
            { ...points[4], ...named },
          ],
        })
        expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 })
        const { accepted, rejected } = answer.body.data
        expect(accepted).toBe(2)
        expect(rejected.map((one: { index: number; reason: string }) => [one.index, one.reason])).toEqual([
          [1, 'unknown-device'],
          [2, 'unknown-device'],
          [3, 'unknown-device'],
          [4, 'bad-coordinates'],
        ])
      }
      for (const { id } of [device, other]) {
        expect(await readHistory(owner, id)).toHaveLength(2)
        expect((await owner.get(`/device/${id}/rejections`)).body.counts).toEqual({ 'bad-coordinates': 1 })
      }
    })

    it('but a device key opens nothing else', async () => {
      const device = await createDevice(owner)
      expect((await createClient(server, device.key).get('/devices')).status).toBe(403)
      expect((await createClient(server, `${device.key}x`).get('/devices')).status).toBe(401)
    })
  })

  describe('answers', () => {
    it('a subject page by page in order of time, both ways', async () => {
      const device = await createDevice(owner)
      const points = track(25)
      await createClient(server, device.key).post('/location-history/bulk', { points })
      for (const order of ['asc', 'desc']) {
        const seen: string[] = []
        let cursor: string | null = ''
        while (cursor !== null) {
          const path = `/location-histories?deviceId=${device.id}&limit=10&order=${order}`
          const { body } = await owner.get(cursor ? `${path}&cursor=${cursor}` : path)
          seen.push(...body.data.map((point: { timestamp: string }) => point.timestamp))
          cursor = body.pagination.nextCursor
        }
        const times = points.map(({ timestamp }) => new Date(timestamp).toISOString())
        expect(seen).toEqual(order === 'asc' ? times : times.reverse())
      }
      const full = await owner.get(`/location-histories?deviceId=${device.id}&limit=25`)
      expect(full.body.pagination.nextCursor).toBeNull()
    })

    it('from a time inclusive to a time exclusive, and within a box', async () => {
      const device = await createDevice(owner)
      const begin = Date.now() - 1_000_000
      await createClient(server, device.key).post('/location-history/bulk', { points: track(10, begin) })
      const count = async (query: string) =>
        (await owner.get(`/location-histories?deviceId=${device.id}&${query}`)).body.data.length
      const iso = (n: number) => new Date(begin + n * 1000).toISOString()
      expect(await count(`from=${iso(2)}&to=${iso(5)}`)).toBe(3)
      expect(await count(`from=${begin + 2000}`)).toBe(8)
      expect(await count('bbox=7,50.0004,9,50.0028')).toBe(3)
      expect(await count(`bbox=7,0,9,1`)).toBe(0)
      for (const query of [
        'from=yesterday',
        'from=-8000000000000000',
        'to=0000-01-01T00:00:00Z',
        'bbox=1,2,3',
        'limit=100001',
        'cursor=x',
        'order=up',
      ]) {
        const { status, body } = await owner.get(`/location-histories?deviceId=${device.id}&${query}`)
        expect([status, body.errors.length], query).toEqual([400, 1])
      }
    })

    it('a long track whole, in chunks of SQL', async () => {
      const device = await createDevice(owner)
      const points = track(12_345, Date.now() - 100_000_000)
      for (let at = 0; at < points.length; at += 5000) {
        await sendPoints(createClient(server, device.key), points.slice(at, at + 5000))
      }
      const history = await readHistory(owner, device.id)
      expect(history.map(point => Date.parse(point.timestamp))).toEqual(points.map(point => point.timestamp))
    })

    it('the newest point of each subject where none is named, and one point by its identifier', async () => {
      const devices = [await createDevice(owner), await createDevice(owner), await createDevice(owner)]
      for (const device of devices) {
        await createClient(server, device.key).post('/location-history/bulk', { points: track(3) })
      }
      const seen: { subjectId: string; lat: number; _id: string }[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const { body } = await owner.get(`/location-histories?limit=2${cursor ? `&cursor=${cursor}` : ''}`)
        seen.push(...body.data)
        cursor = body.pagination.nextCursor
      }
      for (const device of devices) {
        const newest = seen.filter(({ subjectId }) => subjectId === device.id)
        expect(newest).toMatchObject([{ lat: 50.0016 }])
        expect((await owner.get(`/location-history/${newest[0]?._id}`)).body.data).toEqual(newest[0])
      }
      for (const wrong of [
        'x',
        `${devices[0]?.id}_1`,
        `${devices[0]?.id}`,
        `${devices[0]?.id}_99999999999999999999`,
      ]) {
        expect((await owner.get(`/location-history/${wrong}`)).status, wrong).toBe(404)
      }
    })

    it('the newest point of each subject before a time, and within a box if it stood there then', async () => {
      const [gone, early, late] = [
        await createDevice(owner),
        await createDevice(owner),
        await createDevice(owner),
      ]
      const week = 7 * 24 * 3_600_000
      const begin = Date.now() - 3 * week
      const send = (key: string, points: object[]) =>
        createClient(server, key).post('/location-history/bulk', { points })
      // Points of several partitions; each later one is further north.
      await send(gone.key, [{ lat: 10, lng: 8, timestamp: begin }])
      await send(
        early.key,
        [0, 1, 2].map(n => ({ lat: 20 + n, lng: 8, timestamp: begin + n * week })),
      )
      await send(late.key, [{ lat: 30, lng: 8, timestamp: begin + 2 * week }])
      const ids = [gone.id, early.id, late.id]
      const found = async (query: string) => {
        const { body } = await owner.get(`/location-histories?limit=1000&${query}`)
        const points: { subjectId: string; lat: number }[] = body.data
        return ids.map(id => points.find(({ subjectId }) => subjectId === id)?.lat)
      }
      expect(await found('')).toEqual([10, 22, 30])
      expect(await found(`to=${begin + 1}`)).toEqual([10, 20, undefined])
      expect(await found(`to=${begin + 2 * week}`)).toEqual([10, 21, undefined])
      expect(await found(`to=${begin + 2 * week + 1}`)).toEqual([10, 22, 30])
      expect(await found(`from=${begin + 1}&to=${begin + 2 * week}`)).toEqual([undefined, 21, undefined])
      expect(await found(`to=${begin + 2 * week}&bbox=0,15,20,20.5`)).toEqual([
        undefined,
        undefined,
        undefined,
      ])
      expect(await found(`to=${begin + 2 * week}&bbox=0,15,20,21.5`)).toEqual([undefined, 21, undefined])
    })

    it('an identifier of nothing matches nothing', async () => {
      const { body } = await owner.get(
        '/location-histories?deviceId=nothing,01a1fbdd-3b2c-7344-80d5-e1ccd295e6ce',
      )
      expect(body).toMatchObject({ data: [], pagination: { nextCursor: null } })
    })

    it('of a deleted device as before', async () => {
      const device = await createDevice(owner)
      await createClient(server, device.key).post('/location-history/bulk', { points: track(3) })
      await owner.delete(`/device/${device.id}`)
      expect(await readHistory(owner, device.id)).toHaveLength(3)
    })
  })
})
