import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toConfig } from '../../src/config.ts'
import { createTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { TOOLANGI } from '../support/remote-archive.ts'
import { openServer, type Server, startRefused } from '../support/server.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldline-basemap-'))
const tilesFile = join(folder, 'city.pmtiles')

/** The part that the configuration checks: the header of an archive. */
function writeTiles(path: string, type: number): void {
  const bytes = Buffer.alloc(127)
  bytes.write('PMTiles', 0, 'latin1')
  bytes[7] = 3
  bytes[99] = type
  writeFileSync(path, bytes)
}

afterAll(() => rmSync(folder, { recursive: true }))

describe('The files of the console', () => {
  let database: TestDatabase
  let server: Server
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${server.url}${path}`, { method, headers })

  beforeAll(async () => {
    database = await createTestDatabase(usualKind())
    server = await openServer(database, { BASEMAP: TOOLANGI })
  })
  afterAll(async () => {
    await server.stop()
    await database.remove()
  })

  it('a page allows only our own scripts, nothing of other origins, and no frame around it', async () => {
    for (const path of ['/', '/links?x=1', '/sign-in', `/track/${'a'.repeat(43)}`]) {
      const answer = await get(path)
      expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
        path,
        200,
        'text/html; charset=utf-8',
      ])
      const policy = answer.headers.get('content-security-policy') as string
      expect(policy).toContain(`default-src 'none'; script-src 'self'; style-src 'self' 'nonce-`)
      expect(policy).toContain(`frame-ancestors 'none'`)
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      const page = await answer.text()
      expect(page).not.toMatch(/<script(?![^>]+src="\/assets\/)|<style| on\w+=/)
      expect(policy).toContain(`'nonce-${/csp-nonce" content="([\w-]{22})"/.exec(page)?.[1]}'`)
      const again = (await get(path)).headers.get('content-security-policy')
      expect(again).not.toBe(policy)
    }
  })

  it('the files of a page are cached forever, and sent compressed to clients that accept it', async () => {
    const page = await (await get('/')).text()
    const [script = ''] = /\/assets\/index-[\w-]+\.js/.exec(page) ?? []
    const plain = await get(script, { 'accept-encoding': 'identity' })
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(plain.headers.get('content-encoding')).toBeNull()
    const bytes = Buffer.from(await plain.arrayBuffer())
    for (const encoding of ['br', 'gzip']) {
      const answer = await get(script, { 'accept-encoding': encoding })
      expect(answer.headers.get('content-encoding')).toBe(encoding)
      expect(answer.headers.get('vary')).toContain('accept-encoding')
      expect(Number(answer.headers.get('content-length'))).toBeLessThan(bytes.length / 2)
      expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true)
    }
    const etag = plain.headers.get('etag') as string
    for (const known of [etag, etag.replace('W/', ''), `"a", ${etag}, W/"b"`, '*']) {
      const answer = await get(script, { 'if-none-match': known, 'accept-encoding': 'br' })
      expect([known, answer.status, await answer.text()]).toEqual([known, 304, ''])
    }
    expect((await get(script, { 'if-none-match': 'W/"a", "b"' })).status).toBe(200)
  })

  it.each([
    ['br;q=0', null],
    ['br;q=0, gzip', 'gzip'],
    ['x-br', null],
    ['gzip, br', 'br'],
    ['BR ; Q=0.5, gzip;q=0.8', 'gzip'],
    ['*', 'br'],
    ['*;q=0', null],
    ['br;q=0, *;q=0.1', 'gzip'],
    ['identity, br;q=0.5', null],
    ['identity;q=0.5, br;q=0.5', 'br'],
    ['zstd, deflate', null],
    ['br;q=x,,;', null],
  ])('a client that accepts %s gets the encoding %s', async (accepted, encoding) => {
    const page = await (await get('/')).text()
    const [script = ''] = /\/assets\/index-[\w-]+\.js/.exec(page) ?? []
    const answer = await get(script, { 'accept-encoding': accepted })
    expect([answer.status, answer.headers.get('content-encoding')]).toEqual([200, encoding])
    await answer.body?.cancel()
  })

  it('HEAD answers as GET without a body, and other methods get 405', async () => {
    const [page = ''] = /\/assets\/index-[\w-]+\.js/.exec(await (await get('/')).text()) ?? []
    for (const path of ['/', page]) {
      const [head, got] = [await get(path, {}, 'HEAD'), await get(path)]
      expect([head.status, await head.text()]).toEqual([200, ''])
      expect(head.headers.get('content-length')).toBe(got.headers.get('content-length'))
      const posted = await get(path, {}, 'POST')
      expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    }
  })

  it('a wrong link shows a page to people and the envelope to API clients', async () => {
    const html = { accept: 'text/html,application/xhtml+xml' }
    const nowhere = await get('/nowhere/at/all', html)
    expect([nowhere.status, nowhere.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    for (const [path, status] of [
      ['/devices/%ff', 400],
      ['/nowhere%', 400],
      [`/devices/${'x'.repeat(13_000)}`, 414],
      [`/${'x'.repeat(13_000)}`, 414],
    ] as const) {
      const page = await get(path, html)
      expect([page.status, page.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8'])
      expect(page.headers.get('content-security-policy')).toContain(`default-src 'none'`)
      const called = await get(path)
      expect([called.status, await called.json()]).toMatchObject([status, { status: false }])
    }
    for (const [path, headers] of [
      ['/api/v3/nowhere', html],
      ['/api', html],
      ['/nowhere', { accept: 'application/json' }],
      ['/assets/nowhere.js', html],
      ['/assets/..%2findex.html', html],
    ] as const) {
      const answer = await get(path, headers)
      expect([path, answer.status]).toEqual([path, 404])
      expect(await answer.json()).toMatchObject({ status: false })
    }
  })

  it('a page is told what the tiles are like', async () => {
    const page = await (await get('/')).text()
    const [, content = ''] = /name="basemap" content="([^"]+)"/.exec(page) ?? []
    expect(JSON.parse(content.replaceAll('&quot;', '"'))).toEqual({
      vector: true,
      minZoom: 0,
      maxZoom: 15,
      bounds: [
        expect.closeTo(145.39),
        expect.closeTo(-37.61),
        expect.closeTo(145.56),
        expect.closeTo(-37.43),
      ],
      version: expect.stringMatching(/^[\w-]{12}$/),
    })
    expect((await get('/basemap.pmtiles')).status).toBe(404)
  })

  it('a process without the role api serves no pages', async () => {
    const other = await openServer(database, {
      ROLES: 'jobs',
      ...(database.url ? {} : { DATA_DIR: folder }),
    })
    expect((await fetch(`${other.url}/`, { headers: { accept: 'text/html' } })).status).toBe(404)
    await other.stop()
  })
})

