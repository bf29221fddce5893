import { beforeAll, describe, expect, it } from 'vitest'
import { csv } from '../../src/api/location-history/formats/csv.ts'
import { gpx } from '../../src/api/location-history/formats/gpx.ts'
import { createTimes } from '../../src/api/location-history/formats/times.ts'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'

const HOUR_MS = 3_600_000

describe('A history as a file', () => {
  const { server, owner } = useOrganization()
  let first: TestDevice
  let second: TestDevice
  let lonely: TestDevice
  const begin = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 24 * HOUR_MS
  const POINTS = 7_000

  beforeAll(async () => {
    first = await createDevice(owner, 'Van <1> & "Co"')
    second = await createDevice(owner, 'Second')
    lonely = await createDevice(owner, 'Lonely')
    const send = async ({ key }: TestDevice, points: object[]) => {
      for (let at = 0; at < points.length; at += 5_000) {
        const answer = await createClient(server, key).post('/location-history/bulk', {
          points: points.slice(at, at + 5_000),
        })
        expect(answer.body.data.rejected).toEqual([])
      }
    }
    const track = Array.from({ length: POINTS }, (_, n) => ({
      lat: 50 + n / 1e5,
      lng: 8,
      timestamp: begin + n * 1000,
      speed: n % 2 === 0 ? 1.5 : null,
      altitude: n % 3 === 0 ? -3.25 : null,
    }))
    await send(first, track)
    await send(second, [
      { lat: 1e-7, lng: 180, timestamp: begin, heading: 12.5, attributes: { '=1+1': 'a,"b"\n\\' } },
      { lat: 2, lng: -1e-7, timestamp: begin + 500 },
    ])
    await send(lonely, [{ lat: 3, lng: 4, timestamp: begin }])
  })

  const read = async (query: string) => {
    const response = await fetch(`${server.url}/api/v3/location-histories?${query}`, {
      headers: { authorization: `Bearer ${owner.token}` },
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const all = () => `deviceId=${first.id},${second.id},${lonely.id}`

  it('is GeoJSON with a LineString a subject and the time of each position, also of one point or none', async () => {
    const { headers, text } = await read(`${all()}&format=geojson`)
    expect(headers.get('content-type')).toBe('application/geo+json')
    expect(headers.get('content-disposition')).toBe('attachment; filename="location-history.geojson"')
    const { type, features } = JSON.parse(text)
    expect(type).toBe('FeatureCollection')
    expect(features).toHaveLength(3)
    for (const { type, geometry, properties } of features) {
      expect([type, geometry.type]).toEqual(['Feature', 'LineString'])
      expect(geometry.coordinates.length).toBeGreaterThanOrEqual(2)
      expect(geometry.coordinates).toHaveLength(properties.coordTimes.length)
    }
    const [track, short, point] = [first, second, lonely].map(({ id }) =>
      features.find((feature: { properties: { subjectId: string } }) => feature.properties.subjectId === id),
    )
    expect(track.properties).toMatchObject({ subjectType: 'device', name: 'Van <1> & "Co"' })
    expect(track.properties.coordTimes).toEqual(
      Array.from({ length: POINTS }, (_, n) => new Date(begin + n * 1000).toISOString()),
    )
    expect(track.geometry.coordinates.slice(0, 2)).toEqual([
      [8, 50, -3.25],
      [8, 50.00001],
    ])
    expect(short.geometry.coordinates).toEqual([
      [180, 1e-7],
      [-1e-7, 2],
    ])
    expect(point.geometry.coordinates).toEqual([
      [4, 3],
      [4, 3],
    ])
    const nothing = await read(`deviceId=${first.id}&to=1000000000&format=geojson`)
    expect(JSON.parse(nothing.text)).toEqual({ type: 'FeatureCollection', features: [] })
  })

  it('is GPX 1.1 in the order of its schema, with names escaped and numbers without exponents', async () => {
    const { headers, text } = await read(`${all()}&format=gpx`)
    expect(headers.get('content-type')).toBe('application/gpx+xml')
    expect(text).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?>\n<gpx version="1.1" creator="Fieldline" /)
    expect(text.trimEnd()).toMatch(/<\/gpx>$/)
    expect(text.match(/<trk>/g)).toHaveLength(3)
    expect(text).toContain('<trk><name>Van &lt;1&gt; &amp; "Co"</name><src>')
    const points = text.match(/<trkpt .*<\/trkpt>/g) ?? []
    expect(points).toHaveLength(POINTS + 3)
    const decimal = String.raw`-?\d+(\.\d+)?`
    // Of the schema: ele, time, then extensions.
    const point = new RegExp(
      `^<trkpt lat="${decimal}" lon="${decimal}">(<ele>${decimal}</ele>)?<time>[^<]{24}</time>(<extensions>.*</extensions>)?</trkpt>$`,
    )
    expect(points.filter(text => !point.test(text))).toEqual([])
    expect(text).toMatch(/lat="0\.000000\d+" lon="-180"/)
    // XML cannot hold them; names that were given before there was a rule have such as the last ones.
    const old = { key: 1, id: first.id, type: 'device', name: 'Van \u0001\u0008\ufffe' } as const
    const written = text + gpx.createTrack(old, 0).begin()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    expect(written).not.toMatch(/[\u0000-\u0008\ufffe]/)
    const [open, close] = [/<[a-z][^>]*[^/]>/gi, /<\/[^>]+>/g].map(tags => text.match(tags)?.length)
    expect(open).toBe(close)
    expect((await read(`deviceId=${first.id}&to=1000000000&format=gpx`)).text).toMatch(/"[^<]*>\n<\/gpx>\n$/)
  })

  it('is CSV with the names of a point’s fields, which no spreadsheet takes for a formula', async () => {
    const { headers, text } = await read(`${all()}&format=csv`)
    expect(headers.get('content-type')).toContain('text/csv')
    const lines = text.split('\r\n')
    const [point] = (await owner.get(`/location-histories?deviceId=${second.id}`)).body.data
    expect(lines[0]?.split(',')).toEqual(Object.keys(point))
    expect(lines.length).toBe(POINTS + 3 + 2)
    expect(lines.at(-1)).toBe('')
    const line = lines.find(text => text.startsWith(`${point._id},`)) ?? ''
    const quoted = line.slice(line.indexOf('"'), line.lastIndexOf('"') + 1)
    expect(JSON.parse(quoted.slice(1, -1).replaceAll('""', '"'))).toEqual({ '=1+1': 'a,"b"\n\\' })
    expect(line).toMatch(/,1e-07,180,2.*,,12\.5,,,,"\{/)
    expect(/(^|,)"?[=@+\t]/m.test(text)).toBe(false)
    expect((await read(`deviceId=${first.id}&to=1000000000&format=csv`)).text).toBe(csv.begin())
  })

  it('holds the newest point of each where no subject is named, and as many as its limit', async () => {
    const newest = await read('format=csv')
    expect(newest.text.trim().split('\r\n')).toHaveLength(4)
    const limited = JSON.parse((await read(`deviceId=${first.id}&format=geojson&limit=1500&order=desc`)).text)
    expect(limited.features[0].properties.coordTimes).toHaveLength(1_500)
    expect(limited.features[0].geometry.coordinates[0][1]).toBe(50 + (POINTS - 1) / 1e5)
    for (const wrong of ['limit=1000001', 'cursor=x', 'format=kml'])
      expect((await read(`${all()}&${wrong}${wrong.startsWith('format') ? '' : '&format=gpx'}`)).status).toBe(
        400,
      )
    expect((await read(`${all()}&limit=100001`)).status).toBe(400)
  })

  it('keeps times in a few bytes, whatever their order', () => {
    const times = createTimes()
    const given = Array.from({ length: 50_000 }, (_, n) => begin + (n % 7 === 0 ? -n * 1e6 : n * 1000))
    for (const time of given) times.add(time)
    expect([...times.all()]).toEqual(given)
  })

  it('and a list can be simplified, by tolerance and by number, whole or page by page', async () => {
    // North in a straight line: its ends are its shape, and those of blocks of 256.
    const straight = (await owner.get(`/location-histories?deviceId=${first.id}&simplify=5&limit=100`)).body
    expect(straight.data.length).toBeLessThan(40)
    expect([straight.data[0].lat, straight.data.at(-1).lat]).toEqual([50, 50 + (POINTS - 1) / 1e5])
    expect(straight.pagination.nextCursor).toBeNull()
    const few = (await owner.get(`/location-histories?${all()}&maxPoints=50&order=desc`)).body
    expect(few.data).toHaveLength(50)
    const times = few.data.map(({ timestamp }: { timestamp: string }) => timestamp)
    expect(times).toEqual([...times].sort().reverse())
    // Nothing is left out, so pages have to give every point once.
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path = `/location-histories?deviceId=${first.id}&simplify=0&limit=3000`
      const { body } = await owner.get(cursor ? `${path}&cursor=${cursor}` : path)
      seen.push(...body.data.map(({ _id }: { _id: string }) => _id))
      cursor = body.pagination.nextCursor
    }
    expect(new Set(seen).size).toBe(seen.length)
    const file = JSON.parse((await read(`${all()}&format=geojson&simplify=5`)).text)
    expect(file.features).toHaveLength(3)
    expect((await owner.get(`/location-histories?simplify=5`)).status).toBe(400)
    expect((await owner.get(`/location-histories?${all()}&simplify=5&maxPoints=5`)).status).toBe(400)
  })
})
