import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { addPerson, newEmail, PASSWORD, roleId } from '../support/people.ts'
import { useOrganization } from '../support/shared-server.ts'

const NEXT = 'the next password of mine'

describe('A password that changes while others use it', () => {
  const { server, owner } = useOrganization()
  let stranger: Client

  beforeAll(async () => {
    stranger = createClient(server, '')
  })

  const login = (email: string, password: string) => stranger.post('/auth/login', { email, password })
  const change = (client: Client, newPassword: string, currentPassword = PASSWORD) =>
    client.post('/auth/change-password', { currentPassword, newPassword })
  /** The clients whose token is still valid. */
  const alive = async (tokens: readonly string[]) =>
    (await Promise.all(tokens.map(token => createClient(server, token).get('/user')))).filter(
      ({ status }) => status === 200,
    ).length

  it('leaves no session of a sign-in that was under way with the old one', async () => {
    for (const round of [0, 1, 2]) {
      const person = await addPerson(server, owner)
      // Comparing takes a while: the attempts are spread over it, so that some come before the change and some after
      // it.
      const signingIn = Array.from({ length: 8 }, async (_, index) => {
        await sleep(index * 15)
        return login(person.email, PASSWORD)
      })
      await sleep(20 + round * 30)
      const changed = await change(person.client, NEXT)
      const answers = await Promise.all(signingIn)
      expect(changed.status).toBe(200)
      const tokens = answers.flatMap(({ status, body }) => (status === 200 ? [body.token] : []))
      expect(await alive(tokens)).toBe(0)
      expect(await alive([person.client.token])).toBe(1)
    }
  })

  it('leaves no session that was opened by switching meanwhile', async () => {
    const person = await addPerson(server, owner)
    const { organizationId } = (await person.client.get('/user')).body.data
    const others = await Promise.all(Array.from({ length: 6 }, () => signIn(server, person)))
    const switching = others.map(async (other, index) => {
      await sleep(index * 20)
      return other.post('/auth/switch-organization', { organizationId })
    })
    expect((await change(person.client, NEXT)).status).toBe(200)
    const tokens = (await Promise.all(switching)).flatMap(({ body }) => body.token ?? [])
    expect(await alive([...tokens, ...others.map(({ token }) => token)])).toBe(0)
  })

  it('changes once where two change it at once', async () => {
    for (const sameSession of [true, false, false]) {
      const person = await addPerson(server, owner)
      const other = sameSession ? person.client : await signIn(server, person)
      const wanted = ['one new password', 'another new password']
      const answers = await Promise.all([
        change(person.client, wanted[0] as string),
        change(other, wanted[1] as string),
      ])
      const won = answers.findIndex(({ status }) => status === 200)
      const lost = answers[1 - won]
      expect([400, ...(sameSession ? [] : [401])]).toContain(lost?.status)
      expect((await login(person.email, wanted[won] as string)).status).toBe(200)
      expect((await login(person.email, wanted[1 - won] as string)).status).toBe(401)
    }
  })

  it('is guessed five times, however the address is spelt', async () => {
    const person = await addPerson(server, owner, { email: `iris${newEmail('-i-i-i')}` })
    const spell = (bits: number) => {
      let at = 0
      return person.email.replace(/i/g, letter => (bits & (1 << at++) ? 'İ' : letter))
    }
    for (let bits = 1; bits < 16; bits++) {
      // No other spelling belongs to the account, not even with its password.
      expect((await login(spell(bits), PASSWORD)).status).toBe(401)
    }
    const cases = (index: number) => (index % 2 ? person.email.toUpperCase() : ` ${person.email} `)
    const statuses: number[] = []
    for (let index = 0; index < 6; index++) statuses.push((await login(cases(index), 'a guess')).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
    expect((await login(person.email, PASSWORD)).status).toBe(429)
  })

  it('belongs to one account, however the address is written when inviting and looking it up', async () => {
    const email = `Mixed.Case-${newEmail()}`
    const body = { email, name: 'Mixed', roleId: await roleId(owner, 'Planner') }
    expect((await owner.post('/users/invite', body)).status).toBe(201)
    for (const spelling of [email.toLowerCase(), email.toUpperCase(), ` ${email} `]) {
      expect((await owner.post('/users/invite', { ...body, email: spelling })).status).toBe(409)
      const found = await owner.get(`/user/email/${encodeURIComponent(spelling)}`)
      expect(found.body.data.email).toBe(email)
    }
    expect((await owner.get(`/user/email/${encodeURIComponent(email.replace('i', 'İ'))}`)).status).toBe(404)
  })
})
