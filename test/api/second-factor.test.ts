import { describe, expect, it } from 'vitest'
import {
  digestRecoveryCode,
  newFactorSecret,
  newRecoveryCodes,
  readCode,
  stepOf,
} from '../../src/resources/second-factor/totp.ts'
import { createClient, signIn } from '../support/client.ts'
import { addOrganization, addPerson, PASSWORD, roleId } from '../support/people.ts'
import { addSecondFactor, challengeFor, codeOf, STEP_MS, sendCode } from '../support/second-factor.ts'
import { useOrganization } from '../support/shared-server.ts'

describe('A code of an app', () => {
  it('counts in its step of 30 seconds and in the next one, and at no clock that is a minute off', () => {
    const secret = newFactorSecret()
    for (const offset of [0, 1, STEP_MS / 2, STEP_MS - 1]) {
      const at = 1_800_000_000_000 + offset
      const step = 1_800_000_000_000 / STEP_MS
      const taken = [-3, -2, -1, 0, 1, 2, 3].map(steps => stepOf(secret, codeOf(secret, steps, at), at))
      expect(taken).toEqual([null, null, step - 1, step, null, null, null])
    }
  })

  it('is read as people type and paste it, and a recovery code too', () => {
    expect(readCode(' 123 456 ')).toEqual({ kind: 'totp', code: '123456' })
    const [recovery = ''] = newRecoveryCodes()
    expect(recovery).toMatch(/^([a-z\d]{4}-){5}[a-z\d]{4}$/)
    for (const typed of [recovery, recovery.toUpperCase(), recovery.replaceAll('-', ' '), ` ${recovery}`]) {
      expect(readCode(typed).kind).toBe('recovery')
      expect(digestRecoveryCode(typed)).toEqual(digestRecoveryCode(recovery))
    }
  })
})

