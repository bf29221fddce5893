import type { FastifyReply, FastifyRequest } from 'fastify'
import { timeOfDay } from '../../../db/clock.ts'
import type { Secrets } from '../../../db/secret.ts'
import { createBox } from '../../http/secrets.ts'
import type { Checks } from './provider.ts'

/** A sign-in that somebody has begun at the provider. */
export interface Attempt extends Checks {
  /** The path to go to afterwards. */
  returnTo: string
}

/** People type passwords and codes there. */
const LIFETIME_S = 10 * 60

/**
 * Keeps an attempt in a cookie of the browser that began it, sealed under its state: no stranger fills the database, each
 * process can go on with it, and a callback with the state of another browser opens nothing.
 */
export function createAttempts(jwtSecret: string | Secrets, publicUrl: string) {
  const box = createBox(jwtSecret, 'single sign-on')
  const isHttps = publicUrl.startsWith('https:')
  // The prefix keeps neighbouring hosts from setting it (RFC 6265bis, 4.1.3.2).
  const name = isHttps ? '__Host-fieldline-sign-in' : 'fieldline-sign-in'
  const write = (reply: FastifyReply, value: string, maxAgeS: number) =>
    reply.header(
      'set-cookie',
      `${name}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`,
    )
  return {
    keep(reply: FastifyReply, { state, ...rest }: Attempt): void {
      const until = timeOfDay() + LIFETIME_S * 1_000
      const sealed = box.seal(JSON.stringify({ ...rest, until }), state)
      write(reply, sealed.toString('base64url'), LIFETIME_S)
    },

    /** The attempt that this browser began under this state, or null. A browser has one. */
    take({ headers }: FastifyRequest, reply: FastifyReply, state: string): Attempt | null {
      const pairs = (headers.cookie ?? '').split(';').map(pair => pair.trim())
      const value = pairs.find(pair => pair.startsWith(`${name}=`))?.slice(name.length + 1)
      if (value === undefined) return null
      const text = box.open(Buffer.from(value, 'base64url'), state)
      // A stranger's link must not end the attempt of this browser.
      if (text === null) return null
      write(reply, '', 0)
      const { until, ...attempt } = JSON.parse(text) as Omit<Attempt, 'state'> & { until: number }
      return timeOfDay() < until ? { state, ...attempt } : null
    },
  }
}

/** Long enough for a page with its filters. */
const MAX_PATH_LENGTH = 1_000
const OWN = 'https://own.invalid'

/**
 * Whether a text is a path of this server, for every browser: neither another host (`//evil`, `/\evil`), nor a scheme, nor
 * characters that a browser leaves out.
 */
export function isOwnPath(text: string): boolean {
  if (text.length > MAX_PATH_LENGTH || !/^\/(?!\/)[!-[\]-~]*$/.test(text)) return false
  const url = URL.canParse(text, OWN) ? new URL(text, OWN) : null
  // Once `.` and `..` are resolved, `/.//evil` and `/a/..//evil` begin with two slashes as well.
  return url?.origin === OWN && !url.pathname.startsWith('//')
}

/** A path with one more parameter. It stays a path of this server, whatever `path` is. */
export function withParameter(path: string, name: string, value: string): string {
  const url = new URL(path, OWN)
  url.searchParams.set(name, value)
  return `${url.pathname.replace(/^\/+/, '/')}${url.search}${url.hash}`
}
