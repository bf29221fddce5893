import { createSecretKey } from 'node:crypto'
import { SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, createClient, signIn } from '../support/client.ts'
import { openTestDatabase, usualKind } from '../support/database.ts'
import { useServer } from '../support/own-server.ts'
import { addOrganization, addPerson, newEmail, PASSWORD } from '../support/people.ts'
import { processorMs } from '../support/processor-time.ts'
import { openScreen } from '../support/screen.ts'
import { addSecondFactor, challengeFor, sendCode } from '../support/second-factor.ts'
import { OWNER } from '../support/server.ts'
import { untilTold } from '../support/wait.ts'

describe('An account', () => {
  const { server, database } = useServer({ ALLOW_SIGNUP: 'true', TRUSTED_PROXIES: 'loopback' })
  let owner: Client
  let stranger: Client

  beforeAll(async () => {
    owner = await signIn(server)
    stranger = createClient(server, '')
  })

  const login = (email: string, password: string, organizationId?: string) =>
    stranger.post('/auth/login', { email, password, organizationId })

  describe('signing in', () => {
    it('compares the address without case and without blanks around it', async () => {
      expect((await login(` ${OWNER.email.toUpperCase()} `, OWNER.password)).status).toBe(200)
    })

    it('has one message for an unknown address and a wrong password', async () => {
      const person = await addPerson(server, owner)
      const wrong = await login(person.email, 'not the password')
      const unknown = await login(newEmail(), 'not the password')
      expect([wrong.status, unknown.status]).toEqual([401, 401])
      expect(wrong.body.message).toBe(unknown.body.message)
    })

    it('takes as long for an unknown address as for a wrong password', async () => {
      const people = [await addPerson(server, owner), await addPerson(server, owner)]
      // The server is in this process: the hash is nearly all of its work.
      const measure = (email: string) => processorMs(() => login(email, 'not the password'))
      const known: number[] = []
      const unknown: number[] = []
      for (let round = 0; round < 4; round++) {
        known.push(await measure(people[round % 2]?.email as string))
        unknown.push(await measure(newEmail()))
      }
      const ratio = Math.min(...unknown) / Math.min(...known)
      // Without hashing for unknown addresses it is 0.05.
      expect(ratio).toBeGreaterThan(1 / 3)
      expect(ratio).toBeLessThan(3)
    })

    it('leads to the organization that was used last, or to the one that is named', async () => {
      const person = await addPerson(server, owner, { role: 'Admin' })
      const first = (await person.client.get('/user')).body.data.organizationId
      const made = await addOrganization(server, person.client)
      expect((await login(person.email, PASSWORD)).body.data.organizationId).toBe(made.organizationId)
      const named = await login(person.email, PASSWORD, first)
      expect(named.body.data.organizationId).toBe(first)
      expect(named.body.organizations.map((entry: { isCurrent: boolean }) => entry.isCurrent).sort()).toEqual(
        [false, true],
      )
      expect((await login(person.email, PASSWORD)).body.data.organizationId).toBe(first)
    })

    it('into an organization where it is no member is 404, as is a malformed one', async () => {
      const person = await addPerson(server, owner, { role: 'Admin' })
      const other = await addPerson(server, owner, { role: 'Admin' })
      const { organizationId } = await addOrganization(server, other.client)
      expect((await login(person.email, PASSWORD, organizationId)).status).toBe(404)
      expect((await login(person.email, PASSWORD, 'nonsense')).status).toBe(404)
    })

    it('without an active membership is 403', async () => {
      const person = await addPerson(server, owner)
      await owner.patch(`/user/${person.userId}`, { status: 'suspended' })
      expect((await login(person.email, PASSWORD)).status).toBe(403)
    })

    it('with unknown keys or without a password is 400 with the path of each', async () => {
      const answer = await stranger.post('/auth/login', { email: 'a@example.com', shoe: 43 })
      expect(answer.status).toBe(400)
      expect(answer.body.errors.map((error: { path: string }) => error.path).sort()).toEqual([
        'password',
        'shoe',
      ])
    })
  })

  describe('guessing passwords', () => {
    it('is 429 with Retry-After after 5 failures in a row, for the right password too', async () => {
      const person = await addPerson(server, owner)
      for (let round = 0; round < 5; round++) {
        expect((await login(person.email, `guess number ${round}`)).status).toBe(401)
      }
      const refused = await login(person.email.toUpperCase(), PASSWORD)
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30)
    })

    it('by strangers closes an account for them, not for whoever comes from where it has signed in before', async () => {
      const person = await addPerson(server, owner)
      const from = (address: string, password: string) =>
        stranger.post('/auth/login', { email: person.email, password }, { 'x-forwarded-for': address })
      expect((await from('198.51.100.1', PASSWORD)).status).toBe(200)
      for (const guess of [1, 2, 3, 4, 5]) await from('203.0.113.9', `guess number ${guess}`)
      for (const address of ['203.0.113.9', '203.0.113.10'])
        expect((await from(address, PASSWORD)).status).toBe(429)
      expect((await from('198.51.100.1', PASSWORD)).status).toBe(200)
      // That success unlocks nothing for strangers.
      expect((await from('203.0.113.9', PASSWORD)).status).toBe(429)
      // A known address has its own attempts, but no more than others.
      const statuses: number[] = []
      for (const guess of [1, 2, 3, 4, 5, 6])
        statuses.push((await from('198.51.100.1', `guess ${guess}`)).status)
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
      expect((await from('198.51.100.1', PASSWORD)).status).toBe(429)
    })

    it('at codes of a second factor from many addresses is five guesses, however many sign-ins were begun before', async () => {
      const person = await addPerson(server, owner)
      const { recoveryCodes } = await addSecondFactor(person.client)
      const from = (at: number, path: string, body: object) =>
        stranger.post(path, body, { 'x-forwarded-for': `203.0.113.${at}` })
      const account = { email: person.email, password: PASSWORD }
      const challenges: string[] = []
      for (let at = 0; at < 7; at++) challenges.push((await from(at, '/auth/login', account)).body.challenge)
      const told: string[] = []
      for (const [at, challenge] of challenges.entries())
        told.push((await from(at, '/auth/login/totp', { challenge, code: '000000' })).body.code)
      expect(told).toEqual([...Array(5).fill('wrong-code'), ...Array(2).fill('too-many-attempts')])
      // Whoever comes from where the account has signed in before gets in, which unlocks nothing for the others.
      const own = await challengeFor(server, account)
      expect((await sendCode(server, own, recoveryCodes[0] as string)).status).toBe(200)
      expect((await from(99, '/auth/login', account)).status).toBe(429)
    })

    it('is counted for an address of nobody alike', async () => {
      const email = newEmail('nobody')
      const statuses: number[] = []
      for (let round = 0; round < 6; round++) statuses.push((await login(email, 'a guess of it')).status)
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
    })

    it('starts from nothing after a success', async () => {
      const person = await addPerson(server, owner)
      for (const _round of [1, 2]) {
        for (let guess = 0; guess < 4; guess++) await login(person.email, 'not the password')
        expect((await login(person.email, PASSWORD)).status).toBe(200)
      }
    })

    it('side by side gains nothing: at most 5 of 12 are looked at', async () => {
      const person = await addPerson(server, owner)
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, round) => login(person.email, `guess number ${round}`)),
      )
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(7)
    })

    it('signing in side by side with the right password is no guessing', async () => {
      const person = await addPerson(server, owner)
      const answers = await Promise.all(Array.from({ length: 6 }, () => login(person.email, PASSWORD)))
      expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200))
    })

    it('is 429 for an address of the network after 100 failures, whichever accounts they were for', async () => {
      const address = '198.51.100.77'
      const from = (body: object) => stranger.post('/auth/login', body, { 'x-forwarded-for': address })
      const guess = () => from({ email: newEmail(), password: 'not the password' })
      let left = 100
      const fail = async () => {
        expect((await guess()).status).toBe(401)
        left--
      }
      for (const _round of [1, 2, 3]) await fail()
      if (database.url) {
        // Each failure takes a hash. PGlite is one session, which the server has.
        const db = await openTestDatabase(database)
        const counted = await db.system.query(
          'UPDATE login_failures SET failures = failures + $2 WHERE key = $1 AND failures = 3 RETURNING key',
          [`address:${address}`, left - 3],
        )
        await db.close()
        expect(counted).toHaveLength(1)
        left = 3
      }
      while (left > 0) await fail()
      expect((await guess()).status).toBe(429)
      expect((await from(OWNER)).status).toBe(429)
    })
  })

  describe('switching', () => {
    it('specification 5.1: answers a new token, and the old one is denied at once', async () => {
      const person = await addPerson(server, owner, { role: 'Admin' })
      const { organizationId: home } = (await person.client.get('/user')).body.data
      const made = await addOrganization(server, person.client)
      const answer = await made.client.post('/auth/switch-organization', { organizationId: home })
      expect(answer.status).toBe(200)
      expect(answer.body).toMatchObject({
        status: true,
        expires_in: 28800,
        data: { organizationId: home, email: person.email },
      })
      expect((await made.client.get('/user')).status).toBe(401)
      const now = createClient(server, answer.body.token)
      expect((await now.get('/user')).body.data.organizationId).toBe(home)
      const entries = (await now.get('/auth/my-organizations')).body.data
      expect(entries.filter((entry: { isCurrent: boolean }) => entry.isCurrent)).toMatchObject([
        { organizationId: home },
      ])
    })

    it('to the current organization is a new token too', async () => {
      const person = await addPerson(server, owner)
      const { organizationId } = (await person.client.get('/user')).body.data
      const answer = await person.client.post('/auth/switch-organization', { organizationId })
      expect(answer.status).toBe(200)
      expect((await person.client.get('/user')).status).toBe(401)
    })

    it('to one where it is no active member is 404, and the old token lives', async () => {
      const person = await addPerson(server, owner)
      const other = await addOrganization(server, (await addPerson(server, owner, { role: 'Admin' })).client)
      for (const organizationId of [other.organizationId, 'nonsense', '']) {
        const answer = await person.client.post('/auth/switch-organization', { organizationId })
        expect(answer.status).toBe(404)
      }
      expect((await person.client.get('/user')).status).toBe(200)
    })

    it('closes a live socket of the old token with 4401 as soon as it is told', async () => {
      const person = await addPerson(server, owner)
      const { organizationId } = (await person.client.get('/user')).body.data
      const screen = await openScreen(server, person.client.token)
      await untilTold(async () => {
        await person.client.post('/auth/switch-organization', { organizationId })
        expect((await screen.closed).code).toBe(4401)
      })
    })

    it('of two switches with one token at once, one succeeds and the other is 401', async () => {
      for (const _round of [1, 2]) {
        const person = await addPerson(server, owner)
        const { organizationId } = (await person.client.get('/user')).body.data
        const answers = await Promise.all(
          [1, 2].map(() => person.client.post('/auth/switch-organization', { organizationId })),
        )
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
      }
    })
  })

  describe('tokens', () => {
    const key = createSecretKey(Buffer.from('a secret of thirty-two characters'))

    it.each([
      ['none', ''],
      ['garbage', 'garbage'],
      ['alg none', `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`],
    ])('%s is 401', async (_name, token) => {
      expect((await createClient(server, token).get('/user')).status).toBe(401)
    })

    it.runIf(usualKind() === 'postgres')(
      'forged, expired, or signed with another algorithm is 401',
      async () => {
        const [, payload = ''] = owner.token.split('.')
        const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
        const sign = (alg: string, change: object, secret = key) =>
          new SignJWT({ ...claims, ...change }).setProtectedHeader({ alg }).sign(secret)
        expect((await createClient(server, await sign('HS256', {})).get('/user')).status).toBe(200)
        const other = createSecretKey(Buffer.from('another secret of thirty-two characters'))
        const tokens = [
          await sign('HS256', {}, other),
          await sign('HS512', {}),
          await sign('HS256', { exp: Math.floor(Date.now() / 1000) - 1 }),
          await sign('HS256', { org: crypto.randomUUID() }),
          await sign('HS256', { sub: crypto.randomUUID() }),
          await sign('HS256', { jti: crypto.randomUUID() }),
        ]
        for (const token of tokens) {
          expect((await createClient(server, token).get('/user')).status).toBe(401)
        }
      },
    )

    it('live for 8 hours', () => {
      const [, payload = ''] = owner.token.split('.')
      const { iat, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString())
      expect(exp - iat).toBe(28800)
    })
  })
})
