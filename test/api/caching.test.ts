import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, createDevice, type TestDevice } from '../support/client.ts'
import { listOperations, type Operation, readDocument } from '../support/openapi.ts'
import { sendBytes } from '../support/requests.ts'
import { useOrganization } from '../support/shared-server.ts'

/** The same for everybody, so caches only ask whether it has changed. */
const SHARED = '/api/v3/openapi.json'

/** After somebody has signed out, the next person at the browser reads its cache. */
describe('A response that a browser keeps', () => {
  const { server, owner } = useOrganization()
  let operations: Operation[]
  let device: TestDevice

  beforeAll(async () => {
    operations = listOperations(await readDocument(server))
    device = await createDevice(owner)
    const points = [{ lat: 52.5, lng: 13.4, timestamp: new Date().toISOString() }]
    expect((await createClient(server, device.key).post('/location-history/bulk', { points })).status).toBe(
      200,
    )
  })

  const keptOf = ({ headers }: { headers: Pick<Headers, 'get'> }) =>
    [headers.get('cache-control'), headers.get('x-content-type-options')].join()

  it('is no answer of the interface, neither what was read nor a refusal', async () => {
    const kept: string[] = []
    let answered = 0
    for (const { method, path, name } of operations) {
      const isRead = method === 'get' && path !== SHARED
      for (const token of isRead ? ['', owner.token] : ['']) {
        const answer = await fetch(`${server.url}${path.replaceAll(/\{\w+\}/g, device.id)}`, {
          method: method.toUpperCase(),
          headers: token ? { authorization: `Bearer ${token}` } : {},
        })
        if (answer.status === 200) answered++
        if (path !== SHARED && keptOf(answer) !== 'no-store,nosniff')
          kept.push(`${name} ${answer.status} ${keptOf(answer)}`)
        await answer.body?.cancel()
      }
    }
    expect(kept).toEqual([])
    expect(answered).toBeGreaterThan(30)
  })

  it('is no file, as a stream or whole', async () => {
    for (const format of ['json', 'geojson', 'gpx', 'csv']) {
      const answer = await owner.get(`/location-histories?deviceId=${device.id}&format=${format}`)
      expect([format, answer.status, keptOf(answer)]).toEqual([format, 200, 'no-store,nosniff'])
    }
    const tasks = await owner.post('/tasks/export', { format: 'xlsx' })
    expect([tasks.status, keptOf(tasks)]).toEqual([200, 'no-store,nosniff'])
  })

  it.each([
    ['a page', '/', 200],
    ['a page of nowhere', '/nowhere', 404],
    ['the page of the interface', '/api/v3/docs', 200],
    ['a file that is not there', '/assets/nothing.js', 404],
    ['an address that is none', '/devices/%ff', 400],
    ['an address that is too long', `/devices/${'x'.repeat(13_000)}`, 414],
  ])('is not %s', async (_name, path, status) => {
    const answer = await fetch(`${server.url}${path}`, { headers: { accept: 'text/html' } })
    expect([answer.status, keptOf(answer)]).toEqual([status, 'no-store,nosniff'])
  })

  it.each([
    ['no HTTP', 400, 'hello\r\n\r\n'],
    ['headers of 20 KiB', 431, `GET / HTTP/1.1\r\nHost: x\r\na: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a tunnel', 405, 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['an expectation', 417, 'GET / HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\n\r\n'],
  ])('is not the refusal of %s', async (_name, status, bytes) => {
    const answer = await sendBytes(server.url, Buffer.from(bytes))
    expect(answer?.status).toBe(status)
    expect(answer?.head.toLowerCase()).toMatch(/^cache-control: no-store\r?$/m)
    expect(answer?.head.toLowerCase()).toMatch(/^x-content-type-options: nosniff\r?$/m)
  })

  it('is what is the same for everybody: the document asked for anew, files under their names for good', async () => {
    const document = await fetch(`${server.url}${SHARED}`)
    expect(document.headers.get('cache-control')).toBe('no-cache')
    const page = await (await fetch(`${server.url}/`)).text()
    const [script = ''] = /\/assets\/index-[\w-]+\.js/.exec(page) ?? []
    const file = await fetch(`${server.url}${script}`)
    expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  })
})
