import { beforeAll, describe, expect, it } from 'vitest'
import { csv } from '../../src/resources/location-history/formats/csv.ts'
import { gpx } from '../../src/resources/location-history/formats/gpx.ts'
import { createTimes } from '../../src/resources/location-history/formats/times.ts'
import { createClient, createDevice, sendPoints, type TestDevice } from '../support/client.ts'
import { useOrganization } from '../support/shared-server.ts'

const HOUR_MS = 3_600_000

describe('A history as a file', () => {
  const { server, owner } = useOrganization()
  let first: TestDevice
  let second: TestDevice
  let lonely: TestDevice
  const begin = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 24 * HOUR_MS
  const POINTS = 7_000

  const send = async ({ key }: TestDevice, points: object[]) => {
    for (let at = 0; at < points.length; at += 5_000) {
      const { body } = await sendPoints(createClient(server, key), points.slice(at, at + 5_000))
      expect(body.data.rejected).toEqual([])
    }
  }

  beforeAll(async () => {
    first = await createDevice(owner, 'Van <1> & "Co"')
    second = await createDevice(owner, 'Second')
    lonely = await createDevice(owner, 'Lonely')
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
      const isCut = properties.subjectId === second.id
      expect([type, geometry.type]).toEqual(['Feature', isCut ? 'MultiLineString' : 'LineString'])
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
    // The shorter way to a longitude below 0 leads over 180.
    expect(short.geometry.coordinates).toEqual([
      [
        [180, 1e-7],
        [180, 1e-7],
      ],
      [
        [-180, 1e-7],
        [-1e-7, 2],
      ],
    ])
    const [at, later] = [begin, begin + 500].map(time => new Date(time).toISOString())
    expect(short.properties.coordTimes).toEqual([
      [at, at],
      [at, later],
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
    // The order of the schema: ele, time, then extensions.
    const point = new RegExp(
      `^<trkpt lat="${decimal}" lon="${decimal}">(<ele>${decimal}</ele>)?<time>[^<]{24}</time>(<extensions>.*</extensions>)?</trkpt>$`,
    )
    expect(points.filter(text => !point.test(text))).toEqual([])
    expect(text).toMatch(/lat="0\.000000\d+" lon="-180"/)
    // XML cannot contain them; names from before the rule for names have such characters as the last two.
    const old = { key: 1, id: first.id, type: 'device', name: 'Van \u0001\u0008\ufffe' } as const
    const written = text + gpx.createTrack(old, 0, { hasGap: () => false, mayCross: false }).begin()
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
    // North in a straight line: only its ends and those of blocks of 256 make its shape.
    const straight = (await owner.get(`/location-histories?deviceId=${first.id}&simplify=5&limit=100`)).body
    expect(straight.data.length).toBeLessThan(40)
    expect([straight.data[0].lat, straight.data.at(-1).lat]).toEqual([50, 50 + (POINTS - 1) / 1e5])
    expect(straight.pagination.nextCursor).toBeNull()
    const few = (await owner.get(`/location-histories?${all()}&maxPoints=50&order=desc`)).body
    expect(few.data).toHaveLength(50)
    const times = few.data.map(({ timestamp }: { timestamp: string }) => timestamp)
    expect(times).toEqual([...times].sort().reverse())
    // No point is left out, so the pages must have every point once.
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

  it('is GeoJSON whose lines end at the antimeridian, wherever in the file they cross it', async () => {
    interface Cut {
      geometry: { type: string; coordinates: [number, number, number?][][] }
      properties: { coordTimes: string[][] }
    }
    const readLines = async (query: string): Promise<Cut> =>
      JSON.parse((await read(`${query}&format=geojson`)).text).features[0]
    const ferry = await createDevice(owner, 'Ferry')
    const minutes = (n: number) => begin + n * 60_000
    await send(ferry, [
      { lat: 10, lng: 178, altitude: 100, timestamp: minutes(0) },
      { lat: 13, lng: -179, altitude: 400, timestamp: minutes(300) },
      { lat: 14, lng: -178, timestamp: minutes(400) },
    ])
    const cut = await readLines(`deviceId=${ferry.id}`)
    expect(cut.geometry).toEqual({
      type: 'MultiLineString',
      coordinates: [
        [
          [178, 10, 100],
          [180, 12, 300],
        ],
        [
          [-180, 12, 300],
          [-179, 13, 400],
          [-178, 14],
        ],
      ],
    })
    const times = [
      [0, 200],
      [200, 300, 400],
    ].map(line => line.map(n => new Date(minutes(n)).toISOString()))
    expect(cut.properties.coordTimes).toEqual(times)
    // A file that ends before the crossing is not cut, and each of its lines has two positions.
    for (const [limit, type, lengths] of [
      [1, 'LineString', []],
      [2, 'MultiLineString', [2, 2]],
    ] as const) {
      const { geometry, properties } = await readLines(`deviceId=${ferry.id}&limit=${limit}`)
      expect([limit, geometry.type, geometry.coordinates.length]).toEqual([limit, type, 2])
      if (type === 'LineString') continue
      expect(geometry.coordinates.map(line => line.length)).toEqual(lengths)
      expect(properties.coordTimes.map(line => line.length)).toEqual(lengths)
    }
    const simplified = await readLines(`deviceId=${ferry.id}&limit=1&simplify=1`)
    for (const line of simplified.geometry.coordinates) expect(line).toHaveLength(2)

    // Back and forth, also on the antimeridian itself, and for the first time at the end of 10,000 points.
    const wide = await createDevice(owner, 'Wide')
    const LNGS = [179, -179, 180, -180, 180, 180, 90, -90, -90.5, 0, 180, -0.5, 179.5, -180, -180, 179, -1, 1]
    const track = Array.from({ length: 10_100 }, (_, n) => ({
      lat: n / 1e4,
      lng: n < 10_050 ? 20 : (LNGS[n % LNGS.length] as number),
      timestamp: begin + n * 1000,
    }))
    await send(wide, track)
    for (const [query, asked] of [
      ['', track],
      ['&order=desc', track],
      ['&limit=10090', track.slice(0, 10_090)],
      ['&bbox=-180,1,180,90', track.slice(10_000)],
      ['&maxPoints=10000', []],
      ['&simplify=1000', []],
    ] as const) {
      const { geometry, properties } = await readLines(`deviceId=${wide.id}&includeAnomalies=true${query}`)
      expect(geometry.type, query).toBe('MultiLineString')
      const lines = geometry.coordinates
      expect(lines.length).toBeGreaterThan(1)
      expect(properties.coordTimes.map(({ length }) => length)).toEqual(lines.map(({ length }) => length))
      for (const line of lines) {
        expect(line.length).toBeGreaterThanOrEqual(2)
        for (const [n, [lng]] of line.entries())
          expect(Math.abs(lng - (line[n - 1]?.[0] ?? lng)), query).toBeLessThanOrEqual(180)
      }
      const all = properties.coordTimes.flat().map(time => Date.parse(time))
      expect(all).toEqual(all.toSorted((a, b) => (query === '&order=desc' ? b - a : a - b)))
      const places = new Set(lines.flat().map(String))
      expect(asked.filter(({ lat, lng }) => !places.has(String([lng, lat])))).toEqual([])
    }
    expect((await readLines(`deviceId=${wide.id}&limit=10000`)).geometry.type).toBe('LineString')
  })

  it('is GPX with a segment for each part without a gap of more than 30 minutes, simplified as well', async () => {
    const van = await createDevice(owner, 'Van')
    const MINUTES = [0, 1, 2, 32, 33, 63.01, 64, 65, 200, 201]
    await send(
      van,
      MINUTES.map(n => ({ lat: n / 1e3, lng: 8, timestamp: begin + n * 60_000 })),
    )
    const steady = await createDevice(owner, 'Steady')
    await send(
      steady,
      Array.from({ length: 120 }, (_, n) => ({ lat: n / 1e3, lng: 8, timestamp: begin + n * 60_000 })),
    )
    const segments = async ({ id }: TestDevice, query: string) => {
      const { text } = await read(`deviceId=${id}&format=gpx${query}`)
      return (text.match(/<trkseg>[\s\S]*?<\/trkseg>/g) ?? []).map(one => one.match(/<trkpt /g)?.length)
    }
    expect(await segments(van, '')).toEqual([5, 3, 2])
    expect(await segments(van, '&order=desc')).toEqual([2, 3, 5])
    expect(await segments(steady, '')).toEqual([120])
    // Two points are left: the gaps are between them, and the other track has none.
    expect(await segments(van, '&simplify=10')).toEqual([1, 1])
    expect(await segments(van, '&simplify=10&order=desc')).toEqual([1, 1])
    expect(await segments(steady, '&simplify=10')).toEqual([2])
  })
})
