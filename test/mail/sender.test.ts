import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { openSecretFile } from '../../db/secret.ts'
import type { Letter } from '../../src/mail/letter.ts'
import { createMailSender, type MailTimeouts } from '../../src/mail/sender.ts'
import { createAuthority } from '../support/authority.ts'
import { type SmtpOptions, startSmtp, type TestSmtp } from '../support/smtp.ts'

const LETTER: Letter = {
  to: 'anna@example.com',
  messageId: '<1@example.com>',
  subject: 'Grüße',
  text: 'Öffnen:\n\nhttps://fleet.example.com/invitation#fli_abc',
  html: '<p>Öffnen</p>',
  language: 'de',
}
const SHORT: MailTimeouts = { connectMs: 2_000, greetingMs: 500, silenceMs: 500, totalMs: 2_000 }
const USER = { name: 'fleet@example.com', password: 'p@ss/w:rd%' }

describe('Handing a mail over', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldline-mail-'))
  const authority = createAuthority(folder, 'mail')
  const certificate = authority.issue('server', 'IP:127.0.0.1,DNS:localhost')
  const open: { close(): Promise<void> }[] = []

  afterEach(async () => {
    for (const one of open.splice(0)) await one.close()
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const start = async (options: SmtpOptions = {}): Promise<TestSmtp> => {
    const smtp = await startSmtp(options)
    open.push(smtp)
    return smtp
  }
  /** A server that answers with what `talk` writes. */
  const startTalker = async (talk: (socket: Socket) => void): Promise<string> => {
    const sockets = new Set<Socket>()
    const server: NetServer = createServer(socket => {
      sockets.add(socket)
      socket.on('error', () => {})
      talk(socket)
    })
    server.listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    open.push({
      async close() {
        for (const socket of sockets) socket.destroy()
        await new Promise(resolve => server.close(resolve))
      },
    })
    return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const send = (url: string, letter: Partial<Letter> = {}, timeouts?: MailTimeouts) =>
    createMailSender(
      {
        smtpUrl: { current: url },
        from: { name: 'Fleet', address: 'fleet@example.com' },
        publicUrl: 'https://fleet.example.com',
      },
      timeouts,
    ).send({ ...LETTER, ...letter }, new AbortController().signal)
  const as = (url: string, { name, password } = USER) =>
    url.replace('://', `://${encodeURIComponent(name)}:${encodeURIComponent(password)}@`)

  it('brings text and HTML as they were written, from the configured sender', async () => {
    const smtp = await start()
    expect(await send(smtp.url)).toEqual({ kind: 'sent' })
    const [mail] = smtp.mails
    expect(mail).toMatchObject({ from: 'fleet@example.com', to: ['anna@example.com'], text: LETTER.text })
    expect(mail?.html).toBe(LETTER.html)
    expect(mail?.headers.get('subject')).toBe('Grüße')
    expect(mail?.headers.get('message-id')).toBe('<1@example.com>')
    expect(mail?.headers.get('x-mailer')).toBeUndefined()
  })

  it('is encrypted by STARTTLS or from the first byte, against the given authority', async () => {
    for (const isTls of [false, true]) {
      const smtp = await start({ certificate, isTls, user: USER })
      const more = isTls ? '' : 'starttls=require&'
      expect(await send(`${as(smtp.url)}/?${more}ca=${authority.file}`)).toEqual({ kind: 'sent' })
      expect(smtp.mails[0]).toMatchObject({ isEncrypted: true, user: USER.name })
    }
  })

  it('does not trust a certificate of another authority, or for another name', async () => {
    const other = createAuthority(folder, 'other')
    const wrong = authority.issue('wrong', 'DNS:elsewhere.example')
    for (const [served, ca] of [
      [certificate, other.file],
      [wrong, authority.file],
    ] as const) {
      const smtp = await start({ certificate: served, isTls: true })
      expect((await send(`${smtp.url}/?ca=${ca}`)).kind).toBe('failed')
      expect(smtp.mails).toEqual([])
    }
  })

  it('sends neither mail nor password unencrypted where encryption is required and not offered', async () => {
    let heard = ''
    const url = await startTalker(socket => {
      socket.write('220 mail.example ESMTP\r\n')
      socket.on('data', chunk => {
        heard += chunk
        socket.write('250-mail.example\r\n250 AUTH PLAIN LOGIN\r\n')
      })
    })
    const patient = { connectMs: 10_000, greetingMs: 10_000, silenceMs: 10_000, totalMs: 20_000 }
    expect((await send(`${as(url)}/?starttls=require`, {}, patient)).kind).toBe('failed')
    expect(heard).toContain('STARTTLS')
    expect(heard).not.toMatch(/AUTH|MAIL FROM/)
    expect(heard).not.toContain(Buffer.from(USER.password).toString('base64'))
  })

  it('signs in with the present password of the file, and tries again later with a wrong one', async () => {
    const smtp = await start({ user: USER, more: { allowInsecureAuth: true } })
    const path = join(folder, 'smtp-url')
    writeFileSync(path, as(smtp.url, { ...USER, password: 'the old one' }))
    const wrong = await send(openSecretFile(path).current)
    expect(wrong).toMatchObject({ kind: 'failed' })
    expect(JSON.stringify(wrong)).not.toContain('the old one')
    writeFileSync(path, as(smtp.url))
    expect(await send(openSecretFile(path).current)).toEqual({ kind: 'sent' })
  })

  it('is tried again after 4xx and where nobody is there, and given up after 5xx for the recipient', async () => {
    const codes = [451, 550]
    const smtp = await start({
      refuse: (_, attempt) =>
        codes[attempt - 1] ? { code: codes[attempt - 1] as number, text: 'No' } : null,
    })
    expect(await send(smtp.url)).toMatchObject({ kind: 'failed', reason: expect.stringContaining('451') })
    expect(await send(smtp.url)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('550') })
    expect(await send(smtp.url)).toEqual({ kind: 'sent' })
    await open.splice(0)[0]?.close()
    expect(await send(smtp.url)).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining('ECONNREFUSED'),
    })
    expect(await send('smtp://nowhere.invalid:25', {}, SHORT)).toMatchObject({ kind: 'failed' })
  })

  it('ends where a server is silent, or sends a byte now and then for ever', async () => {
    const silent = await startTalker(() => {})
    expect(await send(silent, {}, SHORT)).toMatchObject({ kind: 'failed' })
    const slow = await startTalker(socket => {
      socket.write('220 mail.example\r\n')
      const timer = setInterval(() => socket.write('2'), 50)
      socket.on('close', () => clearInterval(timer))
    })
    const untilTotal = { ...SHORT, greetingMs: 60_000, connectMs: 60_000, silenceMs: 60_000 }
    expect(await send(slow, {}, untilTotal)).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining('not done within'),
    })
  })

  it('reads no more of an answer than some kilobytes', async () => {
    let written = 0
    const flood = (socket: Socket, piece: string) => {
      const pour = () => {
        while (!socket.destroyed && socket.write(piece)) written += piece.length
      }
      socket.on('drain', pour)
      pour()
    }
    for (const piece of ['2'.repeat(65_536), `220-${'x'.repeat(1_000)}\r\n`.repeat(64)]) {
      written = 0
      const url = await startTalker(socket => flood(socket, piece))
      const result = await send(url)
      expect(result).toMatchObject({
        kind: 'failed',
        reason: expect.stringContaining('maximum allowed size'),
      })
      // The rest is what the kernel's buffers take.
      expect(written).toBeLessThan(32 * 1024 * 1024)
    }
  })

  it('shows at most a line of what a server says', async () => {
    const url = await startTalker(socket => socket.end(`554 no\u0007\t${'x'.repeat(5_000)}\r\n`))
    const result = await send(url, {}, SHORT)
    expect(result).toMatchObject({ kind: 'failed' })
    expect('reason' in result && result.reason.length <= 300 && !/\p{Cc}/u.test(result.reason)).toBe(true)
  })

  it('adds no header and no recipient, whatever stands in a subject or an address', async () => {
    const smtp = await start()
    const inject = 'x\r\nBcc: evil@example.com\r\n\r\n<p>evil</p>'
    await send(smtp.url, { subject: inject })
    const [mail] = smtp.mails
    expect(mail?.to).toEqual(['anna@example.com'])
    expect(mail?.headerLines.filter(line => /^(bcc|cc|to):/i.test(line))).toEqual(['To: anna@example.com'])
    const names = mail?.headerLines.map(line => line.split(':')[0]?.toLowerCase())
    expect(new Set(names).size).toBe(names?.length)
    for (const to of ["o'brien+a=b@example.com", '{x}|y@example.com']) {
      expect(await send(smtp.url, { to })).toEqual({ kind: 'sent' })
      expect(smtp.mails.at(-1)?.to).toEqual([to])
    }
    const before = smtp.mails.length
    const result = await send(smtp.url, { to: 'a@example.com>\r\nRCPT TO:<evil@example.com' })
    expect(smtp.mails.slice(before).flatMap(({ to }) => to)).not.toContain('evil@example.com')
    expect(result.kind).toBe('refused')
  })

  it('reaches an address beyond ASCII', async () => {
    const smtp = await start()
    expect(await send(smtp.url, { to: 'jörg@bücher.example' })).toEqual({ kind: 'sent' })
    expect(smtp.mails[0]?.to).toEqual(['jörg@bücher.example'])
    // A domain alone needs no server that knows RFC 6531.
    const plain = await start({ more: { hideSMTPUTF8: true } })
    expect(await send(plain.url, { to: 'anna@bücher.example' })).toEqual({ kind: 'sent' })
    expect(plain.mails).toHaveLength(1)
  })
})
