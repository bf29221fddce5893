import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signIn } from '../support/client.ts'
import { createTestDatabase, usualKind } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization } from '../support/people.ts'
import { TOOLANGI } from '../support/remote-archive.ts'
import { OWNER, openServer } from '../support/server.ts'

describe('The choice of the basemap', () => {
  const { server } = useServer()
  let connections = 0
  const inside = createServer(socket => {
    connections++
    socket.destroy()
  })
  let port: number

  beforeAll(async () => {
    await new Promise<void>(done => inside.listen(0, done))
    port = (inside.address() as AddressInfo).port
  })
  afterAll(() => void inside.close())

  it('is that of the first organization of the server, for all', async () => {
    const owner = await signIn(server)
    const shown = (await owner.get('/basemap')).body.data
    expect(shown).toMatchObject({ url: null, mayChoose: true, isFixed: false, keptMb: 1_000 })
    expect(shown.tiles).toMatchObject({ vector: true, maxZoom: 14 })
    const { organizationId } = (await owner.get('/user')).body.data
    // That revokes the token of the owner.
    const other = (await addOrganization(server, owner)).client
    expect((await other.get('/basemap')).body.data).toMatchObject({ url: null, mayChoose: false })
    const { status, body } = await other.patch('/basemap', { url: null })
    expect([status, body.code]).toEqual([403, 'forbidden'])
    const again = await signIn(server, { ...OWNER, organizationId })
    const taken = await again.patch('/basemap', { url: null })
    expect([taken.status, taken.body.data]).toEqual([200, shown])
  })

  it('is no way into the server’s own network, and says no more about it than that nothing can be read', async () => {
    const owner = await signIn(server)
    const refused = new Set<string>()
    for (const url of [
      'http://maps.example/city.pmtiles',
      'https://127.0.0.1/city.pmtiles',
      `https://10.0.0.1:${port}/city.pmtiles`,
      `https://[::1]:${port}/city.pmtiles`,
      `https://[::ffff:127.0.0.1]:${port}/city.pmtiles`,
      'https://169.254.169.254/city.pmtiles',
      'https://2130706433/city.pmtiles',
      'https://me:secret@maps.example/city.pmtiles',
      'https://maps.example/city.png',
      '/srv/city.pmtiles',
      TOOLANGI,
      'file:///srv/city.pmtiles',
      `https://maps.example/${'x'.repeat(2_000)}.pmtiles`,
      `https://localhost:${port}/city.pmtiles`,
    ]) {
      const { status, body } = await owner.patch('/basemap', { url })
      expect([url, status, body.errors?.[0]?.path]).toEqual([url, 400, 'url'])
      refused.add(body.message)
    }
    expect(connections).toBe(0)
    expect([...refused].filter(message => /127|refused|ECONN|private/i.test(message))).toEqual([])
    expect((await owner.get('/basemap')).body.data.url).toBeNull()
  })

  it('is shown, and not changed, where the environment names the basemap', async () => {
    const database = await createTestDatabase(usualKind())
    const fixed = await openServer(database, { BASEMAP: TOOLANGI })
    const owner = await signIn(fixed)
    expect((await owner.get('/basemap')).body.data).toMatchObject({ isFixed: true, mayChoose: false })
    expect((await owner.patch('/basemap', { url: null })).status).toBe(409)
    await fixed.stop()
    await database.remove()
  })
})
