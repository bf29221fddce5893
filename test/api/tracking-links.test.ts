import { beforeAll, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { type Client, createClient, createDevice, signIn, type TestDevice } from '../support/client.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addPerson } from '../support/people.ts'
import { upgradeStatus } from '../support/screen.ts'
import { openServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const HOUR_MS = 3_600_000
/** Enough for two requests, also of a machine that stands still for some seconds. */
const SHORT_MS = 15_000

interface Shown {
  lat: number
  lng: number
  timestamp: string
}

/** A page that was opened with a tracking link. */
async function openLink(server: { url: string }, token: string) {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/v3/live/tracking/${token}`)
  const messages: { type: string; positions: Shown[] }[] = []
  socket.on('message', data => messages.push(JSON.parse(String(data))))
  const closed = new Promise<number>(done => socket.on('close', done))
  return { socket, messages, closed, status: await upgradeStatus(socket) }
}

describe('A tracking link', () => {
  const { server } = useServer()
  let owner: Client
  let van: TestDevice
  /** A link of a parked device, opened before all tests because its messages take a while. */
  let parked: Awaited<ReturnType<typeof openLink>>
  /** A link that expires, with its page, opened before all tests: by then it is open, however busy the machine is. */
  let short: { token: string; expiresAt: string }
  let shortPage: Awaited<ReturnType<typeof openLink>>
  let shortClosedAt = 0
  const begin = Date.now() - HOUR_MS

  const create = async (subject: { id: string }, more: object = {}, client = owner) => {
    const body = { subjectId: subject.id, subjectType: 'device', expiresAt: new Date(Date.now() + HOUR_MS) }
    return client.post('/tracking-link', { ...body, ...more })
  }
  const anybody = () => createClient(server, '')
  const look = (token: string) => anybody().get(`/location-history/tracking/${token}`)
  const send = (device: TestDevice, points: object[]) =>
    createClient(server, device.key).post('/location-history/bulk', { points })

  beforeAll(async () => {
    owner = await signIn(server)
    van = await createDevice(owner, 'Van 7')
    const way = Array.from({ length: 3_600 }, (_, n) => ({
      lat: 50 + n / 1e4,
      lng: 8 + (n % 900) / 1e4,
      timestamp: begin + n * 1000,
      speed: 12.5,
      battery: 40,
      attributes: { secret: 'of the house' },
    }))
    await send(van, way)
    parked = await openLink(server, (await create(await createDevice(owner, 'Parked'))).body.data.token)
    short = (await create(van, { expiresAt: new Date(Date.now() + SHORT_MS) })).body.data
    shortPage = await openLink(server, short.token)
    void shortPage.closed.then(() => {
      shortClosedAt = Date.now()
    })
  })

  it('shows a name, a position and a trail that keeps its shape, and nothing else of the organization', async () => {
    const created = await create(van, { trailMinutes: 30 })
    expect(created.status).toBe(201)
    const { token, url, ...link } = created.body.data
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(url).toBe(`${server.url}/track/${token}`)
    expect(link).toMatchObject({ subjectId: van.id, subjectType: 'device', trailMinutes: 30 })
    const { status, body, headers } = await look(token)
    expect(status).toBe(200)
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('cache-control')).toBe('no-store')
    const { name, position, trail, expiresAt, ...rest } = body.data
    expect([name, expiresAt, rest]).toEqual(['Van 7', link.expiresAt, {}])
    const fields = ['lat', 'lng', 'timestamp', 'speed', 'heading']
    expect(Object.keys(position)).toEqual(fields)
    expect(position).toMatchObject({ lat: 50.3599, speed: 12.5, heading: null })
    expect(trail.length).toBeGreaterThan(100)
    expect(trail.length).toBeLessThanOrEqual(500)
    expect(trail.at(-1)).toEqual(position)
    for (const point of trail) expect(Object.keys(point)).toEqual(fields)
    expect(Date.parse(trail[0].timestamp)).toBeGreaterThan(Date.now() - 31 * 60_000)
    const all = JSON.stringify(body) + (await (await openLink(server, token)).status)
    for (const inner of [van.id, link._id, link.userId, 'battery', 'secret']) expect(all).not.toContain(inner)
  })

  it('ignores an Authorization header, whatever is in it', async () => {
    const { token } = (await create(van)).body.data
    const path = `/location-history/tracking/${token}`
    for (const other of ['nonsense', van.key, owner.token])
      expect((await createClient(server, other).get(path)).status).toBe(200)
  })

  it('is 404 alike when it is unknown, expired or revoked, and its socket is not opened', async () => {
    const revoked = (await create(van)).body.data
    expect((await owner.delete(`/tracking-link/${revoked._id}`)).body.data).toEqual({ _id: revoked._id })
    await until('the link has expired', async () => (await look(short.token)).status === 404)
    const unknown = 'A'.repeat(43)
    const answers = []
    for (const token of [unknown, short.token, revoked.token, 'x', 'x'.repeat(5_000)]) {
      const { status, body } = await look(token)
      answers.push([status, body.message])
      if (token.length < 100) expect((await openLink(server, token)).status).toBe(404)
    }
    expect(new Set(answers.map(answer => answer.join(' '))).size).toBe(1)
    expect(answers[0]?.[0]).toBe(404)
    expect((await look('%00')).status).toBe(404)
  })

  it('shows every new position on its socket, without subscribing, and no identifier', async () => {
    const { token } = (await create(van)).body.data
    const { messages, socket } = await openLink(server, token)
    await until('a snapshot', () => messages.length > 0)
    expect(messages[0]).toMatchObject({ type: 'snapshot', positions: [{ lat: 50.3599 }], trailMinutes: 60 })
    const other = await createDevice(owner, 'Another')
    const timestamp = Date.now()
    await send(other, [{ lat: 1, lng: 2, timestamp }])
    await send(van, [{ lat: 51, lng: 9, timestamp, battery: 12 }])
    await until('the new position', () => messages.some(({ positions }) => positions[0]?.lat === 51))
    const shown = messages.flatMap(({ positions }) => positions)
    expect(shown.every(({ lat }) => lat > 49)).toBe(true)
    for (const position of shown)
      expect(Object.keys(position)).toEqual(['lat', 'lng', 'timestamp', 'speed', 'heading'])
    const [first, ...others] = messages.map(message => Object.keys(message))
    expect(first).toEqual(['type', 'positions', 'trailMinutes'])
    for (const keys of others) expect(keys).toEqual(['type', 'positions'])
    socket.terminate()
  })

  it('says on its socket when its subject has another name', async () => {
    const bus = await createDevice(owner, 'Bus 1')
    const { messages, socket } = await openLink(server, (await create(bus)).body.data.token)
    await until('a snapshot', () => messages.length > 0)
    await owner.patch(`/device/${bus.id}`, { name: 'Bus 2' })
    await until('the name', () => messages.some(({ type }) => type === 'name'))
    // An empty frame, which says that nothing is new, may come at any moment.
    const told = messages.slice(1).filter(({ positions }) => positions?.length !== 0)
    expect(told).toEqual([{ type: 'name', name: 'Bus 2' }])
    socket.terminate()
  })

  it('closes its socket with 4403 when it is revoked or expires, or who created it may not see the subject any more', async () => {
    const revoked = (await create(van)).body.data
    const page = await openLink(server, revoked.token)
    await until('a snapshot', () => page.messages.length > 0)
    await owner.delete(`/tracking-link/${revoked._id}`)
    expect(await page.closed).toBe(4403)

    expect([shortPage.status, await shortPage.closed]).toEqual([101, 4403])
    // Open links are checked again every 30 s: it does not wait for that.
    expect(shortClosedAt - Date.parse(short.expiresAt)).toBeLessThan(15_000)

    const planner = await addPerson(server, owner, { role: 'Planner' })
    const theirs = (await create(van, {}, planner.client)).body.data
    const third = await openLink(server, theirs.token)
    expect((await look(theirs.token)).status).toBe(200)
    await owner.patch(`/user/${planner.userId}`, { status: 'suspended' })
    expect(await third.closed).toBe(4403)
    expect((await look(theirs.token)).status).toBe(404)

    const gone = await createDevice(owner, 'Gone')
    const dead = (await create(gone)).body.data
    const fourth = await openLink(server, dead.token)
    await owner.delete(`/device/${gone.id}`)
    expect(await fourth.closed).toBe(4403)
    expect((await look(dead.token)).status).toBe(404)
  })

  it('closes a socket that sends on and on, and opens no more than a hundred', async () => {
    const { token } = (await create(van)).body.data
    const page = await openLink(server, token)
    for (let n = 0; n < 20; n++) page.socket.send('{"type":"subscribe"}')
    expect(await page.closed).toBe(1008)
    const pages = []
    for (let n = 0; n < 100; n++) pages.push(await openLink(server, token))
    expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 101))
    expect((await openLink(server, token)).status).toBe(429)
    pages[0]?.socket.terminate()
    await until('a place is free again', async () => (await openLink(server, token)).status === 101)
    for (const { socket } of pages) socket.terminate()
  })

  it('is created for what its creator sees, and listed and revoked by who sees it too', async () => {
    const field = await addPerson(server, owner, { role: 'Field user' })
    expect((await create(van, {}, field.client)).status).toBe(403)
    const wrong: [object, string][] = [
      [{ subjectId: '01a1fbdd-3b2c-7344-80d5-e1ccd295e6ce' }, 'subjectId'],
      [{ subjectType: 'user' }, 'subjectId'],
      [{ expiresAt: new Date(Date.now() - 1) }, 'expiresAt'],
      [{ expiresAt: new Date(Date.now() + 400 * 24 * HOUR_MS) }, 'expiresAt'],
      [{ trailMinutes: 1_441 }, 'trailMinutes'],
      [{ taskId: '01a1fbdd-3b2c-7344-80d5-e1ccd295e6ce' }, 'taskId'],
      [{ shoe: 1 }, 'shoe'],
    ]
    for (const [more, path] of wrong) {
      const { status, body } = await create(van, more)
      expect([status, body.errors?.[0]?.path]).toEqual([400, path])
    }
    const { data } = (await owner.get(`/tracking-links?subjectId=${van.id}&limit=500`)).body
    expect(data.length).toBeGreaterThan(3)
    expect(JSON.stringify(data)).not.toMatch(/token/i)
    const role = await owner.post('/role', {
      name: 'Links without positions',
      permissionDetails: ['view/tracking-link', 'delete/tracking-link'].map(permissionName => ({
        permissionName,
      })),
    })
    const blind = await addPerson(server, owner, { role: role.body.data.name })
    expect((await blind.client.get('/tracking-links')).status).toBe(403)
    expect((await blind.client.delete(`/tracking-link/${data[0]._id}`)).status).toBe(403)
  })

  it('is nowhere in the log, whatever fails', async () => {
    const { token } = (await create(van)).body.data
    const path = `/api/v3/location-history/tracking/${token}`
    await look(token)
    await fetch(`${server.url}${path}`, { method: 'POST' })
    await fetch(`${server.url}${path}?x=1`)
    await fetch(`${server.url}${path}%zz`)
    await fetch(`${server.url}${path}`, { headers: { upgrade: 'websocket' } }).catch(() => {})
    const page = await openLink(server, token)
    page.socket.send('x'.repeat(300 * 1024))
    await page.closed
    await fetch(`${server.url}/track/${token}`)
    const log = server.output.stdout + server.output.stderr
    expect(log).not.toContain(token)
    expect(log).not.toContain('/tracking/')
  })

  it('says on its socket that it is there while nothing is new', async () => {
    await until('an empty frame', () => parked.messages.length > 1)
    const [first, ...others] = parked.messages
    expect(first).toEqual({ type: 'snapshot', positions: [], trailMinutes: 60 })
    for (const message of others) expect(message).toEqual({ type: 'positions', positions: [] })
    parked.socket.terminate()
  })
})

describe('A stranger who tries tracking tokens', () => {
  it('is held to 60 a minute and address, whatever they try', async () => {
    const database: TestDatabase = await createTestDatabase(usualKind())
    const server = await openServer(database, { RATE_LIMIT_PER_MINUTE: '1200' })
    const statuses = new Map<number, number>()
    // A further one is free each second, which a slow machine may have taken for some.
    for (let n = 0; n < 500 && statuses.get(429) !== 10; n++) {
      const { status } = await fetch(`${server.url}/api/v3/location-history/tracking/${n}`)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    expect([...statuses.keys()].sort()).toEqual([404, 429])
    expect(statuses.get(429)).toBe(10)
    expect(statuses.get(404)).toBeGreaterThanOrEqual(60)
    await until('the live page is refused', async () => (await openLink(server, 'x')).status === 429)
    await server.stop()
    await database.remove()
  })
})
