import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { PermissionDetail } from '../../db/schema/roles.ts'
import { type Answer, type Client, createClient } from '../support/client.ts'
import { addHub, addPerson, newEmail, type Person, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

/** Other seeds find further faults: `SEED=7 npx vitest run test/api/reach`. */
const SEED = Number(process.env.SEED ?? 1)
/** The permissions of every administrator here, so that only reach can stop them. */
const BASE: PermissionDetail[] = ['user', 'role'].flatMap(resource =>
  ['view', 'create', 'update', 'delete'].map(action => ({
    permissionName: `${action}/${resource}`,
    scope: 'all' as const,
  })),
)
/** Besides these: a longer list or a wider scope reaches further. */
const MORE = { hub: ['all'], team: ['own', 'team', 'all'], task: ['own', 'team', 'all'] } as const
type More = { [resource in keyof typeof MORE]: number }

const toDetails = (more: More): PermissionDetail[] =>
  Object.entries(more).flatMap(([resource, step]) => {
    const scope = MORE[resource as keyof More][step - 1]
    return scope ? [{ permissionName: `view/${resource}`, scope }] : []
  })
const within = (one: More, other: More) =>
  Object.keys(MORE).every(resource => one[resource as keyof More] <= other[resource as keyof More])
const more = fc.record({ hub: fc.nat(1), team: fc.nat(3), task: fc.nat(3) })

const ACTIONS = ['suspend', 'hubs', 'give', 'remove', 'reset', 'role', 'drop', 'make', 'invite'] as const

describe('Nobody gets more than the granter has, nor is touched by who has less', () => {
  const { server, owner } = useOrganization()
  let actor: Person
  let target: Person
  let actorRole: string
  let targetRole: string
  let givenRole: string

  const put = async (_id: string, name: string, permissionDetails: object[]) => {
    expect((await owner.put(`/role/${_id}`, { name, permissionDetails })).status).toBe(200)
  }
  const make = async (name: string, permissionDetails: object[] = []): Promise<string> => {
    const made = await owner.post('/role', { name, permissionDetails })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return made.body.data._id
  }

  beforeAll(async () => {
    actorRole = await make('Actor')
    targetRole = await make('Target')
    givenRole = await make('Given')
    actor = await addPerson(server, owner, { roleId: actorRole })
    target = await addPerson(server, owner, { roleId: targetRole })
  })

  let names = 0
  const act = (action: (typeof ACTIONS)[number], given: More): Promise<Answer> => {
    const user = `/user/${target.userId}`
    const role = { name: `Made ${++names}`, permissionDetails: toDetails(given) }
    switch (action) {
      case 'suspend':
        return actor.client.patch(user, { status: 'suspended' })
      case 'hubs':
        return actor.client.patch(user, { hubId: [] })
      case 'give':
        return actor.client.patch(user, { roleId: givenRole })
      case 'remove':
        return actor.client.delete(user)
      case 'reset':
        return actor.client.post(`${user}/reset-password`, { newPassword: `set by another ${names}` })
      case 'role':
        return actor.client.put(`/role/${targetRole}`, { ...role, name: 'Target' })
      case 'drop':
        return actor.client.delete(`/role/${targetRole}`)
      case 'make':
        return actor.client.post('/role', role)
      case 'invite':
        return actor.client.post('/users/invite', { email: newEmail(), name: 'New', roleId: givenRole })
    }
  }
  /** The present state, as the owner sees it. */
  const look = async () => ({
    user: (await owner.get(`/user/${target.userId}`)).body.data,
    role: (await owner.get(`/role/${targetRole}`)).body.data.permissionDetails,
  })

  it('over random roles and every way to change a user or a role', async () => {
    await fc.assert(
      fc.asyncProperty(more, more, more, fc.constantFrom(...ACTIONS), async (own, held, given, action) => {
        await put(actorRole, 'Actor', [...BASE, ...toDetails(own)])
        await put(targetRole, 'Target', toDetails(held))
        await put(givenRole, 'Given', toDetails(given))
        const before = await look()
        const touches = !['make', 'invite'].includes(action)
        // Permissions that a held role has already are not granted anew.
        const gives = action === 'role' ? !within(given, held) : ['give', 'make', 'invite'].includes(action)
        const allowed = (!touches || within(held, own)) && (!gives || within(given, own))
        const answer = await act(action, given)
        const what = `${action} ${JSON.stringify({ own, held, given })} ${answer.body.message}`
        // Nobody can delete a role that users hold.
        if (action === 'drop') expect(answer.status, what).toBe(409)
        else if (allowed) expect([200, 201], what).toContain(answer.status)
        else {
          expect(answer.status, what).toBe(403)
          expect(await look(), what).toEqual(before)
        }
        if (answer.status === 200 && action === 'remove') {
          target = await addPerson(server, owner, { roleId: targetRole })
        } else if (answer.status === 200 && touches) {
          const again = await owner.patch(`/user/${target.userId}`, { roleId: targetRole, status: 'active' })
          expect(again.status).toBe(200)
        }
      }),
      { numRuns: 36, seed: SEED },
    )
  })

  it('neither does a role that grants all that Admin does touch an Admin, who works in every hub', async () => {
    const admin = await addPerson(server, owner, { role: 'Admin' })
    const adminRole = await roleId(owner, 'Admin')
    const { permissionDetails } = (await owner.get(`/role/${adminRole}`)).body.data
    const hubId = [await addHub(owner, 'The only one')]
    const alike = await addPerson(server, owner, {
      roleId: await make('Like Admin', permissionDetails),
      hubId,
    })
    for (const answer of [
      await alike.client.patch(`/user/${admin.userId}`, { status: 'suspended' }),
      await alike.client.delete(`/user/${admin.userId}`),
      await alike.client.post(`/user/${admin.userId}/reset-password`, { newPassword: 'mine from now on' }),
      await alike.client.patch(`/user/${alike.userId}`, { roleId: adminRole }),
      await alike.client.post('/users/invite', { email: newEmail(), name: 'Friend', roleId: adminRole }),
    ]) {
      expect(answer.status).toBe(403)
    }
    expect((await admin.client.patch(`/user/${alike.userId}`, { status: 'suspended' })).status).toBe(200)
  })

  it('neither does who works in one hub sign in as, or give a role to, somebody who works in two', async () => {
    const [here, there] = [await addHub(owner, 'Here'), await addHub(owner, 'There')]
    const lead = await make('Branch lead', BASE)
    const other = await make('Nothing')
    const actor = await addPerson(server, owner, { roleId: lead, hubId: [here] })
    const wider = await addPerson(server, owner, { roleId: lead, hubId: [here, there] })
    const alike = await addPerson(server, owner, { roleId: lead, hubId: [here] })
    const reset = (id: string) =>
      actor.client.post(`/user/${id}/reset-password`, { newPassword: 'of the actor' })
    const give = (id: string) => actor.client.patch(`/user/${id}`, { roleId: other })
    for (const act of [reset, give]) {
      const answer = await act(wider.userId)
      expect([answer.status, answer.body.message]).toEqual([
        403,
        'This user works in hubs that you have no access to.',
      ])
      expect((await act(alike.userId)).status).toBe(200)
    }
    expect((await wider.client.get('/user')).status).toBe(200)
  })

  describe('an invitation', () => {
    const invite = async (by: Client, role: string, hubId: string[] = []) => {
      const answer = await by.post('/users/invite', { email: newEmail(), name: 'New', roleId: role, hubId })
      expect(answer.status).toBe(201)
      return { userId: answer.body.data._id, token: answer.body.data.invitation.token }
    }
    const accept = (token: string) =>
      createClient(server, '').post('/auth/accept-invitation', {
        token,
        name: 'Me',
        password: 'of my own choice',
      })

    it('gives its inviter nothing by what the role becomes, until somebody with more renews it', async () => {
      const weak = await addPerson(server, owner, { roleId: await make('Inviter', BASE), hubId: [] })
      const role = await make('Grows')
      const hub = await addHub(owner, 'Far away')
      const changes: ((userId: string) => Promise<Answer>)[] = [
        userId => owner.patch(`/user/${userId}`, { roleId: actorRole }),
        userId => owner.patch(`/user/${userId}`, { hubId: [hub] }),
        () =>
          owner.put(`/role/${role}`, {
            name: 'Grows',
            permissionDetails: [{ permissionName: 'view/audit' }],
          }),
      ]
      await put(actorRole, 'Actor', [...BASE, { permissionName: 'view/audit', scope: 'all' }])
      for (const change of changes) {
        const { userId, token } = await invite(weak.client, role)
        expect((await change(userId)).status).toBe(200)
        expect((await accept(token)).status).toBe(404)
        // 404 if the user is outside the caller's visibility because of the new hub.
        expect([403, 404]).toContain((await weak.client.post(`/user/${userId}/invitation`)).status)
        const renewed = await owner.post(`/user/${userId}/invitation`)
        expect((await accept(renewed.body.data.invitation.token)).status).toBe(200)
        expect((await accept(token)).status).toBe(404)
      }
    })

    it('ends with its inviter, suspended, demoted or deleted', async () => {
      const role = await make('Invited', [{ permissionName: 'view/hub' }])
      const inviting = await make('Invites', [...BASE, { permissionName: 'view/hub' }])
      const ends: ((userId: string) => Promise<Answer>)[] = [
        userId => owner.patch(`/user/${userId}`, { status: 'suspended' }),
        userId => owner.patch(`/user/${userId}`, { roleId: targetRole }),
        userId => owner.delete(`/user/${userId}`),
      ]
      await put(targetRole, 'Target', [])
      for (const end of ends) {
        const inviter = await addPerson(server, owner, { roleId: inviting })
        const { token } = await invite(inviter.client, role)
        expect((await end(inviter.userId)).status).toBe(200)
        expect((await accept(token)).status).toBe(404)
      }
      const inviter = await addPerson(server, owner, { roleId: inviting })
      expect((await accept((await invite(inviter.client, role)).token)).status).toBe(200)
    })

    it('of a suspended user is not renewed by who may only invite', async () => {
      const { userId } = await invite(owner, targetRole)
      await owner.patch(`/user/${userId}`, { status: 'suspended' })
      expect((await owner.post(`/user/${userId}/invitation`)).status).toBe(409)
      expect((await owner.get(`/user/${userId}`)).body.data.status).toBe('suspended')
    })
  })

  describe('at once', () => {
    it('of two administrators who suspend each other one does', async () => {
      for (let round = 0; round < 3; round++) {
        const [one, other] = [
          await addPerson(server, owner, { role: 'Admin' }),
          await addPerson(server, owner, { role: 'Admin' }),
        ] as [Person, Person]
        const answers = await Promise.all([
          one.client.patch(`/user/${other.userId}`, { status: 'suspended' }),
          other.client.patch(`/user/${one.userId}`, { status: 'suspended' }),
        ])
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
      }
    })

    it('who is demoted grants nothing afterwards, and leaves no trace of it', async () => {
      for (let round = 0; round < 3; round++) {
        const admin = await addPerson(server, owner, { role: 'Admin' })
        const permissionDetails = [{ permissionName: 'view/audit' }]
        const role = await make(`Raised ${round}`)
        const [demoted, raised] = await Promise.all([
          owner.patch(`/user/${admin.userId}`, { roleId: targetRole }),
          admin.client.put(`/role/${role}`, { name: `Raised ${round}`, permissionDetails }),
        ])
        expect(demoted.status).toBe(200)
        expect([200, 403]).toContain(raised.status)
        const entries = (await owner.get(`/audit-log?limit=500&userId=${admin.userId}`)).body.data
        const at = entries.find((one: { resourceId: string }) => one.resourceId === role)?.at
        expect(at !== undefined).toBe(raised.status === 200)
        const after = (await owner.get(`/role/${role}`)).body.data.permissionDetails
        expect(after).toHaveLength(raised.status === 200 ? 1 : 0)
      }
    })
  })
})
