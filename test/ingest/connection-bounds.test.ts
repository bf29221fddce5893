import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createDevice, readHistory, signIn } from '../support/client.ts'
import { addConnection, readConnection, readUnknown, traccarFix } from '../support/connections.ts'
import { openTestDatabase } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addHub, addPerson } from '../support/people.ts'
import { acknowledgedBy, startScriptedBroker } from '../support/scripted-broker.ts'
import { until } from '../support/wait.ts'

describe('A connection for trackers has bounds', () => {
  const { server, database } = useServer({ CONNECTIONS_ALLOW_PRIVATE: 'true' })
  let owner: Client
  const begin = Date.now() - 3_600_000
  beforeAll(async () => {
    owner = await signIn(server)
  })

  const send = ({ _id, key }: { _id: string; key: string }, body: string) =>
    fetch(`${server.url}/api/v3/ingest/connection/${_id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body,
    })

  it('and keeps the messages of new trackers where the organization has no room for more devices', async () => {
    const db = await openTestDatabase(database)
    const [{ max } = { max: 0 }] = await db.system.query<{ max: string }>(
      `SELECT max FROM row_caps WHERE table_name = 'devices'`,
    )
    const setMax = (to: number | string) =>
      db.system.query(`UPDATE row_caps SET max = $1 WHERE table_name = 'devices'`, [to])
    await createDevice(owner)
    await setMax(1)
    const broker = await startScriptedBroker()
    try {
      const settings = { kind: 'broker', createDevices: true, broker: { url: broker.url } }
      const connection = await addConnection(owner, settings)
      await until(
        'it is connected',
        async () => (await readConnection(owner, connection)).state === 'connected',
      )
      broker.publish([{ id: 3, payload: traccarFix('beyond', begin) }])
      await until('it is acknowledged', () => acknowledgedBy(broker).length === 1)
      expect((await readUnknown(owner, connection)).get('beyond')).toMatchObject({ messages: 1 })
      await until('it says so', async () =>
        /at most 1 devices/.test((await readConnection(owner, connection)).lastError ?? ''),
      )
      expect(broker.connections).toBe(1)
      expect((await readConnection(owner, connection)).state).toBe('connected')
      await setMax(max)
      broker.publish([{ id: 4, payload: traccarFix('beyond', begin + 1_000) }])
      await until('there is a device now', async () => {
        const [device] = (await owner.get('/devices?search=beyond')).body.data
        return device !== undefined && (await readHistory(owner, device._id)).length > 0
      })
      await owner.delete(`/connection/${connection._id}`)
    } finally {
      await setMax(max)
      await broker.close()
      await db.close()
    }
  })

  it('in bytes for what it keeps of an unknown tracker', async () => {
    const from = (path: string) => ({ from: [path] })
    const names = Array.from({ length: 8 }, (_, n) => `attribute${n}`)
    const profile = await owner.post('/tracker-profile', {
      name: 'Talkative',
      topic: 'any',
      device: from('$.payload.id'),
      fields: { lat: from('$.payload.lat'), lng: from('$.payload.lng'), timestamp: from('$.payload.at') },
      attributes: Object.fromEntries(names.map(name => [name, from(`$.payload.${name}`)])),
    })
    const connection = await addConnection(owner, { kind: 'http', profileId: profile.body.data._id })
    const texts = Object.fromEntries(names.map(name => [name, 'x'.repeat(220)]))
    for (let n = 0; n < 90; n++)
      await send(
        connection,
        JSON.stringify({ id: 'big', lat: 50 + n / 100, lng: 8, at: begin + n * 1_000, ...texts }),
      )
    const answer = await owner.post(`/connection/${connection._id}/adopt`, { references: ['big'] })
    const [{ points, deviceId }] = answer.body.data
    expect(points).toBeGreaterThan(5)
    expect(points).toBeLessThan(60)
    await until('they are in the history', async () => (await readHistory(owner, deviceId)).length === points)
    // The newest ones.
    expect((await readHistory(owner, deviceId)).at(-1)?.lat).toBe(50.89)
  })

  it('and counts all that was rejected, although its messages name five', async () => {
    const profile = await owner.post('/tracker-profile', {
      name: 'Many at once',
      topic: 'any',
      each: '$.payload.all',
      device: { from: ['$.item.id'] },
      fields: { lat: { from: ['$.item.lat'] }, lng: { from: ['$.item.lng'] } },
    })
    const connection = await addConnection(owner, { kind: 'http', profileId: profile.body.data._id })
    await createDevice(owner, 'Counted')
    const all = Array.from({ length: 40 }, () => ({ lat: 100, lng: 8 }))
    await send(connection, JSON.stringify({ all: [...all, { id: 'nobody', lat: 1, lng: 8 }] }))
    await until('it is counted', async () => (await readConnection(owner, connection)).counts.messages === 1)
    expect((await readConnection(owner, connection)).counts).toMatchObject({ rejected: 41, unknown: 1 })
    const [message] = (await owner.get(`/connection/${connection._id}/messages`)).body.data
    expect(message.outcome.rejected).toHaveLength(5)
  })

  it('and adoption names no device that its caller does not see', async () => {
    const [here, there] = [await addHub(owner, 'Here'), await addHub(owner, 'There')]
    const connection = await addConnection(owner, { kind: 'http', hubId: here })
    const hidden = await owner.post('/device', { name: 'Hidden', hubId: there, references: ['imei-1'] })
    const names = ['view/connection', 'update/connection', 'create/device', 'view/device']
    const permissionDetails = names.map(permissionName => ({ permissionName }))
    const role = await owner.post('/role', { name: 'Adopters', permissionDetails })
    const { client } = await addPerson(server, owner, { roleId: role.body.data._id, hubId: [here] })
    const adopt = (by: Client, reference: string) =>
      by.post(`/connection/${connection._id}/adopt`, { references: [reference] })
    const refused = await adopt(client, 'imei-1')
    expect([refused.status, refused.body.errors]).toMatchObject([
      400,
      [{ path: 'references.0', code: 'not-found' }],
    ])
    expect((await adopt(client, 'nobody')).body).toEqual({ ...refused.body, requestId: expect.anything() })
    expect((await adopt(owner, 'imei-1')).body.data).toMatchObject([{ deviceId: hidden.body.data._id }])
    await send(connection, traccarFix('imei-2', begin))
    expect((await adopt(client, 'imei-2')).body.data).toMatchObject([{ reference: 'imei-2', points: 1 }])
  })
})
