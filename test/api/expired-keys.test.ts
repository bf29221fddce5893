import { describe, expect, it } from 'vitest'
import { addApiKey, expireKey } from '../support/api-keys.ts'
import { createClient, createDevice } from '../support/client.ts'
import { newEmail, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('An API key that has expired', () => {
  const { server, owner } = useOrganization()

  it('opens nothing more by its invitations and tracking links', async () => {
    const { client, id } = await addApiKey(server, owner, { role: 'Admin' })
    const guest = { email: newEmail(), name: 'Guest', roleId: await roleId(owner, 'Planner') }
    const { token } = (await client.post('/users/invite', guest)).body.data.invitation
    const device = await createDevice(owner)
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const subject = { subjectId: device.id, subjectType: 'device', expiresAt }
    const link = (await client.post('/tracking-link', subject)).body.data
    const stranger = createClient(server, '')
    const open = async () => [
      (await stranger.post('/auth/invitation', { token })).status,
      (await stranger.get(`/location-history/tracking/${link.token}`)).status,
    ]
    expect(await open()).toEqual([200, 200])
    await expireKey(owner, { client, id })
    expect(await open()).toEqual([404, 404])
  })
})
