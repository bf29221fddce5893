import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'

/**
 * Encryption as libpq reads it from an address (https://www.postgresql.org/docs/current/libpq-ssl.html): `sslmode`,
 * `sslrootcert`, `sslcert`, `sslkey`. pg itself reads the same words with other meanings: `require` would verify, and
 * without any mode nothing would be encrypted.
 */
const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
type Mode = (typeof MODES)[number]
const KNOWN = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation']

/** pg would read these with other meanings. */
const OURS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey']

/** False means unencrypted. Files are read for every connection, so that a renewed certificate is used. */
export type ReadEncryption = () => false | ConnectionOptions

export interface Encrypted {
  /** The address without the words about encryption. */
  url: string
  /** Each is tried if the server refuses the one before. */
  attempts: readonly ReadEncryption[]
}

/** Throws an Error that names the parameter which is wrong. */
export function readEncryption(address: string): Encrypted {
  const [before = '', query = ''] = address.split(/\?(.*)/s)
  const given = readParams(query)
  const of = (name: string) => given.get(name)
  const unknown = [...given.keys()].find(name => name.startsWith('ssl') && !KNOWN.includes(name))
  if (unknown) throw new Error(`has the parameter ${unknown}; there are ${KNOWN.join(', ')}`)
  const wanted = of('sslmode') ?? 'prefer'
  const mode = MODES.find(one => one === wanted)
  if (!mode) throw new Error(`has sslmode=${wanted}; there are ${MODES.join(', ')}`)
  if (of('channel_binding') === 'require')
    throw new Error('has channel_binding=require, which is not supported: use sslmode=verify-full instead')
  const [root, cert, key] = [of('sslrootcert'), of('sslcert'), of('sslkey')]
  if ((cert === undefined) !== (key === undefined)) throw new Error('has one of sslcert and sslkey, not both')
  if (root === 'system' && mode !== 'verify-full')
    throw new Error('has sslrootcert=system, which requires sslmode=verify-full')
  if (of('sslnegotiation') === 'direct' && MODES.indexOf(mode) < MODES.indexOf('require'))
    throw new Error('has sslnegotiation=direct, which requires sslmode=require or a stricter one')
  const isSocket = /:\/\/([^@/]*@)?(\/|$|%2F)/i.test(before) && (of('host') ?? '').startsWith('/')
  const encrypted = toOptions(mode, { root, cert, key })
  const rest = withoutEncryption(query)
  return {
    url: rest === '' ? before : `${before}?${rest}`,
    // Encryption is for connections over a network.
    attempts: isSocket ? [plain] : attemptsOf(mode, encrypted),
  }
}

/** The parameters by their names in small letters: nothing may be left unencrypted for a capital letter. */
function readParams(query: string): Map<string, string> {
  const params = new Map<string, string>()
  for (const [given, value] of new URLSearchParams(query)) {
    const name = given.toLowerCase()
    if (params.has(name)) throw new Error(`has the parameter ${name} twice`)
    params.set(name, value)
  }
  return params
}

/** The other parameters, which are for pg. */
function withoutEncryption(query: string): string {
  const others = [...new URLSearchParams(query)].filter(([name]) => !OURS.includes(name.toLowerCase()))
  return new URLSearchParams(others).toString()
}

const plain: ReadEncryption = () => false

function attemptsOf(mode: Mode, encrypted: ReadEncryption): ReadEncryption[] {
  if (mode === 'disable') return [plain]
  if (mode === 'allow') return [plain, encrypted]
  return mode === 'prefer' ? [encrypted, plain] : [encrypted]
}

function toOptions(
  mode: Mode,
  files: { root: string | undefined; cert: string | undefined; key: string | undefined },
): ReadEncryption {
  const read = createFiles()
  // libpq: with a file of authorities, `require` verifies like `verify-ca`.
  const verifies = mode.startsWith('verify') || (mode === 'require' && files.root !== undefined)
  return () => ({
    rejectUnauthorized: verifies,
    ...(verifies && files.root !== undefined && files.root !== 'system' && { ca: read(files.root) }),
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    ...(files.cert !== undefined && { cert: read(files.cert) }),
    ...(files.key !== undefined && { key: read(files.key) }),
  })
}

/** Reads files again and again. One that is being replaced has its last content. The first read throws. */
function createFiles(): (path: string) => Buffer {
  const known = new Map<string, Buffer>()
  return path => {
    try {
      const content = readFileSync(path)
      known.set(path, content)
      return content
    } catch (error) {
      const last = known.get(path)
      if (last) return last
      throw error
    }
  }
}

/**
 * Whether the server, or the pooler before it, may accept the other way: it does not know TLS, or has no rule for this
 * way (28000; poolers say 08P01).
 */
export function mayTakeOther(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  if (code === '28000' || code === '08P01') return true
  return (
    /does not support SSL connections|error establishing an SSL connection/.test(error.message) ||
    (typeof code === 'string' && /^(ERR_SSL_|EPROTO$)/.test(code))
  )
}
