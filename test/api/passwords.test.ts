import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../db/client.ts'
import { type Answer, type Client, createClient, signIn } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson, PASSWORD } from '../support/people.ts'
import { openScreen } from '../support/screen.ts'
import { openServer } from '../support/server.ts'
import { untilTold } from '../support/wait.ts'

describe('An account', () => {
  const { server, database } = useServer({ ALLOW_SIGNUP: 'true' })
  let owner: Client
  let stranger: Client

  beforeAll(async () => {
    owner = await signIn(server)
    stranger = createClient(server, '')
  })

  const login = (email: string, password: string, organizationId?: string) =>
    stranger.post('/auth/login', { email, password, organizationId })

  describe('passwords', () => {
    it('specification 5.4 rule 1: a change holds in all organizations and ends every other session', async () => {
      const person = await addPerson(server, owner, { role: 'Admin' })
      const home = (await person.client.get('/user')).body.data.organizationId
      const other = await signIn(server, person)
      const made = await addOrganization(server, await signIn(server, person))
      const answer = await made.client.post('/auth/change-password', {
        currentPassword: PASSWORD,
        newPassword: 'a new password of mine',
      })
      expect(answer.status).toBe(200)
      expect((await made.client.get('/user')).status).toBe(200)
      for (const client of [person.client, other]) expect((await client.get('/user')).status).toBe(401)
      expect((await login(person.email, PASSWORD)).status).toBe(401)
      for (const organizationId of [home, made.organizationId]) {
        expect((await login(person.email, 'a new password of mine', organizationId)).status).toBe(200)
      }
    })

    it('a wrong current password is 400 at its path', async () => {
      const person = await addPerson(server, owner)
      const body = { currentPassword: 'something else', newPassword: 'a new password of mine' }
      const answer = await person.client.post('/auth/change-password', body)
      expect([answer.status, answer.body.errors[0].path]).toEqual([400, 'currentPassword'])
    })

    it('specification 5.4 rule 2: is reset by an administrator where the user registered, and ends its sessions', async () => {
      const person = await addPerson(server, owner)
      const again = await signIn(server, person)
      const newPassword = 'a password from above'
      const answer = await owner.post(`/user/${person.userId}/reset-password`, { newPassword })
      expect(answer.status).toBe(200)
      for (const client of [person.client, again]) expect((await client.get('/user')).status).toBe(401)
      expect((await login(person.email, PASSWORD)).status).toBe(401)
      expect((await login(person.email, newPassword)).status).toBe(200)
    })

    it('specification 5.4 rule 2: of a user invited from another organization it cannot be reset', async () => {
      const person = await addPerson(server, owner)
      const other = await addOrganization(server, (await addPerson(server, owner, { role: 'Admin' })).client)
      const guest = await addPerson(server, other.client, { email: person.email, password: person.password })
      const newPassword = 'a password from above'
      const refused = await other.client.post(`/user/${guest.userId}/reset-password`, { newPassword })
      expect(refused.status).toBe(403)
      expect(refused.body.message).toMatch(/registered in another organization/)
      expect((await login(person.email, PASSWORD)).status).toBe(200)
      // A person who registered through this invitation belongs to this organization.
      expect((await owner.post(`/user/${person.userId}/reset-password`, { newPassword })).status).toBe(200)
    })

    it('nobody resets the password of somebody who may do more', async () => {
      const admin = await addPerson(server, owner, { role: 'Admin' })
      const { userId } = await addPerson(server, owner, { role: 'Owner' })
      const answer = await admin.client.post(`/user/${userId}/reset-password`, {
        newPassword: 'mine all mine',
      })
      expect(answer.status).toBe(403)
      await owner.patch(`/user/${userId}`, { status: 'suspended' })
    })

    it('who may not reset one learns no more than that: permission, then sight, then reach, then where it registered', async () => {
      const newPassword = 'a password from above'
      const reset = (client: Client, id: string) => client.post(`/user/${id}/reset-password`, { newPassword })
      const said = ({ status, body }: Answer) => [status, body.message]
      const admin = await addPerson(server, owner, { role: 'Admin' })
      const planner = await addPerson(server, owner)
      const [above, elsewhere, ordinary] = [
        await addPerson(server, owner, { role: 'Owner' }),
        await addPerson(server, (await addOrganization(server, await signIn(server))).client),
        await addPerson(server, owner),
      ]
      // A user who reaches further and registered elsewhere.
      const other = await addOrganization(server, (await addPerson(server, owner, { role: 'Admin' })).client)
      const founder = await addPerson(server, other.client, { role: 'Owner' })
      const guest = await addPerson(server, owner, { ...founder, role: 'Owner' })

      // Without the permission every user gets the same answer, existing or not.
      const ids = [above, elsewhere, ordinary, guest, planner].map(({ userId }) => userId)
      const refusals = await Promise.all([...ids, newId(), 'nonsense'].map(id => reset(planner.client, id)))
      for (const answer of refusals) {
        expect(said(answer)).toEqual([403, 'Your role lacks the permission update/user.'])
      }
      // A user of another organization gets the same answer as a missing one.
      const nobody = said(await reset(admin.client, newId()))
      expect(nobody[0]).toBe(404)
      expect(said(await reset(admin.client, elsewhere.userId))).toEqual(nobody)
      // A user who reaches further gets that answer, wherever it registered.
      for (const { userId } of [above, guest]) {
        const answer = await reset(admin.client, userId)
        expect(said(answer)).toEqual([403, expect.stringMatching(/^This user is Owner, and your role /)])
      }
      // With enough reach, the answer names the reason.
      expect(said(await reset(owner, guest.userId))).toEqual([
        403,
        expect.stringMatching(/registered in another organization/),
      ])
      expect(said(await reset(admin.client, admin.userId))).toEqual([403, expect.stringMatching(/your own/)])
      for (const { email, password } of [above, elsewhere, guest, ordinary]) {
        expect((await login(email, password)).status).toBe(200)
      }
      expect((await reset(admin.client, ordinary.userId)).status).toBe(200)
      for (const { userId } of [above, guest]) await owner.patch(`/user/${userId}`, { status: 'suspended' })
    })

    it('are kept as Argon2id', async () => {
      const db = await openTestDatabase(database)
      const rows = await db.system.query<{ hash: string }>(
        'SELECT password_hash AS hash FROM accounts WHERE password_hash IS NOT NULL',
      )
      await db.close()
      expect(rows.length).toBeGreaterThan(0)
      for (const { hash } of rows) expect(hash).toMatch(/^\$argon2id\$/)
    })
  })

  describe('sessions', () => {
    it('are listed, and one of them can be ended', async () => {
      const person = await addPerson(server, owner)
      const other = await signIn(server, person)
      const { body } = await person.client.get('/auth/sessions')
      expect(body.data).toHaveLength(2)
      expect(body.data.map((one: { isCurrent: boolean }) => one.isCurrent)).toEqual([false, true])
      expect(body.data[0]).toMatchObject({ organizationName: 'My organization', address: '127.0.0.1' })
      expect((await person.client.delete(`/auth/session/${body.data[0]._id}`)).status).toBe(200)
      expect((await other.get('/user')).status).toBe(401)
      expect((await person.client.delete(`/auth/session/${body.data[0]._id}`)).status).toBe(404)
    })

    it('of somebody else are 404', async () => {
      const person = await addPerson(server, owner)
      const other = await addPerson(server, owner)
      const [session] = (await other.client.get('/auth/sessions')).body.data
      expect((await person.client.delete(`/auth/session/${session._id}`)).status).toBe(404)
      expect((await other.client.get('/user')).status).toBe(200)
    })

    it('signing out ends the own one', async () => {
      const person = await addPerson(server, owner)
      expect((await person.client.post('/auth/logout')).status).toBe(200)
      expect((await person.client.get('/user')).status).toBe(401)
    })

    it.runIf(usualKind() === 'postgres')(
      'ended on one process is refused by another in the next request',
      async () => {
        const second = await openServer(database, { ROLES: 'api,jobs' })
        for (const end of ['logout', 'switch', 'suspend', 'change']) {
          const person = await addPerson(server, owner)
          const there = createClient(second, person.client.token)
          expect((await there.get('/user')).status).toBe(200)
          const { organizationId } = (await person.client.get('/user')).body.data
          if (end === 'logout') await person.client.post('/auth/logout')
          if (end === 'switch') await person.client.post('/auth/switch-organization', { organizationId })
          if (end === 'suspend') await owner.patch(`/user/${person.userId}`, { status: 'suspended' })
          if (end === 'change') {
            const newPassword = 'something else'
            await (await signIn(server, person)).post('/auth/change-password', {
              currentPassword: PASSWORD,
              newPassword,
            })
          }
          expect((await there.get('/user')).status).toBe(401)
        }
        // In the other direction too; there an open socket is closed.
        const person = await addPerson(server, owner)
        const screen = await openScreen(server, person.client.token)
        const { organizationId } = (await person.client.get('/user')).body.data
        await untilTold(async () => {
          await createClient(second, person.client.token).post('/auth/switch-organization', {
            organizationId,
          })
          expect((await person.client.get('/user')).status).toBe(401)
          expect((await screen.closed).code).toBe(4401)
        })
        await second.stop()
      },
    )
  })
})
