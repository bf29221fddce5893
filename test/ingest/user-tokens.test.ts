import { describe, expect, it } from 'vitest'
import { openTestDatabase } from '../support/database.ts'
import { addPerson, type Person } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { untilTold } from '../support/wait.ts'
import { connectPacket, openRaw, publishPacket, type RawClient } from './raw.ts'

describe('A user’s token over MQTT', () => {
  const { server, database, owner } = useOrganization()

  const SENDS = [{ permissionName: 'create/location', scope: 'own' }]
  async function addRole(name: string, permissionDetails: object[]): Promise<string> {
    const { status, body } = await owner.post('/role', { name, permissionDetails })
    if (status !== 201) throw new Error(JSON.stringify(body))
    return body.data._id
  }
  function connect(person: Person, extra: Buffer[] = []): RawClient {
    const client = openRaw(server.mqttPort)
    client.send(connectPacket({ clientId: '', username: 'token', password: person.client.token }), ...extra)
    return client
  }
  const point = (person: Person) =>
    publishPacket({
      topic: `users/${person.userId}/location`,
      payload: JSON.stringify({ lat: 1, lng: 1, timestamp: Date.now() - 1000 }),
    })

  it('needs create/location, as over HTTP', async () => {
    const [sends, looks] = [
      await addRole('Sends', SENDS),
      await addRole('Looks', [{ permissionName: 'view/location', scope: 'all' }]),
    ]
    const [sender, viewer] = [
      await addPerson(server, owner, { roleId: sends }),
      await addPerson(server, owner, { roleId: looks }),
    ]
    expect(await connect(viewer, [point(viewer)]).answers(1)).toEqual(['connack 5', 'closed'])
    const bulk = { points: [{ lat: 1, lng: 1, timestamp: Date.now() - 1000 }] }
    expect((await viewer.client.post('/location-history/bulk', bulk)).status).toBe(403)
    expect((await owner.get(`/location-histories?userId=${viewer.userId}`)).body.data).toEqual([])
    const client = connect(sender, [point(sender)])
    expect(await client.answers(2)).toEqual(['connack 0', 'puback 1', 'open'])
    client.end()
  })

  it('is no good where the stored permission says nothing clear', async () => {
    const roleId = await addRole('Stored unclear', [])
    const person = await addPerson(server, owner, { roleId })
    const db = await openTestDatabase(database)
    const details = [{ permissionName: 'create/location', scope: 'own', dataTypes: [] }]
    await db.system.query('UPDATE roles SET permission_details = $2::jsonb WHERE id = $1', [
      roleId,
      JSON.stringify(details),
    ])
    await db.close()
    expect(await connect(person, [point(person)]).answers(1)).toEqual(['connack 5', 'closed'])
    const bulk = { points: [{ lat: 1, lng: 1, timestamp: Date.now() - 1000 }] }
    expect((await person.client.post('/location-history/bulk', bulk)).status).toBe(403)
  })

  it('is closed at once when the role loses it, and when the user gets another role', async () => {
    const [changed, other] = [await addRole('Changed', SENDS), await addRole('Other', [])]
    const [stays, moves, unconcerned] = await Promise.all([
      addPerson(server, owner, { roleId: changed }),
      addPerson(server, owner, { roleId: changed }),
      addPerson(server, owner),
    ])
    const [a, b, c] = await Promise.all(
      [stays, moves, unconcerned].map(async person => {
        const client = connect(person)
        await client.next('connack')
        return client
      }),
    )
    await untilTold(async () => {
      expect((await owner.patch(`/user/${moves?.userId}`, { roleId: other })).status).toBe(200)
      await b?.closed
    })
    await untilTold(async () => {
      const less = { name: 'Changed', permissionDetails: [] }
      expect((await owner.put(`/role/${changed}`, less)).status).toBe(200)
      await a?.closed
    })
    expect(await c?.answers(1)).toEqual(['connack 0', 'open'])
    c?.end()
  })
})
