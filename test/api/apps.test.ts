import { gzipSync } from 'node:zlib'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { osmand } from '../../ingest/formats/osmand.ts'
import { type Client, createDevice, readHistory, signIn, type TestDevice } from '../support/client.ts'
import { postgresMissing } from '../support/database.ts'
import { readFigures } from '../support/figures.ts'
import { readDocument } from '../support/openapi.ts'
import { useServerProcess } from '../support/own-server.ts'
import { expectPoint, type Payload, queryOf, readPayloads } from '../support/payloads.ts'
import { startServer } from '../support/server.ts'
import { pause, until } from '../support/wait.ts'

/** The exact receipt that each app expects; after anything else it sends again. */
const RECEIPTS = { owntracks: '[]', overland: '{"result":"ok"}', osmand: '' } as const
type App = keyof typeof RECEIPTS

const appOf = ({ format }: Payload): App => (format in RECEIPTS ? (format as App) : 'osmand')
const isAddress = ({ file }: Payload) => file.endsWith('.url.txt')
const bearer = ({ key }: TestDevice) => ({ authorization: `Bearer ${key}` })
const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})

describe('Apps that people have', () => {
  const { server, database } = useServerProcess()
  let owner: Client
  let device: TestDevice

  beforeAll(async () => {
    owner = await signIn(server)
    device = await createDevice(owner)
  })

  const send = (
    app: App,
    body: string | Buffer,
    headers: Record<string, string> = bearer(device),
    query = '',
  ) => fetch(`${server.url}/api/v3/ingest/${app}${query}`, { method: 'POST', headers, body: body as string })
  const get = (app: App, query: string, headers: Record<string, string> = bearer(device)) =>
    fetch(`${server.url}/api/v3/ingest/${app}?${query}`, { headers })
  const reasons = async ({ id }: TestDevice): Promise<{ [reason: string]: number }> =>
    (await owner.get(`/device/${id}/rejections`)).body.counts
  /** A present position, as `app` writes it. */
  const fixOf = (app: App, seconds = Math.floor(Date.now() / 1000)) => {
    const properties = { timestamp: new Date(seconds * 1000).toISOString() }
    const geometry = { type: 'Point', coordinates: [13, 52] }
    if (app === 'owntracks') return JSON.stringify({ _type: 'location', lat: 52, lon: 13, tst: seconds })
    if (app === 'overland') return JSON.stringify({ locations: [{ type: 'Feature', geometry, properties }] })
    return JSON.stringify({
      location: { ...properties, coords: { latitude: 52, longitude: 13 } },
      device_id: 'any',
    })
  }
  const APPS = Object.keys(RECEIPTS) as App[]

  const recorded = readPayloads('owntracks', 'overland', 'osmand', 'gpslogger', 'traccar-client-json')

  it.each(recorded)('get their receipt for what they really send: $file', async payload => {
    const own = await createDevice(owner)
    const app = appOf(payload)
    const answers = isAddress(payload)
      ? [
          await get(app, queryOf(payload), bearer(own)),
          await send(app, '', bearer(own), `?${queryOf(payload)}`),
          await send(app, queryOf(payload), {
            ...bearer(own),
            'content-type': 'application/x-www-form-urlencoded',
          }),
          // As GPSLogger posts it: without a content type.
          await send(app, Buffer.from(queryOf(payload)), bearer(own)),
          await send(app, `${queryOf(payload)}\n`, { ...bearer(own), 'content-type': 'text/plain' }),
        ]
      : [
          await send(app, payload.bytes, { ...bearer(own), 'content-type': 'application/json' }),
          await send(app, payload.bytes, bearer(own)),
          await send(app, gzipSync(payload.bytes), { ...bearer(own), 'content-encoding': 'gzip' }),
        ]
    for (const answer of answers) expect([answer.status, await answer.text()]).toEqual([200, RECEIPTS[app]])
    // They are older than the retention, which is their only fault.
    const known = payload.file === 'owntracks/encrypted.json' ? 'encrypted' : 'too-old'
    const wrong =
      known === 'encrypted' ? 1 : payload.file === 'osmand/q01.url.txt' ? 1 : payload.expect.length
    expect(await reasons(own)).toEqual(wrong > 0 ? { [known]: answers.length * wrong } : {})
  })

  it.each(recorded.filter(({ expect: [first] }) => first))(
    'find it in the history: $file, with its time moved to the present',
    async payload => {
      const own = await createDevice(owner)
      const [expected] = payload.expect as [(typeof payload.expect)[number]]
      const recordedAt = Date.parse(expected.ts)
      const now = Math.floor(Date.now() / 1000) * 1000
      const moved = payload.bytes
        .toString('utf8')
        .replaceAll(String(recordedAt), String(now))
        .replaceAll(String(recordedAt / 1000), String(now / 1000))
        .replaceAll(/\d{4}-\d\d-\d\d(T|\+)[\d%A:]+(\.\d+)?(Z|-\d{4})?/g, new Date(now).toISOString())
      const app = appOf(payload)
      const sent = isAddress(payload)
        ? await get(app, queryOf({ ...payload, bytes: Buffer.from(moved) }), bearer(own))
        : await send(app, moved, bearer(own))
      expect(sent.status).toBe(200)
      expect(await reasons(own)).toEqual({})
      const history = await readHistory(owner, own.id)
      expect(history.map(({ timestamp }) => timestamp)).toEqual([new Date(now).toISOString()])
      expectPoint(history[0], expected)
    },
  )

  describe('sign in with a device key', () => {
    it.each(APPS)('as bearer token, as the password of any name, and in the address: %s', async app => {
      const own = await createDevice(owner)
      const now = Math.floor(Date.now() / 1000)
      const fix = (n: number) => fixOf(app, now - n)
      const answers = [
        await send(app, fix(1), bearer(own)),
        await send(app, fix(2), basic('jane', own.key)),
        await send(app, fix(3), basic('', own.key)),
        await send(app, fix(4), {}, `?token=${own.key}`),
        await send(app, fix(5), {}, `?u=jane&d=phone&token=${own.key}`),
      ]
      expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200))
      expect(await readHistory(owner, own.id)).toHaveLength(5)
      expect(await reasons(own)).toEqual({})
    })

    it.each(APPS)('and with nothing else: %s', async app => {
      const wrong = `${device.key.slice(0, -4)}AAAA`
      const statuses = [
        await send(app, fixOf(app), {}),
        await send(app, fixOf(app), { authorization: `Bearer ${wrong}` }),
        await send(app, fixOf(app), basic('jane', wrong)),
        await send(app, fixOf(app), basic(device.key, '')),
        await send(app, fixOf(app), { authorization: 'Basic =' }),
        await send(app, fixOf(app), {}, `?token=${wrong}`),
        await send(app, fixOf(app), {}, `?token=${device.key}&token=${device.key}`),
        // A header takes precedence over the address.
        await send(app, fixOf(app), basic('jane', wrong), `?token=${device.key}`),
      ].map(({ status }) => status)
      expect(statuses).toEqual(Array(8).fill(401))
      expect((await send(app, fixOf(app), { authorization: `Bearer ${owner.token}` })).status).toBe(403)
    })

    it('which opens nothing else from the address or as a password', async () => {
      const url = `${server.url}/api/v3/location-history/bulk`
      const body = JSON.stringify({ points: [{ lat: 1, lng: 2, timestamp: Date.now() }] })
      const type = { 'content-type': 'application/json' }
      for (const [query, headers] of [
        [`?token=${device.key}`, {}],
        ['', basic('jane', device.key)],
      ] as const) {
        const answer = await fetch(url + query, { method: 'POST', headers: { ...type, ...headers }, body })
        expect(answer.status).toBe(401)
      }
    })

    it('that no log, rejection or point has', async () => {
      const own = await createDevice(owner)
      const token = `token=${own.key}`
      await get('osmand', `${token}&lat=95&lon=1&timestamp=1`, {})
      await get('osmand', `lat=52&${token}&lon=1&timestamp=${Date.now()}`, {})
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      await send('osmand', `lat=99&lon=1&timestamp=1&${token}`, form, `?${token}`)
      await send('osmand', `lat=53&lon=1&${token}&timestamp=${Date.now() - 1000}`, form, `?${token}`)
      await send('owntracks', '{', {}, `?${token}`)
      await send('owntracks', 'x'.repeat(5_000_000), {}, `?${token}`)
      await fetch(`${server.url}/api/v3/ingest/other?${token}`)
      await fetch(`${server.url}/api/v3/devices?${token}`)
      const stored = [
        await owner.get(`/device/${own.id}/rejections`),
        await owner.get(`/location-histories?deviceId=${own.id}`),
      ].map(({ body }) => JSON.stringify(body.data))
      expect(stored[0]).toContain('bad-coordinates')
      expect(stored[1]).toContain(own.id)
      expect([...stored, server.output.stdout, server.output.stderr].join('\n')).not.toContain(own.key)
    })
  })

  it.each(APPS)('are understood with a content type that is none: %s', async app => {
    const own = await createDevice(owner)
    const types = ['', 'text', '/', 'application/json; charset', 'application/json;;=', 'a/b, c/d', '"', 'é']
    const now = Math.floor(Date.now() / 1000)
    for (const [n, type] of types.entries()) {
      const answer = await send(app, fixOf(app, now - n), { ...bearer(own), 'content-type': type })
      expect([answer.status, await answer.text()], type).toEqual([200, RECEIPTS[app]])
    }
    expect(await reasons(own)).toEqual({})
    expect(await readHistory(owner, own.id)).toHaveLength(types.length)
  })

  it('have a fix of which half stands in the address and half in a form', async () => {
    const own = await createDevice(owner)
    const at = Math.floor(Date.now() / 1000)
    await send('osmand', Buffer.from(`time=${at}&lat=2`), bearer(own), '?lat=1&lon=3&prov=gps')
    // The content type of JSON decides, whatever the body begins with.
    await send('osmand', `lat=1&lon=2&timestamp=${at}`, {
      ...bearer(own),
      'content-type': 'application/json',
    })
    expect(await reasons(own)).toEqual({ 'not-json': 1 })
    expect(await readHistory(owner, own.id)).toMatchObject([{ lat: 2, lng: 3, attributes: { prov: 'gps' } }])
  })

  it('are heard of by a heartbeat without a position, which is no rejection', async () => {
    const own = await createDevice(owner)
    const json = { ...bearer(own), 'content-type': 'application/json; charset=utf-8' }
    const heartbeat = JSON.stringify({ device_id: '48241179', location: { event: 'heartbeat' } })
    const answers = [
      await send('osmand', heartbeat, json),
      await get('osmand', 'id=1', bearer(own)),
      await get('osmand', `token=${own.key}&batt=67`, {}),
      await get('osmand', '', bearer(own)),
    ]
    for (const answer of answers) expect([answer.status, await answer.text()]).toEqual([200, ''])
    expect(await reasons(own)).toEqual({})
    await until('it has been heard of', async () => {
      const { body } = await owner.get(`/device/${own.id}`)
      return body.data.lastSeenAt !== null
    })
  })

  it('find in the document every field that may come in the address, and a form of them that is read', async () => {
    const { paths } = await readDocument(server)
    const { get: read, post } = paths['/api/v3/ingest/osmand'] ?? {}
    for (const operation of [read, post])
      expect(operation?.parameters?.map(({ name }) => name)).toEqual(
        osmand.http.fields.map(({ names: [name] }) => name),
      )
    const own = await createDevice(owner)
    const form = { ...bearer(own), 'content-type': 'application/x-www-form-urlencoded' }
    const example = post?.requestBody?.content[form['content-type']]?.example as Record<string, string>
    const sent = new URLSearchParams({ ...example, timestamp: String(Date.now()) })
    expect((await send('osmand', String(sent), form)).status).toBe(200)
    expect(await readHistory(owner, own.id)).toMatchObject([
      { lat: 52.52, lng: 13.405, heading: 271, altitude: 34, accuracy: 5, battery: 67, attributes: null },
    ])
  })

  it('are told that a form in several parts is not read, in a rejection without the key', async () => {
    const own = await createDevice(owner)
    const form = new FormData()
    for (const [name, value] of Object.entries({ lat: '52', lon: '13', timestamp: '1', token: own.key }))
      form.append(name, value)
    const answer = await fetch(`${server.url}/api/v3/ingest/osmand?token=${own.key}`, {
      method: 'POST',
      body: form,
    })
    expect([answer.status, await answer.text()]).toEqual([200, ''])
    const { body } = await owner.get(`/device/${own.id}/rejections`)
    expect(body.data).toMatchObject([
      { reason: 'bad-shape', message: expect.stringContaining('application/x-www-form-urlencoded') },
    ])
    expect(JSON.stringify(body)).not.toContain(own.key)
  })

  it('store nothing by HEAD, which needs the key as well', async () => {
    const own = await createDevice(owner)
    const url = `${server.url}/api/v3/ingest/osmand?lat=1&lon=2&timestamp=${Date.now()}`
    const head = async (address: string) => (await fetch(address, { method: 'HEAD' })).status
    expect([await head(`${url}&token=${own.key}`), await head(url)]).toEqual([200, 401])
    expect((await get('osmand', 'lat=95&lon=1&timestamp=1', bearer(own))).status).toBe(200)
    // A point stored by HEAD would be there before this one.
    expect(await reasons(own)).toEqual({ 'bad-coordinates': 1 })
    expect(await readHistory(owner, own.id)).toEqual([])
  })

  describe('are not sent into a loop', () => {
    it.each(APPS)('by what cannot be read, which is a rejection: %s', async app => {
      const own = await createDevice(owner)
      const form = { ...bearer(own), 'content-type': 'application/x-www-form-urlencoded' }
      const bodies: [string | Buffer, Record<string, string>][] = [
        ['{"_type":', bearer(own)],
        [Buffer.from([0x7b, 0xff, 0xfe]), bearer(own)],
        ['['.repeat(20_000), bearer(own)],
        ['not gzip', { ...bearer(own), 'content-encoding': 'gzip' }],
        ['<a/>', { ...bearer(own), 'content-type': 'application/xml' }],
        ['a=1&'.repeat(100_000), form],
      ]
      for (const [body, headers] of bodies) {
        const answer = await send(app, body, headers)
        expect([answer.status, await answer.text()]).toEqual([200, RECEIPTS[app]])
      }
      const counts = await reasons(own)
      // If a body may be a form, one of XML counts as a form without a position.
      expect(counts['not-json']).toBeGreaterThanOrEqual(4)
      expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(bodies.length)
      // The process still serves valid requests.
      expect((await send(app, fixOf(app), bearer(own))).status).toBe(200)
      expect(await readHistory(owner, own.id)).toHaveLength(1)
    })

    it('by one wrong point, which spoils no other; and more than 5,000 are one rejection', async () => {
      const own = await createDevice(owner)
      const one = JSON.parse(fixOf('overland')).locations[0]
      const many = (count: number) => JSON.stringify({ locations: Array(count).fill(one) })
      expect((await send('overland', JSON.stringify({ locations: [one, 7] }), bearer(own))).status).toBe(200)
      // A slow machine does not store all of them in the time of a request: the app is answered 503, and sends again.
      const sendMany = async () => (await send('overland', many(5_000), bearer(own))).status
      await until('5,000 are taken', async () => (await sendMany()) === 200)
      expect((await send('overland', many(5_001), bearer(own))).status).toBe(200)
      expect(await readHistory(owner, own.id)).toHaveLength(1)
      expect(await reasons(own)).toEqual({ 'bad-shape': 1, 'too-many': 1 })
    })

    it.each(APPS)('and are told when a body is larger than 4 MiB, also unpacked: %s', async app => {
      const large = `"${'x'.repeat(5_000_000)}"`
      const packed = { ...bearer(device), 'content-encoding': 'gzip' }
      expect((await send(app, large)).status).toBe(413)
      expect((await send(app, gzipSync(large), packed)).status).toBe(413)
      expect((await send(app, `[${'0,'.repeat(300_000)}0]`)).status).toBe(413)
    })
  })

  const missing = postgresMissing()
  describe.skipIf(missing)(`while nothing can be stored${missing ? ` (${missing})` : ''}`, () => {
    /** Locks the table of points, so that appended points wait. Returns a function that unlocks it. */
    async function hold(): Promise<() => Promise<void>> {
      const holder = new pg.Client({ connectionString: database.url })
      await holder.connect()
      await holder.query('BEGIN; LOCK TABLE points IN ACCESS EXCLUSIVE MODE')
      return () => holder.end()
    }

    it('are answered 503, send again, and have it once', async () => {
      const own = await createDevice(owner)
      const fix = fixOf('overland')
      const release = await hold()
      const answer = await send('overland', fix, bearer(own)).finally(release)
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
      await until('the receipt', async () => {
        const again = await send('overland', fix, bearer(own))
        return (await again.text()) === RECEIPTS.overland
      })
      expect(await readHistory(owner, own.id)).toHaveLength(1)
    })

    it('and hang up, take nothing of others with them', async () => {
      const own = await createDevice(owner)
      const release = await hold()
      const leaving = new AbortController()
      const url = `${server.url}/api/v3/ingest/osmand?lat=52&lon=13&timestamp=${Date.now() - 60_000}&token=${own.key}`
      const gone = fetch(url, { signal: leaving.signal }).then(
        () => 'answered',
        () => 'gone',
      )
      const waiting = async () => (await readFigures(server)).get('fieldline_ingest_waiting{protocol="http"}')
      await until('the first waits', async () => ((await waiting()) ?? 0) > 0)
      leaving.abort()
      expect(await gone).toBe('gone')
      const sent = send('owntracks', fixOf('owntracks'), bearer(own))
      await until('the second waits', async () => ((await waiting()) ?? 0) > 1)
      await release()
      expect((await sent).status).toBe(200)
    })
  })

  it('whose server dies under them send again until they have their receipt, and every point is there once', async () => {
    const own = await Promise.all(APPS.map(async app => ({ app, device: await createDevice(owner) })))
    const POINTS = 60
    const begin = Math.floor(Date.now() / 1000) - POINTS
    let received = 0
    let unanswered = 0
    // Like the apps: the oldest first, removed from the queue only after a receipt.
    const queues = own.map(async ({ app, device: { key } }) => {
      for (let n = 0; n < POINTS; ) {
        const answer = await fetch(`${server.url}/api/v3/ingest/${app}?token=${key}`, {
          method: 'POST',
          body: fixOf(app, begin + n),
        }).then(
          async one => (one.status === 200 ? one.text() : null),
          () => null,
        )
        if (answer === RECEIPTS[app]) {
          n++
          received++
        } else {
          unanswered++
          await pause(20)
        }
      }
    })
    await until('a part of them', () => received >= APPS.length * 5)
    await server.kill9()
    expect(received).toBeLessThan(APPS.length * POINTS)
    Object.assign(server, await startServer(database))
    await Promise.all(queues)
    expect(unanswered).toBeGreaterThan(0)
    owner = await signIn(server)
    for (const { device: one } of own) {
      const times = (await readHistory(owner, one.id)).map(({ timestamp }) => Date.parse(timestamp) / 1000)
      expect(times).toEqual(Array.from({ length: POINTS }, (_, n) => begin + n))
      expect(await reasons(one)).toEqual({})
    }
  })
})
