import { describe, expect, it } from 'vitest'
import { createClient } from '../support/client.ts'
import { addOrganization, addPerson, PASSWORD } from '../support/people.ts'
import { addSecondFactor, challengeFor, codeOf, STEP_MS, sendCode } from '../support/second-factor.ts'
import { useOrganization } from '../support/shared-server.ts'

const WRONG = '000000'

describe('A second factor holds where', () => {
  const { server, owner } = useOrganization()
  const stranger = createClient(server, '')

  const addSecured = async () => {
    const person = await addPerson(server, owner)
    return { ...person, ...(await addSecondFactor(person.client)) }
  }
  const challenge = ({ email }: { email: string }) => challengeFor(server, { email, password: PASSWORD })

  it('a code is used again: it counts once, also by two sign-ins at once', async () => {
    const person = await addSecured()
    const challenges = [await challenge(person), await challenge(person), await challenge(person)]
    const code = codeOf(person.secret)
    const answers = await Promise.all(challenges.map(one => sendCode(server, one, code)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401])
    const [again] = [await sendCode(server, await challenge(person), code)]
    expect(again?.body.code).toBe('wrong-code')
  })

  it('a challenge is used twice at once, with two codes that both count', async () => {
    const person = await addSecured()
    const one = await challenge(person)
    const codes = person.recoveryCodes.slice(0, 4)
    const answers = await Promise.all(codes.map(code => sendCode(server, one, code)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  it('a code is one step old: it counts; two steps old: it does not', async () => {
    for (;;) {
      const person = await addSecured()
      const step = () => Math.floor(Date.now() / STEP_MS)
      const begun = step()
      const [old, older] = [codeOf(person.secret, 0), codeOf(person.secret, -2)]
      const refused = await sendCode(server, await challenge(person), older)
      expect(refused.body.code).toBe('wrong-code')
      const taken = await sendCode(server, await challenge(person), old)
      // The step may have ended twice on a busy machine.
      if (step() - begun > 1) continue
      expect(taken.status).toBe(200)
      return
    }
  })

  it('codes are guessed: five wrong ones end the challenge, and close the account as wrong passwords do', async () => {
    const person = await addSecured()
    const one = await challenge(person)
    for (let guess = 0; guess < 5; guess++)
      expect((await sendCode(server, one, WRONG)).body.code).toBe('wrong-code')
    const ended = await sendCode(server, one, person.recoveryCodes[0] as string)
    expect([ended.status, ended.body.code]).toEqual([401, 'challenge-ended'])
    const login = await stranger.post('/auth/login', { email: person.email, password: PASSWORD })
    expect([login.status, login.body.code]).toEqual([429, 'too-many-attempts'])
    expect(Number(login.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('somebody knows the password: it gives no further guesses at the codes', async () => {
    const person = await addSecured()
    const statuses: number[] = []
    for (let guess = 0; guess < 6; guess++) {
      const login = await stranger.post('/auth/login', { email: person.email, password: PASSWORD })
      statuses.push(login.status === 429 ? 429 : (await sendCode(server, login.body.challenge, WRONG)).status)
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })

  it('guesses come all at once: five codes are looked at', async () => {
    const person = await addSecured()
    const challenges = await Promise.all(Array.from({ length: 4 }, () => challenge(person)))
    const guesses = challenges.flatMap(one => Array.from({ length: 4 }, () => one))
    const answers = await Promise.all(guesses.map(one => sendCode(server, one, WRONG)))
    const looked = answers.filter(({ body }) => body.code === 'wrong-code')
    expect(looked.length).toBeLessThanOrEqual(5)
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(10)
    // The right one, in the middle of guesses, is refused as well.
    expect((await sendCode(server, challenges[0] as string, codeOf(person.secret))).status).not.toBe(200)
  })

  it('guesses at removing it count as well', async () => {
    const person = await addSecured()
    const remove = (code: string) => person.client.delete('/auth/totp', { password: PASSWORD, code })
    for (let guess = 0; guess < 5; guess++) expect((await remove(WRONG)).status).toBe(400)
    expect((await remove(person.recoveryCodes[0] as string)).status).toBe(429)
  })

  it('a challenge of another account is used: each takes the codes of its own account', async () => {
    const [mine, other] = [await addSecured(), await addSecured()]
    const ofOther = await challenge(other)
    for (const code of [codeOf(mine.secret), mine.recoveryCodes[0] as string])
      expect((await sendCode(server, ofOther, code)).body.code).toBe('wrong-code')
    expect((await sendCode(server, ofOther, codeOf(other.secret))).status).toBe(200)
  })

  it('the password changes before the code comes: the challenge has ended', async () => {
    const changed = await addSecured()
    const one = await challenge(changed)
    const next = { currentPassword: PASSWORD, newPassword: 'the next password of mine' }
    expect((await changed.client.post('/auth/change-password', next)).status).toBe(200)
    expect((await sendCode(server, one, changed.recoveryCodes[0] as string)).body.code).toBe(
      'challenge-ended',
    )

    const reset = await addSecured()
    const two = await challenge(reset)
    const body = { newPassword: 'a password of the administrator' }
    expect((await owner.post(`/user/${reset.userId}/reset-password`, body)).status).toBe(200)
    expect((await sendCode(server, two, reset.recoveryCodes[0] as string)).body.code).toBe('challenge-ended')
  })

  it('the user is suspended before the code comes: it opens nothing', async () => {
    const person = await addSecured()
    const one = await challenge(person)
    await owner.patch(`/user/${person.userId}`, { status: 'suspended' })
    const answer = await sendCode(server, one, person.recoveryCodes[0] as string)
    expect([answer.status, answer.body.code]).toEqual([403, 'no-organization'])
  })

  it('a sign-in is under way while it is set up: no session without a code comes after', async () => {
    const person = await addPerson(server, owner)
    const logins = Array.from({ length: 6 }, () =>
      stranger.post('/auth/login', { email: person.email, password: PASSWORD }),
    )
    await addSecondFactor(person.client)
    await Promise.all(logins)
    const after = await stranger.post('/auth/login', { email: person.email, password: PASSWORD })
    expect(after.body.code).toBe('totp-required')
  })

  it('somebody is signed in with the password when it is set up: that session has ended, the other tabs go on', async () => {
    const person = await addPerson(server, owner, { role: 'Admin' })
    const thief = await stranger.post('/auth/login', { email: person.email, password: PASSWORD })
    const { organizationId } = thief.body.data
    const made = await addOrganization(server, person.client)
    const tab = await made.client.post('/auth/open-organization', { organizationId })
    await addSecondFactor(made.client)
    const statuses = [thief.body.token, tab.body.token, made.client.token].map(
      async token => (await createClient(server, token).get('/user')).status,
    )
    expect(await Promise.all(statuses)).toEqual([401, 200, 200])
  })
})
