import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { addApiKey } from '../support/api-keys.ts'
import { createDevice } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { connectDevice, publish } from '../support/mqtt.ts'
import { addHub, addPerson, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'
import { letBeSilent } from '../support/silent-device.ts'
import { until } from '../support/wait.ts'

const HOUR_MS = 3_600_000

describe.runIf(usualKind() === 'postgres')('Why a device is not on the map says no more than', () => {
  const { server, database, owner } = useOrganization()
  let db: Database
  beforeAll(async () => {
    db = await openTestDatabase(database)
  })
  afterAll(() => db.close())

  const addRole = async (name: string, permissionDetails: object[]): Promise<string> =>
    (await owner.post('/role', { name, permissionDetails })).body.data._id

  it.each(['own', 'team'])('the scope %s of view/user tells of other users', async scope => {
    const device = await createDevice(owner)
    const other = await addPerson(server, owner)
    const role = await addRole(`Sees ${scope}`, [
      { permissionName: 'view/device' },
      { permissionName: 'view/user', scope },
    ])
    const { client, userId } = await addPerson(server, owner, { roleId: role })
    expect((await client.get(`/user/${other.userId}`)).status).toBe(404)
    const ask = async (id: string) => (await client.get(`/device/${device.id}/diagnosis?userId=${id}`)).status
    expect([await ask(other.userId), await ask(userId)]).toEqual([404, 200])
  })

  it('view/location tells of fixes: no time and no battery of one', async () => {
    const device = await createDevice(owner)
    const tracker = await connectDevice(server, device)
    const timestamp = new Date(Date.now() - HOUR_MS).toISOString()
    await publish(tracker, device, { lat: 52, lng: 13, timestamp, battery: 3 })
    await tracker.endAsync()
    const path = `/device/${device.id}`
    const role = await addRole('Sees devices alone', [{ permissionName: 'view/device' }])
    const { client } = await addPerson(server, owner, { roleId: role })
    const find = async (by: typeof client, cause: string) =>
      (await by.get(`${path}/diagnosis`)).body.data.causes.find(
        (one: { cause: string }) => one.cause === cause,
      )
    await until('it came late', async () => (await find(owner, 'clock-late')) !== undefined)
    expect((await find(owner, 'clock-late')).detail).toBe(timestamp)
    expect(await find(client, 'clock-late')).toMatchObject({ at: expect.any(String), detail: null })
    expect((await owner.get(`${path}/activity`)).body.data).toMatchObject([{ battery: 3 }])
    expect((await client.get(`${path}/activity`)).status).toBe(403)

    await letBeSilent(db, device.id, async () => (await find(owner, 'battery-empty')) !== undefined)
    expect(await find(owner, 'battery-empty')).toMatchObject({ detail: '3 %' })
    expect(await find(client, 'battery-empty')).toMatchObject({ detail: null })
  })

  it('people: an API key of a hub is nobody who looks at it', async () => {
    const hubId = await addHub(owner)
    const device = await createDevice(owner)
    await owner.patch(`/device/${device.id}`, { hubId })
    const causes = async () =>
      (await owner.get(`/device/${device.id}/diagnosis`)).body.data.causes.map(
        ({ cause }: { cause: string }) => cause,
      )
    await addApiKey(server, owner, { role: 'Planner', hubId: [hubId] })
    expect(await causes()).toContain('hub-without-users')
    await addPerson(server, owner, { roleId: await roleId(owner, 'Planner'), hubId: [hubId] })
    expect(await causes()).not.toContain('hub-without-users')
  })
})
