import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../db/client.ts'
import { freePort } from '../services/commands.ts'
import { type Client, createClient, signIn } from '../support/client.ts'
import { createTestDatabase, openTestDatabase, type TestDatabase, usualKind } from '../support/database.ts'
import { mailEnv, tokenOf } from '../support/mail.ts'
import { newEmail, PASSWORD, roleId } from '../support/people.ts'
import { isRunning, OWNER, openServer, type Server } from '../support/server.ts'
import { startSmtp, type TestSmtp } from '../support/smtp.ts'
import { until } from '../support/wait.ts'

/** Minutes after each failed attempt, before a quarter more or less. */
const DELAYS_MIN = [0.25, 1, 5, 15, 30, 60]

/** Reads and changes the database beside the server, which PGlite does not allow. */
describe.runIf(usualKind() === 'postgres')('An SMTP server that is away', () => {
  let smtp: TestSmtp
  let database: TestDatabase
  let server: Server
  let db: Database
  let owner: Client
  /** Resolves when the answers to received mails may be sent. */
  let mayAnswer = Promise.resolve()

  beforeAll(async () => {
    // A port that no connection is given while nobody listens there.
    smtp = await startSmtp({ port: await freePort() })
    await smtp.close()
    database = await createTestDatabase('postgres')
    server = await openServer(database, mailEnv(smtp))
    db = await openTestDatabase(database)
    owner = await signIn(server)
  })
  afterAll(async () => {
    if (isRunning(server)) await server.stop()
    await smtp.close()
    await db.close()
    await database.remove()
  })

  const invite = async (email: string): Promise<string> => {
    const body = { email, name: 'Guest', roleId: await roleId(owner, 'Planner') }
    return (await owner.post('/users/invite', body)).body.data._id
  }
  const listMails = () =>
    db.system.query<{ id: string; kind: string; attempts: number; minutes: number }>(
      `SELECT id, kind, attempts, (extract(epoch FROM run_at - clock_timestamp()) / 60)::float8 AS minutes FROM jobs
       WHERE kind LIKE '%-mail' AND status = 'queued' AND attempts > 0 ORDER BY kind`,
    )
  /** Has those run that were tried at most so often. */
  const hasten = (attempts = 100) =>
    db.system.query(
      `UPDATE jobs SET run_at = now() WHERE status = 'queued' AND kind LIKE '%-mail' AND attempts <= $1`,
      [attempts],
    )

  it('for an hour gets every mail when it is back, once, with a link that still works', async () => {
    const email = newEmail('anna')
    const userId = await invite(email)
    const stranger = createClient(server, '')
    expect((await stranger.post('/auth/forgot-password', { email: OWNER.email })).status).toBe(200)
    for (let attempt = 1; attempt <= DELAYS_MIN.length; attempt++) {
      let waiting: Awaited<ReturnType<typeof listMails>> = []
      // The first delays are so short that one mail may be an attempt ahead of the other.
      await until(`attempt ${attempt} has failed`, async () => {
        waiting = await listMails()
        return waiting.length === 2 && waiting.every(({ attempts }) => attempts >= attempt)
      })
      for (const one of waiting) {
        const minutes = DELAYS_MIN[one.attempts - 1] as number
        expect(one.minutes).toBeLessThanOrEqual(minutes * 1.25)
        // The test itself takes some of the time.
        if (minutes >= 15) expect(one.minutes).toBeGreaterThan(minutes / 2)
      }
      if (attempt < DELAYS_MIN.length) await hasten(attempt)
    }
    // An hour and more has gone by since the link was asked for.
    await db.system.query(`UPDATE password_resets SET expires_at = now() - interval '1 hour'`)
    expect((await owner.get(`/user/${userId}`)).body.data.invitation.mail).toBe('waiting')
    smtp = await startSmtp({ port: smtp.port, beforeAnswer: () => mayAnswer })
    await hasten()
    const [invitation] = await smtp.wait(email)
    const [reset] = await smtp.wait(OWNER.email)
    const accept = { token: tokenOf(invitation as never, 'invitation'), name: 'Anna', password: PASSWORD }
    expect((await stranger.post('/auth/accept-invitation', accept)).status).toBe(200)
    const choose = { token: tokenOf(reset as never, 'reset-password'), password: OWNER.password }
    expect((await stranger.post('/auth/reset-forgotten-password', choose)).status).toBe(200)
    await until('nothing waits', async () => (await listMails()).length === 0)
    expect(smtp.mails).toHaveLength(2)
    owner = await signIn(server)
  })

  it('has a log that names neither tokens nor passwords, and says what is wrong', async () => {
    await until('its log says so', () => server.output.stderr.includes('ECONNREFUSED'))
    expect(server.output.stderr).not.toMatch(/fl[ip]_[\w-]{10}/)
  })

  it('and slow to answer gets one mail, also if this server stops in an orderly way meanwhile', async () => {
    let answer: () => void = () => {}
    mayAnswer = new Promise(resolve => {
      answer = resolve
    })
    const email = newEmail('bert')
    const userId = await invite(email)
    await smtp.wait(email)
    const stopped = server.stop()
    await until('the server stops', () => !isRunning(server))
    answer()
    expect(await stopped).toBe(0)
    const [row] = await db.system.query<{ mail: string }>('SELECT mail FROM invitations WHERE user_id = $1', [
      userId,
    ])
    expect(row?.mail).toBe('sent')
    expect(await smtp.wait(email)).toHaveLength(1)
  })

  it('refuses for a day: the invitation shows that it failed, and the link of its mail is of no use', async () => {
    mayAnswer = Promise.resolve()
    await smtp.close()
    server = await openServer(database, mailEnv(smtp))
    owner = await signIn(server)
    const userId = await invite(newEmail('carla'))
    await until('the first attempt has failed', async () => (await listMails()).length === 1)
    await until('it is given up', async () => {
      // Again and again, since its next attempt may have begun.
      await db.system.query(
        `UPDATE jobs SET attempts = 10, run_at = now() WHERE status = 'queued' AND kind LIKE '%-mail'`,
      )
      return (await owner.get(`/user/${userId}`)).body.data.invitation.mail === 'failed'
    })
    const { body } = await owner.get(`/audit-log?resourceId=${userId}&action=fail-mail`)
    expect(body.data).toHaveLength(1)
    expect(await db.system.query('SELECT FROM invitations WHERE sealed_token IS NOT NULL')).toEqual([])
  })
})
