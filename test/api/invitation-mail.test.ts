import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { createSealedTokens } from '../../src/mail/tokens.ts'
import { type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { mailEnv, tokenOf } from '../support/mail.ts'
import { addOrganization, addPerson, newEmail, PASSWORD, roleId } from '../support/people.ts'
import { openServer, type Server } from '../support/server.ts'
import { useOrganization } from '../support/shared-server.ts'
import { startSmtp, type TestSmtp } from '../support/smtp.ts'
import { until } from '../support/wait.ts'

const SECRET = 'a secret of thirty-two characters'

/** Reads and changes the database beside the server, which PGlite does not allow. */
describe.runIf(usualKind() === 'postgres')('Invitations by mail', () => {
  let smtp: TestSmtp
  let database: TestDatabase
  let server: Server
  let db: Database
  let owner: Client
  let stranger: Client
  /** The server's answers to these recipients, by the number of the attempt. */
  const refusals = new Map<string, (attempt: number) => { code: number; text: string } | null>()

  beforeAll(async () => {
    smtp = await startSmtp({ refuse: (to, attempt) => refusals.get(to)?.(attempt) ?? null })
    database = await createTestDatabase('postgres')
    server = await openServer(database, mailEnv(smtp))
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

  const invite = async (email: string, more: object = {}) =>
    owner.post('/users/invite', { email, name: 'Guest', roleId: await roleId(owner, 'Planner'), ...more })
  const accept = (token: string, password = PASSWORD) =>
    stranger.post('/auth/accept-invitation', { token, name: 'Anna', password })
  const showInvitation = async (userId: string) => (await owner.get(`/user/${userId}`)).body.data.invitation
  const untilMail = (userId: string, state: string) =>
    until(`its mail is ${state}`, async () => (await showInvitation(userId))?.mail === state)
  /** Has those run that were tried at most so often. */
  const hasten = (attempts = 100) =>
    db.system.query(
      `UPDATE jobs SET run_at = now() WHERE status = 'queued' AND kind LIKE '%-mail' AND attempts <= $1`,
      [attempts],
    )
  const auditOf = async (userId: string, action: string) =>
    (await owner.get(`/audit-log?resourceId=${userId}&action=${action}`)).body.data

  it('bring the link to the person alone: the inviter gets no token', async () => {
    const email = newEmail('anna')
    const invited = await invite(email)
    expect(invited.status).toBe(201)
    expect(invited.body.data.invitation).toEqual({ expiresAt: expect.any(String), mail: 'waiting' })
    const [mail] = await smtp.wait(email)
    const token = tokenOf(mail as never, 'invitation')
    expect(JSON.stringify(invited.body)).not.toContain(token)
    expect(mail?.headers.get('from')).toBe('Fleet <fleet@example.com>')
    expect(mail?.headers.get('subject')).toBe('Invitation to My organization')
    expect(mail?.headers.get('auto-submitted')).toBe('auto-generated')
    expect(mail?.text).toContain('Owner invites you to join “My organization” on Fieldline as Planner.')
    expect(mail?.html).toContain(`href="https://fleet.example.com/invitation#${token}"`)
    await untilMail(invited.body.data._id, 'sent')
    expect((await owner.get(`/users?search=${email}`)).body.data[0].invitation.mail).toBe('sent')
    const shown = await stranger.post('/auth/invitation', { token })
    expect(shown.body.data).toMatchObject({ email, hasAccount: false })
    expect((await accept(token)).status).toBe(200)
    expect(await showInvitation(invited.body.data._id)).toBeNull()
    expect((await accept(token)).status).toBe(404)
  })

  it('are seen in the audit log without their secret, which stands nowhere else either', async () => {
    const email = newEmail('bert')
    const { _id } = (await invite(email)).body.data
    const [mail] = await smtp.wait(email)
    await untilMail(_id, 'sent')
    const token = tokenOf(mail as never, 'invitation')
    const entries = await auditOf(_id, 'send-mail')
    expect(entries).toEqual([
      expect.objectContaining({
        userId: null,
        resource: 'user',
        changes: { mail: { to: 'invitation' }, attempts: { to: 1 } },
      }),
    ])
    const tables = await db.system.query<{ name: string }>(
      `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
    )
    for (const { name } of tables) {
      const rows = await db.system.query(`SELECT FROM ${name} AS t WHERE strpos(t::text, $1) > 0 LIMIT 1`, [
        token,
      ])
      expect([name, rows.length]).toEqual([name, 0])
    }
    expect(server.output.stderr + server.output.stdout).not.toContain(token)
    // The sealed token goes as soon as the mail has been handed over.
    expect(await db.system.query('SELECT FROM invitations WHERE sealed_token IS NOT NULL')).toEqual([])
  })

  it('are tried again when the server greylists, soon and with the same link and Message-ID', async () => {
    const email = newEmail('carla')
    refusals.set(email, attempt => (attempt < 3 ? { code: 451, text: '4.7.1 Greylisted, come back' } : null))
    const { _id } = (await invite(email)).body.data
    const delayed = () =>
      db.system.query<{ attempts: number; delay: number; error: string }>(
        `SELECT attempts, extract(epoch FROM run_at - clock_timestamp())::float8 AS delay, error FROM jobs
         WHERE kind = 'invitation-mail' AND status = 'queued' AND attempts > 0`,
      )
    let first: Awaited<ReturnType<typeof delayed>>[number] | undefined
    await until('the first attempt has failed', async () => {
      first = (await delayed())[0]
      return first !== undefined
    })
    expect(first).toMatchObject({ attempts: 1, error: expect.stringContaining('Greylisted') })
    expect(first?.delay).toBeLessThan(30)
    expect((await showInvitation(_id)).mail).toBe('waiting')
    // Where the machine has paused, the second attempt may be over, and the third is for later.
    await hasten(1)
    await until('the second attempt has failed', async () => (await delayed())[0]?.attempts === 2)
    await hasten()
    const mails = await smtp.wait(email)
    await untilMail(_id, 'sent')
    expect(mails).toHaveLength(1)
    expect((await auditOf(_id, 'send-mail'))[0].changes.attempts).toEqual({ to: 3 })
  })

  it('show that the server refuses the address for good, after one attempt', async () => {
    const email = newEmail('dora')
    refusals.set(email, () => ({ code: 550, text: '5.1.1 No such user' }))
    const { _id } = (await invite(email)).body.data
    await untilMail(_id, 'refused')
    expect(await auditOf(_id, 'fail-mail')).toHaveLength(1)
    expect(smtp.mails.some(({ to }) => to.includes(email))).toBe(false)
    // The administrator corrects it on the other side, and sends it again.
    refusals.delete(email)
    expect((await owner.post(`/user/${_id}/invitation`)).body.data.invitation).toEqual({
      expiresAt: expect.any(String),
      mail: 'waiting',
    })
    await smtp.wait(email)
    await untilMail(_id, 'sent')
  })

  it('that are renewed send the new link alone, also if the former mail still waits', async () => {
    const email = newEmail('emil')
    refusals.set(email, attempt => (attempt === 1 ? { code: 450, text: 'Later' } : null))
    const { _id } = (await invite(email)).body.data
    // It waits for longer, so that it is not tried again before the renewal where the machine pauses.
    const waiting = `UPDATE jobs SET run_at = now() + interval '1 hour'
      WHERE kind = 'invitation-mail' AND status = 'queued' AND attempts = 1 RETURNING id`
    await until('its mail waits', async () => (await db.system.query(waiting)).length === 1)
    expect((await owner.post(`/user/${_id}/invitation`)).status).toBe(200)
    await smtp.wait(email)
    await hasten()
    const queued = `SELECT FROM jobs WHERE kind = 'invitation-mail' AND status IN ('queued', 'running')`
    await until('nothing waits any more', async () => (await db.system.query(queued)).length === 0)
    const mails = await smtp.wait(email)
    expect(mails).toHaveLength(1)
    expect((await accept(tokenOf(mails[0] as never, 'invitation'))).status).toBe(200)
  })

  it('are sent again, as a twin that a receiver can drop, if the process died before it noted the answer', async () => {
    const email = newEmail('frieda')
    const { _id } = (await invite(email)).body.data
    await smtp.wait(email)
    await untilMail(_id, 'sent')
    const [job] = await db.system.query<{ id: string }>(
      `SELECT mail_job AS id FROM invitations WHERE user_id = $1`,
      [_id],
    )
    const isDone = `SELECT FROM jobs WHERE id = $1 AND status = 'done'`
    await until('its job has ended', async () => (await db.system.query(isDone, [job?.id])).length === 1)
    // As that process would have left it: the mail was handed over, and nothing says so.
    const token = tokenOf((await smtp.wait(email))[0] as never, 'invitation')
    const sealed = createSealedTokens(SECRET).seal(token, _id)
    await db.system.query(`UPDATE invitations SET mail = 'waiting', sealed_token = $2 WHERE user_id = $1`, [
      _id,
      sealed,
    ])
    await db.system.query(
      `UPDATE jobs SET status = 'running', lease_until = '-infinity', finished_at = NULL WHERE id = $1`,
      [job?.id],
    )
    const [first, twin] = await smtp.wait(email, 2)
    expect(twin?.headers.get('message-id')).toBe(first?.headers.get('message-id'))
    expect(twin?.text).toBe(first?.text)
    await untilMail(_id, 'sent')
  })

  it('are written in the language of the organization', async () => {
    await owner.patch('/organization', { language: 'de-AT' })
    const email = newEmail('gerda')
    await invite(email)
    const [mail] = await smtp.wait(email)
    expect(mail?.headers.get('subject')).toBe('Einladung zu My organization')
    expect(mail?.headers.get('content-language')).toBe('de')
    expect(mail?.text).toContain('7 Tage')
    await owner.patch('/organization', { language: 'en' })
  })

  it('fill nobody’s mailbox: five a day for one person, whatever is deleted in between', async () => {
    const email = newEmail('hans')
    const { _id } = (await invite(email)).body.data
    for (let again = 0; again < 3; again++)
      expect((await owner.post(`/user/${_id}/invitation`)).status).toBe(200)
    expect((await owner.delete(`/user/${_id}`)).status).toBe(200)
    const anew = await invite(email)
    expect(anew.status).toBe(201)
    const sixth = await owner.post(`/user/${anew.body.data._id}/invitation`)
    expect([sixth.status, sixth.body.code]).toEqual([429, 'rate-limited'])
    expect(Number(sixth.headers.get('retry-after'))).toBeGreaterThan(3600)
  })
})

describe('Whether an address has an account', () => {
  const { server, owner } = useOrganization()
  const stranger = () => createClient(server, '')

  it('is not told to the inviter, who holds the token where no mail is sent', async () => {
    const known = await addPerson(server, owner)
    const other = await addOrganization(server, (await addPerson(server, owner, { role: 'Admin' })).client)
    const answers = []
    for (const email of [known.email, newEmail()]) {
      const role = await roleId(other.client, 'Planner')
      const invited = await other.client.post('/users/invite', { email, name: 'Guest', roleId: role })
      const { token } = invited.body.data.invitation
      const shown = (await stranger().post('/auth/invitation', { token })).body.data
      const short = await stranger().post('/auth/accept-invitation', {
        token,
        name: 'Guest',
        password: 'short',
      })
      answers.push([shown.hasAccount, short.status, short.body.errors])
    }
    expect(answers[0]).toEqual([null, 400, expect.any(Array)])
    expect(answers[1]).toEqual(answers[0])
  })
})
