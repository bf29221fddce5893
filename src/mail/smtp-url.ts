import { readFileSync } from 'node:fs'

/** Whether a connection to the SMTP server is encrypted before anything is sent. */
const STARTTLS = ['require', 'if-offered', 'never'] as const
type StartTls = (typeof STARTTLS)[number]

/** How the SMTP server is reached. */
export interface SmtpServer {
  host: string
  port: number
  /** TLS from the first byte; otherwise `startTls` says how the connection is upgraded. */
  isTls: boolean
  startTls: StartTls
  /** A file of certificates that are trusted instead of the well-known ones. */
  caFile: string | undefined
  auth: { user: string; pass: string } | undefined
}

const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const
/** Nobody between us and such a host can remove its offer of encryption. */
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i

/**
 * Reads `SMTP_URL`: `smtp://user:password@mail.example:587?starttls=require&ca=./authority.pem`, or `smtps://` for TLS from the
 * first byte. Mails hold links that open accounts, so a connection that leaves this machine is encrypted and the
 * certificate verified, unless the address says otherwise. Throws an Error whose message follows the variable's name and
 * shows no password.
 */
export function readSmtpUrl(address: string): SmtpServer {
  if (!/^smtps?:\/\//i.test(address)) throw new Error('has to start with smtp:// or smtps://')
  if (!URL.canParse(address))
    throw new Error(
      'is no address: a special character of the user or password has to be encoded, such as %40 for @',
    )
  const url = new URL(address)
  const isTls = url.protocol === 'smtps:'
  if (url.hostname === '') throw new Error('names no host')
  if (url.pathname !== '' && url.pathname !== '/') throw new Error('has a path, and an SMTP server has none')
  const unknown = [...url.searchParams.keys()].find(name => name !== 'starttls' && name !== 'ca')
  if (unknown) throw new Error(`has the parameter ${unknown.slice(0, 100)}; there are starttls and ca`)
  const caFile = url.searchParams.get('ca') ?? undefined
  if (caFile !== undefined) readFileSync(caFile)
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(url.port) || PORTS[url.protocol as keyof typeof PORTS],
    isTls,
    startTls: readStartTls(url, isTls),
    caFile,
    auth: readAuth(url),
  }
}

function readStartTls(url: URL, isTls: boolean): StartTls {
  const given = url.searchParams.get('starttls')
  if (given === null) return LOOPBACK.test(url.hostname) ? 'if-offered' : 'require'
  const startTls = STARTTLS.find(one => one === given)
  if (!startTls) throw new Error(`has starttls=${given.slice(0, 100)}; there are ${STARTTLS.join(', ')}`)
  if (isTls)
    throw new Error('has starttls, which is for smtp:// alone: smtps:// is encrypted from the first byte')
  return startTls
}

function readAuth({ username, password }: URL): SmtpServer['auth'] {
  if (username === '' && password === '') return undefined
  if (username === '' || password === '') throw new Error('has one of user and password, not both')
  try {
    return { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
  } catch {
    throw new Error('has a % in user or password that is no encoded character: write it as %25')
  }
}