describe('A second factor', () => {
  const { server, owner, organization } = useOrganization()
  const stranger = createClient(server, '')
  const self = async (client: typeof owner) => (await client.get('/user')).body.data.secondFactor

  it('is set up with a secret that an app reads, and answers ten recovery codes once', async () => {
    const { client, email } = await addPerson(server, owner)
    expect(await self(client)).toEqual({ isOn: false, recoveryCodesLeft: 0 })
    const { secret, uri } = (await client.post('/auth/totp')).body.data
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    const url = new URL(uri)
    expect([url.protocol, url.host]).toEqual(['otpauth:', 'totp'])
    expect(decodeURIComponent(url.pathname)).toBe(`/Fieldline:${email}`)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      ...{ issuer: 'Fieldline', secret, algorithm: 'SHA1', digits: '6', period: '30' },
    })
    // It counts once it is confirmed.
    await signIn(server, { email, password: PASSWORD })
    const { recoveryCodes } = await addSecondFactor(client)
    expect(new Set(recoveryCodes).size).toBe(10)
    expect(await self(client)).toEqual({ isOn: true, recoveryCodesLeft: 10 })
    for (const path of ['/auth/totp', '/auth/totp/confirm'])
      expect((await client.post(path, path === '/auth/totp' ? {} : { code: '000000' })).status).toBe(409)
  })

  it('asks for a code after the password, and then answers what signing in does', async () => {
    const { client, email } = await addPerson(server, owner)
    const { secret } = await addSecondFactor(client)
    const first = await stranger.post('/auth/login', { email, password: PASSWORD })
    expect([first.status, first.body.code]).toEqual([401, 'totp-required'])
    expect(first.body).not.toHaveProperty('token')
    const answer = await sendCode(server, first.body.challenge, codeOf(secret))
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      ...{ expires_in: 28_800, isHubSet: true, data: { email, organizationId: organization.organizationId } },
      organizations: [{ organizationId: organization.organizationId, isCurrent: true }],
    })
    expect((await createClient(server, answer.body.token).get('/user')).status).toBe(200)
    const wrong = await stranger.post('/auth/login', { email, password: 'not the password' })
    expect([wrong.status, wrong.body.code]).toEqual([401, 'wrong-credentials'])
  })

  it('leads to the organization that the sign-in named, and to none that the account is not in', async () => {
    const { client, email } = await addPerson(server, owner, { role: 'Admin' })
    const other = await addOrganization(server, client)
    const { recoveryCodes } = await addSecondFactor(other.client)
    const enter = async (organizationId?: string) => {
      const challenge = await challengeFor(server, { email, password: PASSWORD, organizationId })
      return sendCode(server, challenge, recoveryCodes.pop() as string)
    }
    const { organizationId } = organization
    expect((await enter(organizationId)).body.data).toMatchObject({ organizationId })
    expect((await enter()).body.data).toMatchObject({ organizationId })
    const there = await enter(other.organizationId)
    expect(there.body.data.organizationId).toBe(other.organizationId)
    expect((await enter(crypto.randomUUID())).status).toBe(404)
    expect(
      (await stranger.post('/auth/login', { email, password: PASSWORD, organizationId: 'x' })).status,
    ).toBe(404)
  })

  it('takes each recovery code once', async () => {
    const { client, email } = await addPerson(server, owner)
    const { recoveryCodes } = await addSecondFactor(client)
    const [first = '', second = ''] = recoveryCodes
    const enter = async (code: string) =>
      (await sendCode(server, await challengeFor(server, { email, password: PASSWORD }), code)).status
    expect(await enter(first.toUpperCase())).toBe(200)
    expect(await enter(first)).toBe(401)
    expect(await enter(second)).toBe(200)
    expect(await self(client)).toEqual({ isOn: true, recoveryCodesLeft: 8 })
  })

  it('is removed with the password and a code alone, and then signing in takes the password', async () => {
    const { client, email } = await addPerson(server, owner)
    expect((await client.delete('/auth/totp', { password: PASSWORD, code: '123456' })).status).toBe(409)
    const { secret, recoveryCodes } = await addSecondFactor(client)
    const waiting = await challengeFor(server, { email, password: PASSWORD })
    const refused = async (body: object, path: string) => {
      const answer = await client.delete('/auth/totp', body)
      expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([400, path])
    }
    await refused({ password: 'not the password', code: codeOf(secret) }, 'password')
    await refused({ password: PASSWORD, code: codeOf(secret, -2) }, 'code')
    await refused({ password: PASSWORD }, 'code')
    const elsewhere = await sendCode(
      server,
      await challengeFor(server, { email, password: PASSWORD }),
      codeOf(secret),
    )
    const removed = await client.delete('/auth/totp', { password: PASSWORD, code: recoveryCodes[0] })
    expect(removed.status).toBe(200)
    expect((await createClient(server, elsewhere.body.token).get('/user')).status).toBe(401)
    expect(await self(client)).toEqual({ isOn: false, recoveryCodesLeft: 0 })
    await signIn(server, { email, password: PASSWORD })
    const late = await sendCode(server, waiting, recoveryCodes[1] as string)
    expect([late.status, late.body.code]).toEqual([401, 'challenge-ended'])
    const entries = (await owner.get(`/audit-log?resource=user&limit=500`)).body.data
    const actions = entries.map(({ action }: { action: string }) => action)
    expect(actions).toEqual(expect.arrayContaining(['add-second-factor', 'remove-second-factor']))
  })

  it('is asked for where an account accepts an invitation with its password', async () => {
    const { client, email } = await addPerson(server, owner, { role: 'Admin' })
    const { recoveryCodes } = await addSecondFactor(client)
    const { client: founder } = await addPerson(server, owner, { role: 'Admin' })
    const other = await addOrganization(server, founder)
    const invited = await other.client.post('/users/invite', {
      ...{ email, name: 'As invited', roleId: await roleId(other.client, 'Planner') },
    })
    const { token } = invited.body.data.invitation
    const accept = () => stranger.post('/auth/accept-invitation', { token, name: 'Me', password: PASSWORD })
    const asked = await accept()
    expect([asked.status, asked.body.code]).toEqual([401, 'totp-required'])
    expect((await other.client.get(`/user/${invited.body.data._id}`)).body.data.status).toBe('invited')
    expect((await sendCode(server, asked.body.challenge, '000000')).body.code).toBe('wrong-code')
    const joined = await sendCode(server, asked.body.challenge, recoveryCodes[0] as string)
    expect(joined.body.data).toMatchObject({ organizationId: other.organizationId, name: 'Me' })
    expect((await other.client.get(`/user/${invited.body.data._id}`)).body.data.status).toBe('active')
    expect((await accept()).status).toBe(404)
  })

  it('needs a password: an API key and a stranger set up none', async () => {
    for (const path of ['/auth/totp', '/auth/totp/confirm'])
      expect((await stranger.post(path, { code: '123456' })).status).toBe(401)
    const body = { name: 'Program', roleId: await roleId(owner, 'Owner'), hubId: [], expiresAt: null }
    const { key } = (await owner.post('/api-key', body)).body.data
    expect((await createClient(server, key).post('/auth/totp')).status).toBe(403)
    expect((await sendCode(server, 'no challenge', '123456')).body.code).toBe('challenge-ended')
  })
})
