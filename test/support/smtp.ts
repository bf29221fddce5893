import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { Certificate } from './authority.ts'
import { until } from './wait.ts'

/** A mail as the server received it. */
export interface ReceivedMail {
  from: string
  to: string[]
  /** By lower-case name, unfolded. */
  headers: Map<string, string>
  /** All header lines as they were sent, to count them. */
  headerLines: string[]
  text: string
  html: string
  isEncrypted: boolean
  user: string | undefined
}

/** A real SMTP server in the test's process. */
export interface TestSmtp {
  port: number
  /** For SMTP_URL. */
  url: string
  mails: ReceivedMail[]
  /** Connections so far. */
  connections: number
  /** Waits for this many mails to an address, and returns them. */
  wait(to: string, count?: number): Promise<ReceivedMail[]>
  close(): Promise<void>
}

export interface SmtpOptions {
  certificate?: Certificate
  /** TLS from the first byte. */
  isTls?: boolean
  user?: { name: string; password: string }
  /** The answer to RCPT TO: an SMTP code and a text, or null to take it. `attempt` counts per recipient from 1. */
  refuse?: (to: string, attempt: number) => { code: number; text: string } | null
  /** Runs when a mail has been received whole, before the answer; resolves to whether it is answered at all. */
  beforeAnswer?: (mail: ReceivedMail) => Promise<void>
  port?: number
  more?: SMTPServerOptions
}

export async function startSmtp(options: SmtpOptions = {}): Promise<TestSmtp> {
  const { certificate, isTls = false, user, refuse, beforeAnswer, port = 0, more = {} } = options
  const mails: ReceivedMail[] = []
  const attempts = new Map<string, number>()
  const smtp: TestSmtp = {
    port: 0,
    url: '',
    mails,
    connections: 0,
    async wait(to, count = 1) {
      const found = () => mails.filter(mail => mail.to.includes(to))
      await until(`${count} mails to ${to}`, () => found().length >= count)
      return found()
    },
    close: () => new Promise(resolve => server.close(() => resolve())),
  }
  const server = new SMTPServer({
    secure: isTls,
    disabledCommands: [...(certificate && !isTls ? [] : ['STARTTLS']), ...(user ? [] : ['AUTH'])],
    ...(certificate && { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) }),
    authOptional: user === undefined,
    disableReverseLookup: true,
    closeTimeout: 10,
    onConnect(_session, done) {
      smtp.connections++
      done()
    },
    onAuth(given, _session, done) {
      const isRight = given.username === user?.name && given.password === user?.password
      done(isRight ? null : Object.assign(new Error('Wrong password'), { responseCode: 535 }), {
        user: given.username,
      })
    },
    onRcptTo({ address }, _session, done) {
      const attempt = (attempts.get(address) ?? 0) + 1
      attempts.set(address, attempt)
      const refusal = refuse?.(address, attempt)
      done(refusal ? Object.assign(new Error(refusal.text), { responseCode: refusal.code }) : null)
    },
    async onData(stream, session, done) {
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk)
      const { mailFrom, rcptTo } = session.envelope
      const mail: ReceivedMail = {
        from: mailFrom === false ? '' : mailFrom.address,
        to: rcptTo.map(({ address }) => address),
        isEncrypted: session.secure,
        user: session.user,
        ...readMail(Buffer.concat(chunks).toString('utf8')),
      }
      mails.push(mail)
      await beforeAnswer?.(mail)
      done()
    },
    ...more,
  })
  // A client that breaks a connection off is what some tests are about.
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await new Promise(resolve => server.server.once('listening', resolve))
  smtp.port = (server.server.address() as AddressInfo).port
  smtp.url = `${isTls ? 'smtps' : 'smtp'}://127.0.0.1:${smtp.port}`
  return smtp
}

/** Reads a multipart/alternative mail. */
function readMail(raw: string): Pick<ReceivedMail, 'headers' | 'headerLines' | 'text' | 'html'> {
  const top = splitPart(raw)
  const boundary = /boundary="([^"]+)"/.exec(top.headers.get('content-type') ?? '')?.[1] ?? ''
  const parts = top.body.split(`--${boundary}`).map(part => splitPart(part.replace(/^\r\n/, '')))
  const of = (type: string) => {
    const part = parts.find(one => one.headers.get('content-type')?.startsWith(type))
    return part ? decode(part.body, part.headers.get('content-transfer-encoding')) : ''
  }
  return { ...top, text: of('text/plain'), html: of('text/html') }
}

function splitPart(raw: string) {
  const at = raw.indexOf('\r\n\r\n')
  const headerLines = raw.slice(0, at).split(/\r\n(?![ \t])/)
  const headers = new Map(
    headerLines.map(line => {
      const colon = line.indexOf(':')
      const value = line
        .slice(colon + 1)
        .replace(/\r\n[ \t]/g, ' ')
        .trim()
      return [line.slice(0, colon).toLowerCase(), decodeWords(value)]
    }),
  )
  return { headers, headerLines, body: raw.slice(at + 4) }
}

function decode(body: string, encoding = '7bit'): string {
  const text = body.replace(/\r\n$/, '')
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString('utf8')
  if (encoding !== 'quoted-printable') return text.replaceAll('\r\n', '\n')
  return fromBytes(text.replace(/=\r\n/g, '')).replaceAll('\r\n', '\n')
}

const fromBytes = (text: string) =>
  Buffer.from(
    text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8')

/** RFC 2047. */
const decodeWords = (text: string) =>
  text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, kind: string, word: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString('utf8')
        : fromBytes(word.replaceAll('_', ' ')),
    )
