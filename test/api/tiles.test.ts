import { gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, createDevice, signIn } from '../support/client.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson } from '../support/people.ts'
import { TOOLANGI, VILLAGE } from '../support/remote-archive.ts'

const { z, x, y } = VILLAGE
const PATH = `/tiles/${z}/${x}/${y}`

describe('Tiles', () => {
  const { server } = useServer({ BASEMAP: TOOLANGI })
  let owner: Client
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}/api/v3${path}`, { headers })
  const asOwner = (path: string, headers: Record<string, string> = {}) =>
    get(path, { authorization: `Bearer ${owner.token}`, ...headers })
  const share = async (client: Client) => {
    const { id: subjectId } = await createDevice(client)
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const answer = await client.post('/tracking-link', { subjectId, subjectType: 'device', expiresAt })
    return answer.body.data as { _id: string; token: string }
  }

  beforeAll(async () => {
    owner = await signIn(server)
  })

  it('are there for whoever is signed in, compressed for whoever takes that, and kept by the browser alone', async () => {
    const answer = await asOwner(PATH, { 'accept-encoding': 'gzip' })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/vnd.mapbox-vector-tile')
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    expect(answer.headers.get('cache-control')).toBe('private, max-age=86400')
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect(bytes.includes('Spraggs Road')).toBe(true)
    const plain = await asOwner(PATH, { 'accept-encoding': 'identity' })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(Buffer.from(await plain.arrayBuffer()).equals(bytes)).toBe(true)
    const etag = answer.headers.get('etag') as string
    const known = await asOwner(`${PATH}?v=2`, { 'if-none-match': etag })
    expect([known.status, await known.text()]).toEqual([304, ''])
  })

  it('that there are not are 204, and what is no tile is 404', async () => {
    for (const path of ['/tiles/14/1/1', '/tiles/16/59250/40145', '/tiles/2/9/0', '/tiles/99/0/0']) {
      const answer = await asOwner(path)
      expect([path, answer.status, await answer.text()]).toEqual([path, 204, ''])
    }
    for (const path of ['/tiles/14/1/x', '/tiles/14/1/-1', '/tiles/1.5/0/0', '/tiles/14/1']) {
      expect([path, (await owner.get(path)).status]).toEqual([path, 404])
    }
    expect((await owner.get(`${PATH}?scale=2`)).status).toBe(400)
  })

  it('are there for whoever holds a tracking link of any organization, as long as it is open', async () => {
    const { client } = await addPerson(server, owner, { role: 'Admin' })
    const { client: stranger } = await addOrganization(server, client)
    const link = await share(stranger)
    const linked = await get(`${PATH}?token=${link.token}`)
    expect(linked.status).toBe(200)
    expect(Buffer.from(await linked.arrayBuffer()).length).toBeGreaterThan(500)
    await stranger.delete(`/tracking-link/${link._id}`)
    expect((await get(`${PATH}?token=${link.token}`)).status).toBe(401)
  })

  it('are for nobody else, and their token opens nothing else', async () => {
    const nobody = createClient(server, '')
    for (const query of ['', '?token=', '?token=nonsense', `?token=${owner.token}`]) {
      const answer = await nobody.get(`${PATH}${query}`)
      expect([query, answer.status]).toEqual([query, 401])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
    const { token } = await share(owner)
    expect((await createClient(server, token).get(PATH)).status).toBe(401)
    expect((await nobody.get(`/hubs?token=${token}`)).status).toBe(401)
    const device = await createDevice(owner)
    expect((await createClient(server, device.key).get(PATH)).status).toBe(403)
    expect((await nobody.get(`${PATH}?token=${device.key}`)).status).toBe(401)
  })

  it('are unpacked to what they are in the archive', async () => {
    const answer = await asOwner('/tiles/0/0/0', { 'accept-encoding': 'identity' })
    const bytes = Buffer.from(await answer.arrayBuffer())
    expect(bytes[0]).toBe(0x1a)
    expect(() => gunzipSync(bytes)).toThrow()
  })
})
