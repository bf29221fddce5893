import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { mailEnv, tokenOf } from '../support/mail.ts'
import { newEmail, type Person } from '../support/people.ts'
import { addSecondFactor, sendCode } from '../support/second-factor.ts'
import { OWNER, openServer, type Server } from '../support/server.ts'
import { useOrganization } from '../support/shared-server.ts'
import { startSmtp, type TestSmtp } from '../support/smtp.ts'
import { until } from '../support/wait.ts'

const NEW_PASSWORD = 'a new and better password'
const PASSWORD = 'the password before that'

/** Reads and changes the database beside the server, which PGlite does not allow. */
describe.runIf(usualKind() === 'postgres')('A forgotten password', () => {
  let smtp: TestSmtp
  let database: TestDatabase
  let server: Server
  let db: Database
  let owner: Client
  let stranger: Client

  beforeAll(async () => {
    smtp = await startSmtp()
    database = await createTestDatabase('postgres')
    // Behind a proxy, so that tests have addresses of their own.
    const more = { TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_PER_MINUTE: '0', ALLOW_SIGNUP: 'true' }
    server = await openServer(database, { ...mailEnv(smtp), ...more })
    db = await openTestDatabase(database)
    owner = await signIn(server)
    stranger = createClient(server, '')
  })
  afterAll(async () => {
    await server.stop()
    await smtp.close()
    await db.close()
    await database.remove()
  })

  let network = 0
  /** Asks from a network of its own, unless one is given. */
  const forget = (email: string, headers: Record<string, string> = {}) =>
    stranger.post(
      '/auth/forgot-password',
      { email },
      { 'x-forwarded-for': `198.18.0.${++network}`, ...headers },
    )
  const choose = (token: string, password = NEW_PASSWORD) =>
    stranger.post('/auth/reset-forgotten-password', { token, password })
  const login = (email: string, password: string) => stranger.post('/auth/login', { email, password })
  const resetsTo = async (email: string, count = 1) => {
    const isReset = async () =>
      (await smtp.wait(email)).filter(({ text }) => text.includes('/reset-password#'))
    await until(`${count} links to ${email}`, async () => (await isReset()).length >= count)
    return (await isReset()).map(mail => ({ mail, token: tokenOf(mail, 'reset-password') }))
  }
  const untilQuiet = () =>
    until('no job waits', async () => {
      const left = await db.system.query(
        `SELECT FROM jobs WHERE status IN ('queued', 'running') AND kind IN ('forgotten-password', 'password-reset-mail')`,
      )
      return left.length === 0
    })

  /** Somebody who joined by a mailed invitation. */
  async function addMailedPerson(): Promise<Person> {
    const email = newEmail('forgetful')
    const { body } = await owner.get('/roles')
    const { _id: roleId } = body.data.find((role: { name: string }) => role.name === 'Planner')
    expect((await owner.post('/users/invite', { email, name: 'Person', roleId })).status).toBe(201)
    const [mail] = await smtp.wait(email)
    const token = tokenOf(mail as never, 'invitation')
    const accepted = await stranger.post('/auth/accept-invitation', {
      token,
      name: 'Person',
      password: PASSWORD,
    })
    const { _id: userId } = accepted.body.data
    return { client: createClient(server, accepted.body.token), userId, email, password: PASSWORD }
  }

  it('is nobody’s to choose before the invitation of the address is accepted by its mail', async () => {
    const email = newEmail('invited')
    const { body } = await owner.get('/roles')
    const invited = await owner.post('/users/invite', { email, name: 'P', roleId: body.data[0]._id })
    expect(invited.status).toBe(201)
    const organization = { organizationName: 'Squatters', hubName: 'Hub', hubLat: 1, hubLng: 2 }
    const register = (email: string) =>
      stranger.post('/auth/register', { name: 'Eve', email, password: PASSWORD, ...organization })
    const refused = await register(email)
    expect([refused.status, refused.body.code]).toEqual([409, 'not-unique'])
    expect((await register(newEmail('eve'))).status).toBe(201)
  })

  it('shows nobody by a public figure that an address has an account', async () => {
    await db.system.query(
      `INSERT INTO jobs (id, kind, status, finished_at) SELECT gen_random_uuid(), kind, 'failed', now()
       FROM unnest(ARRAY['password-reset-mail', 'some-other']) AS kind`,
    )
    let figures = ''
    await until('the figures are read again', async () => {
      figures = await (await fetch(`${server.url}/metrics`)).text()
      return figures.includes('fieldline_jobs_failed{kind="some-other"} 1')
    })
    expect(figures).not.toContain('password-reset-mail')
    await db.system.query(
      `DELETE FROM jobs WHERE kind = 'some-other' OR kind = 'password-reset-mail' AND status = 'failed'`,
    )
  })

  it('is replaced by a link in a mail, once, which ends every session', async () => {
    const { email, client } = await addMailedPerson()
    const second = await signIn(server, { email, password: PASSWORD })
    expect((await forget(email.toUpperCase())).status).toBe(200)
    const [link] = await resetsTo(email)
    expect(link?.mail.headers.get('subject')).toBe('Choose a new password')
    expect(link?.mail.html).toContain(`https://fleet.example.com/reset-password#${link?.token}`)
    const short = await choose(link?.token as string, 'short')
    expect([short.status, short.body.errors[0].path]).toEqual([400, 'password'])
    expect((await choose(link?.token as string)).status).toBe(200)
    for (const session of [client, second]) expect((await session.get('/user')).status).toBe(401)
    expect((await login(email, PASSWORD)).status).toBe(401)
    expect((await login(email, NEW_PASSWORD)).status).toBe(200)
    const again = await choose(link?.token as string, 'yet another password')
    expect([again.status, again.body.code]).toEqual([404, 'not-found'])
  })

  it('is replaced once, if the link is used twice at the same moment', async () => {
    const { email } = await addMailedPerson()
    await forget(email)
    const [link] = await resetsTo(email)
    const answers = await Promise.all(
      [1, 2, 3].map(n => choose(link?.token as string, `${NEW_PASSWORD} ${n}`)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404])
  })

  it('has links that each work, until one is used or the password changes in another way', async () => {
    const { email, client } = await addMailedPerson()
    await forget(email)
    await resetsTo(email)
    await forget(email)
    const [first, second] = await resetsTo(email, 2)
    expect((await choose(first?.token as string)).status).toBe(200)
    expect((await choose(second?.token as string)).status).toBe(404)
    await forget(email)
    const [, , third] = await resetsTo(email, 3)
    const own = await signIn(server, { email, password: NEW_PASSWORD })
    const change = { currentPassword: NEW_PASSWORD, newPassword: PASSWORD }
    expect((await own.post('/auth/change-password', change)).status).toBe(200)
    expect((await choose(third?.token as string)).status).toBe(404)
    expect(client.token).not.toBe('')
  })

  it('has links that end an hour after their mail', async () => {
    const { email } = await addMailedPerson()
    await forget(email)
    const [link] = await resetsTo(email)
    const [row] = await db.system.query<{ minutes: number }>(
      `SELECT (extract(epoch FROM expires_at - now()) / 60)::float8 AS minutes FROM password_resets r
       JOIN accounts a ON a.id = r.account_id WHERE a.email = $1`,
      [email],
    )
    expect(row?.minutes).toBeGreaterThan(50)
    expect(row?.minutes).toBeLessThanOrEqual(60)
    await db.system.query(
      `UPDATE password_resets SET expires_at = now() WHERE account_id = (SELECT id FROM accounts WHERE email = $1)`,
      [email],
    )
    expect((await choose(link?.token as string)).status).toBe(404)
  })

  it('is mailed to accounts with a password alone, and typed addresses are kept nowhere', async () => {
    const known = await addMailedPerson()
    const invited = newEmail('invited')
    const roleId = (await owner.get('/roles')).body.data[0]._id
    await owner.post('/users/invite', { email: invited, name: 'Guest', roleId })
    await smtp.wait(invited)
    for (const email of [known.email, newEmail('unknown'), invited])
      expect((await forget(email)).status).toBe(200)
    await resetsTo(known.email)
    await untilQuiet()
    expect(smtp.mails.filter(({ to }) => to[0]?.startsWith('unknown'))).toEqual([])
    expect(await smtp.wait(invited)).toHaveLength(1)
    // Each of these jobs takes those before it away.
    await forget(newEmail('another'))
    await untilQuiet()
    expect(await db.system.query(`SELECT FROM jobs WHERE payload::text LIKE '%unknown%'`)).toEqual([])
  })

  it('fills no mailbox: three mails an hour, and the last link stays good', async () => {
    const { email } = await addMailedPerson()
    for (let n = 0; n < 5; n++) expect((await forget(email)).status).toBe(200)
    await untilQuiet()
    const links = await resetsTo(email, 3)
    expect(links).toHaveLength(3)
    expect((await choose(links.at(-1)?.token as string)).status).toBe(200)
  })

  it('is asked for at most thirty times an hour from one network, whichever addresses are named', async () => {
    const from = { 'x-forwarded-for': '203.0.113.7' }
    const answers = []
    for (let n = 0; n < 31; n++) answers.push(await forget(newEmail(), from))
    expect(answers.slice(0, 30).every(({ status }) => status === 200)).toBe(true)
    expect([answers[30]?.status, answers[30]?.body.code]).toEqual([429, 'rate-limited'])
    expect(Number(answers[30]?.headers.get('retry-after'))).toBeGreaterThan(60)
    expect((await forget(newEmail())).status).toBe(200)
  })

  it('is mailed in the language that the reader’s browser prefers', async () => {
    const { email } = await addMailedPerson()
    await forget(email, { 'accept-language': 'fr, de-CH;q=0.8, en;q=0.5' })
    const [link] = await resetsTo(email)
    expect(link?.mail.headers.get('subject')).toBe('Neues Passwort wählen')
    expect(link?.mail.text).toContain('60 Minuten')
  })

  it('has links to the configured address, whatever the request says the host is', async () => {
    const { email } = await addMailedPerson()
    const lies = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' }
    expect((await forget(email, lies)).status).toBe(200)
    const [link] = await resetsTo(email)
    expect(link?.mail.text + (link?.mail.html ?? '')).not.toContain('evil.example')
  })

  it('is in the audit log of every organization of the account, without the token; sign-in is unlocked', async () => {
    const { email, userId } = await addMailedPerson()
    for (let n = 0; n < 6; n++) await login(email, 'a wrong password')
    expect((await login(email, PASSWORD)).status).toBe(429)
    await forget(email)
    const [link] = await resetsTo(email)
    const token = link?.token as string
    // That it was sent is written after it has come, and not once its link is used.
    await untilQuiet()
    expect((await choose(token)).status).toBe(200)
    expect((await login(email, NEW_PASSWORD)).status).toBe(200)
    const { body } = await owner.get(`/audit-log?resourceId=${userId}&limit=500`)
    const actions = body.data.map(({ action }: { action: string }) => action)
    expect(actions).toEqual(
      expect.arrayContaining(['forgot-password', 'send-mail', 'reset-forgotten-password']),
    )
    expect(JSON.stringify(body)).not.toContain(token)
    expect(server.output.stderr).not.toContain(token)
    const tables = await db.system.query<{ name: string }>(
      `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
    )
    for (const { name } of tables) {
      const rows = await db.system.query(`SELECT FROM ${name} AS t WHERE strpos(t::text, $1) > 0 LIMIT 1`, [
        token,
      ])
      expect([name, rows.length]).toEqual([name, 0])
    }
  })

  it('gives no further guesses at the codes of a second factor', async () => {
    const { email, client } = await addMailedPerson()
    await addSecondFactor(client)
    const { challenge } = (await login(email, PASSWORD)).body
    for (let n = 0; n < 5; n++) expect((await sendCode(server, challenge, '000000')).status).toBe(401)
    await forget(email)
    const [link] = await resetsTo(email)
    expect((await choose(link?.token as string)).status).toBe(200)
    expect((await login(email, NEW_PASSWORD)).status).toBe(429)
  })

  it('is offered by the sign-in page where the server sends mail', async () => {
    expect((await stranger.get('/auth/methods')).body.data).toMatchObject({ forgotPassword: true })
  })
})

/** Without background work, what is left behind is what the request has done itself. */
describe.runIf(usualKind() === 'postgres')('Asking about a forgotten password', () => {
  it('is answered alike for every address, after the same work', async () => {
    const database = await createTestDatabase('postgres')
    const env = {
      SMTP_URL: 'smtp://127.0.0.1:1',
      MAIL_FROM: 'fleet@example.com',
      PUBLIC_URL: 'https://x.example',
    }
    const server = await openServer(database, { ...env, ROLES: 'api' })
    const db = await openTestDatabase(database)
    const invited = newEmail('invited')
    const owner = await signIn(server)
    const roleId = (await owner.get('/roles')).body.data[0]._id
    expect((await owner.post('/users/invite', { email: invited, name: 'Guest', roleId })).status).toBe(201)
    const ask = async (email: string) => {
      await db.system.query('DELETE FROM jobs')
      const answer = await createClient(server, '').post('/auth/forgot-password', { email })
      const { requestId: _, ...said } = answer.body
      const names = ['content-length', 'content-type', 'cache-control'].map(name => answer.headers.get(name))
      const left = await db.system.query(
        `SELECT kind, status, unique_key, organization_id, root, attempts, result,
           (SELECT json_agg(key ORDER BY key) FROM jsonb_object_keys(payload) AS key) AS keys FROM jobs`,
      )
      const resets = await db.system.query('SELECT FROM password_resets')
      return { status: answer.status, said, names, left, resets: resets.length }
    }
    const [first, ...others] = [await ask(OWNER.email), await ask(newEmail('unknown')), await ask(invited)]
    expect(first).toMatchObject({ status: 200, left: [{ kind: 'forgotten-password' }], resets: 0 })
    for (const other of others) expect(other).toEqual(first)
    await db.close()
    await server.stop()
    await database.remove()
  })
})

describe('Without mail', () => {
  const { server } = useOrganization()

  it('a forgotten password cannot be asked for, and the sign-in page does not offer it', async () => {
    const stranger = createClient(server, '')
    const answer = await stranger.post('/auth/forgot-password', { email: newEmail() })
    expect([answer.status, answer.body.code]).toEqual([404, 'not-found'])
    expect((await stranger.get('/auth/methods')).body.data).toEqual({
      password: true,
      forgotPassword: false,
      oidc: null,
      signUp: false,
    })
    expect(
      (await stranger.post('/auth/reset-forgotten-password', { token: 'x', password: PASSWORD })).status,
    ).toBe(404)
  })
})
