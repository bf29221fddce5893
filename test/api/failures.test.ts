import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { listOperations, type Operation, readDocument } from '../support/openapi.ts'
import { useServer } from '../support/own-server.ts'
import { sendBytes } from '../support/requests.ts'

const ORIGIN = 'https://dispatch.example'

/** Contract section 2: every failure has the envelope and the right code, even before a route is found. */
const NO_PARTS = { body: '--b--\r\n', headers: { 'content-type': 'multipart/form-data; boundary=b' } }

describe('A failure', () => {
  const { server } = useServer({ ALLOW_SIGNUP: 'true', CORS_ORIGINS: `https://other.example, ${ORIGIN}` })
  let owner: Client
  let operations: Operation[]

  beforeAll(async () => {
    owner = await signIn(server)
    operations = listOperations(await readDocument(server))
  })

  const FAILURE = {
    status: false,
    message: expect.stringMatching(/^[A-Z"].*\.$/s),
    code: expect.any(String),
    requestId: expect.any(String),
  }
  async function sendRaw(text: string | Buffer) {
    const answer = await sendBytes(server.url, Buffer.from(text as string))
    return { status: answer?.status, body: JSON.parse(answer?.body ?? '') }
  }
  const get = (target: string, headers = '') =>
    `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`
  const upgrade = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'

  it.each<[string, number, string | Buffer]>([
    ['no HTTP', 400, 'hello\r\n\r\n'],
    ['bytes', 400, Buffer.from([0, 1, 2, 255, 254, 13, 10, 13, 10])],
    ['TLS', 400, Buffer.from('16030100c8010000c4', 'hex')],
    ['another protocol', 400, 'GET / FTP/1.1\r\n\r\n'],
    ['no host', 400, 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n'],
    [
      'two lengths',
      400,
      'POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    ],
    ['a length that is none', 400, 'POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n'],
    [
      'a bad chunk',
      400,
      'POST /api/v3/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    ],
    ['/%ff', 400, get('/%ff')],
    ['/api/v3/hub/%zz', 400, get('/api/v3/hub/%zz')],
    ['an address of 13 KiB', 414, get(`/api/v3/hub/${'x'.repeat(13_000)}`)],
    ['an address of 20 KiB', 414, get(`/api/v3/hub/${'x'.repeat(20_000)}`)],
    ['an address of 200 KiB', 414, get(`/api/v3/hub/${'x'.repeat(200_000)}`)],
    ['headers of 20 KiB', 431, get('/health', `a: ${'x'.repeat(20_000)}\r\n`)],
    ['an address that nothing is at', 404, get('/api/v3/nothing')],
    ['an upgrade to nothing', 404, get('/nothing', upgrade)],
    ['an upgrade where there is no WebSocket', 400, get('/api/v3/openapi.json', upgrade)],
    ['an upgrade without a token', 401, get('/api/v3/live', upgrade)],
    ['a tunnel to elsewhere', 405, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'],
    ['a tunnel to here', 405, 'CONNECT /health HTTP/1.1\r\nHost: x\r\n\r\nand more'],
    ['an expectation that nobody meets', 417, get('/health', 'Expect: magic\r\n')],
  ])('%s is %i in the envelope', async (_name, status, bytes) => {
    const answer = await sendRaw(bytes)
    expect([answer.status, answer.body]).toEqual([
      status,
      { ...FAILURE, ...(answer.body.errors ? { errors: expect.any(Array) } : {}) },
    ])
  })

  it('is not an offer of another protocol: the request is answered as if there were none', async () => {
    const offer = 'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings, close\r\nHTTP2-Settings: AAMAAABk\r\n'
    expect((await sendRaw(get('/health', offer))).status).toBe(200)
    const body = JSON.stringify({ email: 'nobody@example.com', password: 'a wrong one' })
    const post = `POST /api/v3/auth/login HTTP/1.1\r\nHost: x\r\n${offer}Content-Type: application/json\r\n`
    expect((await sendRaw(`${post}Content-Length: ${body.length}\r\n\r\n${body}`)).status).toBe(401)
  })

  it('of an upgrade that is none is told to who has a token', async () => {
    const token = `Authorization: Bearer ${owner.token}\r\n`
    expect(await sendRaw(get('/api/v3/live', `${upgrade}${token}`))).toMatchObject({
      status: 400,
      body: FAILURE,
    })
    const plain = await fetch(`${server.url}/api/v3/live`, {
      headers: { authorization: `Bearer ${owner.token}` },
    })
    expect([plain.status, plain.headers.get('upgrade'), await plain.json()]).toEqual([
      426,
      'websocket',
      FAILURE,
    ])
  })

  it('of an identifier or an address of any length is 404 where there is no such record', async () => {
    for (const length of [36, 101, 255, 5_000]) {
      const answer = await owner.get(`/hub/${'a'.repeat(length)}`)
      expect([answer.status, answer.body]).toEqual([404, FAILURE])
      expect((await owner.get(`/user/email/${'a'.repeat(length - 6)}@b.com`)).status).toBe(404)
    }
  })

  const takes = (template: string, path: string) =>
    new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)

  it('of another method is 405 with Allow, on every path', async () => {
    const paths = new Map<string, Set<string>>()
    for (const { path, method } of operations) {
      const methods = paths.get(path) ?? new Set()
      paths.set(path, methods.add(method.toUpperCase()))
    }
    for (const [at, [path, methods]] of [...paths].entries()) {
      // No path has one of the last two: they take turns.
      const unused = at % 2 === 0 ? 'TRACE' : 'PROPFIND'
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', unused]) {
        if (methods.has(method)) continue
        const { status, body } = await sendRaw(
          get(path.replaceAll(/\{\w+\}/g, 'x'), '').replace('GET', method),
        )
        // A path without parameters never counts as the identifier of another path; of two with parameters the other
        // answers.
        const others = [...paths].filter(
          ([other]) => path.includes('{') && other !== path && takes(other, path),
        )
        const other = others.some(([, its]) => its.has(method))
        expect(other ? [401, 400] : [405], `${method} ${path}`).toContain(status)
        expect(body).toMatchObject(FAILURE)
      }
    }
    for (const [path, allowed] of [
      ['/hubs', ['GET', 'HEAD']],
      ['/data/import/', ['POST']],
    ] as const) {
      const answer = await owner.put(path, {})
      expect([answer.status, answer.headers.get('allow')?.split(', ').sort()]).toEqual([405, allowed])
    }
  })

  it('of a malformed identifier in a path is that of one of nothing, on every path', async () => {
    const reading = operations.filter(
      ({ method, path }) => ['get', 'delete'].includes(method) && path.includes('/{id}'),
    )
    expect(reading.length).toBeGreaterThan(20)
    for (const { method, path } of reading) {
      const call = (id: string) => owner[method as 'get'](path.replace('/api/v3', '').replace('{id}', id))
      const [malformed, nothing] = [await call('nonsense'), await call(crypto.randomUUID())]
      expect([method, path, malformed.status, malformed.body.message]).toEqual([
        method,
        path,
        404,
        nothing.body.message,
      ])
      expect(nothing.status).toBe(404)
    }
  })

  it('of who is not signed in says how: WWW-Authenticate', async () => {
    for (const answer of [
      await createClient(server, '').get('/user'),
      await createClient(server, 'forged').get('/user'),
      await createClient(server, '').post('/auth/login', { email: 'nobody@example.com', password: 'wrong' }),
    ]) {
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    }
  })

  it('of a parameter that no route accepts, or that is given twice, is 400 on every route', async () => {
    for (const { method, path, name, spec } of operations) {
      if (!path.startsWith('/api/v3') || path.endsWith('/docs')) continue
      // Apps add further parameters, and so do providers of single sign-on.
      if (spec['x-permission'] === 'device' || path.endsWith('/oidc/callback')) continue
      const client = spec['x-permission'] === 'public' ? createClient(server, '') : owner
      const url = path.replace('/api/v3', '').replaceAll(/\{\w+\}/g, 'x')
      const body = spec.requestBody?.content['application/json']?.example
      const call = (query: string) =>
        spec.requestBody?.content['multipart/form-data']
          ? client.post(`${url}?${query}`, NO_PARTS.body, NO_PARTS.headers)
          : client[method as 'put'](`${url}?${query}`, body)
      const unknown = await call('limti=1')
      expect([name, unknown.status, unknown.body.errors?.[0].path]).toEqual([name, 400, 'limti'])
      const twice = await call('limit=1&limit=2')
      expect([name, twice.status, twice.body.errors?.at(-1).path]).toEqual([name, 400, 'limit'])
    }
    const filters = await owner.get('/data?filter[a]=1&filter[a]=2')
    expect(filters.body.errors).toEqual([{ path: 'filter.a', code: 'too-many', message: expect.any(String) }])
  })

  it('of a body where none is accepted names its keys', async () => {
    const answer = await owner.post('/auth/logout', { all: true })
    expect([answer.status, answer.body.errors]).toMatchObject([400, [{ path: 'all' }]])
  })

  it('never has more than 100 errors, and says in a sentence what to do', async () => {
    const keys = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`key${index}`, 1]))
    const many = await owner.post('/hub', { name: 'Hub', lat: 1, lng: 2, ...keys })
    expect([many.status, many.body.errors.length]).toEqual([400, 100])
    expect(many.body.message.length).toBeLessThan(300)
    const notObject = {
      path: '',
      code: 'wrong-type',
      message: 'This has to be an object.',
      params: { expected: 'object' },
    }
    const wrong: [Promise<{ body: { errors: object[] } }>, object][] = [
      [
        owner.get('/hubs?limit=x'),
        {
          path: 'limit',
          code: 'wrong-type',
          message: 'This has to be a number.',
          params: { expected: 'number' },
        },
      ],
      [
        owner.get('/hubs?limit=501'),
        { path: 'limit', code: 'too-large', message: 'This has to be at most 500.', params: { limit: 500 } },
      ],
      [
        owner.post('/hub', { lat: 1, lng: 2 }),
        { path: 'name', code: 'required', message: 'This is required.' },
      ],
      [
        owner.post('/hub', { name: 7, lat: 1, lng: 2 }),
        { path: 'name', code: 'wrong-type', message: 'This has to be a text.', params: { expected: 'text' } },
      ],
      [
        owner.post('/hub', { name: 'Hub', lat: 91, lng: 2 }),
        { path: 'lat', code: 'too-large', message: 'This has to be at most 90.', params: { limit: 90 } },
      ],
      [owner.post('/hub', [1]), notObject],
      [owner.post('/hub'), notObject],
    ]
    for (const [answer, error] of wrong) expect((await answer).body.errors).toContainEqual(error)
  })

  it('can be read by pages of the origins of CORS_ORIGINS, and by no others', async () => {
    const preflight = (origin: string) =>
      fetch(`${server.url}/api/v3/hubs`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization',
        },
      })
    const allowed = await preflight(ORIGIN)
    expect([allowed.status, allowed.headers.get('access-control-allow-origin')]).toEqual([204, ORIGIN])
    expect(allowed.headers.get('access-control-allow-headers')).toMatch(/Authorization/)
    expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
    for (const path of ['/api/v3/hubs', '/api/v3/nothing', '/health']) {
      const answer = await fetch(`${server.url}${path}`, { headers: { origin: ORIGIN } })
      expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN)
      const other = await fetch(`${server.url}${path}`, { headers: { origin: 'https://evil.example' } })
      expect(other.headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})