describe('BASEMAP', () => {
  const basemapOf = (value?: string) => toConfig({ JWT_SECRET: 's'.repeat(32), BASEMAP: value }).basemap
  beforeAll(() => {
    writeTiles(tilesFile, 2)
    writeTiles(join(folder, 'odd.pmtiles'), 77)
    writeFileSync(join(folder, 'none.pmtiles'), 'nothing')
  })

  it('means the streets of San Francisco, a tile URL, a file of tiles, or a URL of such a file', () => {
    expect(basemapOf()).toMatchObject({ kind: 'file', path: expect.stringMatching(/sanfrancisco\.pmtiles$/) })
    const url = 'https://tiles.example/{z}/{x}/{y}.png'
    expect(basemapOf(url)).toEqual({ kind: 'tiles', url, vector: false })
    expect(basemapOf('http://tiles.example/{z}/{x}/{y}.mvt?key=1')).toMatchObject({ vector: true })
    expect(basemapOf(tilesFile)).toEqual({ kind: 'file', path: tilesFile })
    const archive = 'https://maps.example/planet.pmtiles?key=1'
    expect(basemapOf(archive)).toEqual({ kind: 'archive', url: archive })
  })

  it.each([
    ['https://tiles.example/{z}/{x}.png', 'BASEMAP has to name {y} in its URL'],
    ['maps', 'BASEMAP has to be a tile URL with {z}/{x}/{y}, or a file or URL that ends with .pmtiles'],
    ['/nowhere/at/all.pmtiles', 'BASEMAP names a file that cannot be read'],
    [join(folder, 'none.pmtiles'), 'BASEMAP has to be a file of PMTiles, version 3'],
    [join(folder, 'odd.pmtiles'), 'BASEMAP has tiles of an unknown kind'],
  ])('is refused at the start when it is wrong: %s', (value, message) => {
    expect(() => basemapOf(value)).toThrow(message)
  })

  it('is named in the error of a server that does not start', async () => {
    const database = await createTestDatabase(usualKind())
    const { code, stderr } = await startRefused(database, { BASEMAP: 'maps' })
    expect(code).toBe(1)
    expect(stderr).toContain('BASEMAP has to be a tile URL')
    await database.remove()
  })
})
