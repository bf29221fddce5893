import { forget, keep, keysFrom, readKept } from './storage.ts'

/** A session of the person who is signed in, in one organization. */
export interface Session {
  token: string
  expiresAt: number
  /** The same in every organization of the person. */
  email?: string
}

/**
 * The sessions that the browser keeps, one for each organization that a tab has shown. They are in the browser's storage, which
 * only scripts of this origin can read, and the page's policy runs no scripts but ours (docs/security.md). A key of its own for each
 * organization: two tabs that store their sessions at the same time overwrite nothing. Under the first key is the session that was
 * opened last, for addresses that name no organization.
 */
const NEWEST = 'fieldline.session'
const keyOf = (organization: string) => `${NEWEST}/${organization}`

/** Reads the account, the organization and the session of a token. Throws when the token is no JWT. */
export function readClaims({ token }: Pick<Session, 'token'>): { sub: string; org: string; jti: string } {
  const [, claims] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token) ?? []
  return JSON.parse(atob((claims as string).replaceAll('-', '+').replaceAll('_', '/')))
}

const readAt = (key: string): Session | null =>
  readKept(key, ({ token, expiresAt, email }) => {
    if (typeof token !== 'string' || typeof expiresAt !== 'number' || expiresAt <= Date.now()) return null
    const { sub, org } = readClaims({ token })
    if (typeof sub !== 'string' || typeof org !== 'string') return null
    return typeof email === 'string' ? { token, expiresAt, email } : { token, expiresAt }
  })

/** The session for an organization, or the one that was opened last. */
export function readSession(organization: string | null): Session | null {
  const newest = readAt(NEWEST)
  if (organization === null) return newest
  const isThere = newest !== null && readClaims(newest).org === organization
  return readAt(keyOf(organization)) ?? (isThere ? newest : null)
}

/** A session in another organization than this one, the one that was opened last before all others. */
export function readOther(organization: string | null): Session | null {
  if (organization === null) return null
  const all = keysFrom(NEWEST).sort().map(readAt)
  return all.find(one => one !== null && readClaims(one).org !== organization) ?? null
}

/** Keeps a session that was just opened, and forgets those of another person. */
export function keepOpened(session: Session): void {
  const isOthers = (one: Session | null) => one?.email !== undefined && one.email !== session.email
  for (const key of keysFrom(NEWEST)) if (isOthers(readAt(key))) forget(key)
  const former = readAt(NEWEST)
  if (former) keep(keyOf(readClaims(former).org), former)
  keep(NEWEST, session)
  keep(keyOf(readClaims(session).org), session)
}

/** Keeps the new token of a session. */
export function keepRenewed(former: string, session: Session): void {
  if (readAt(NEWEST)?.token === former) keep(NEWEST, session)
  keep(keyOf(readClaims(session).org), session)
}

/** Forgets a session that the server has refused. */
export function forgetSession(token: string): void {
  for (const key of keysFrom(NEWEST)) if (readAt(key)?.token === token) forget(key)
}

/** Forgets every session. Returns their tokens. */
export function forgetSessions(): string[] {
  const keys = keysFrom(NEWEST)
  const tokens = keys.flatMap(key => readAt(key)?.token ?? [])
  for (const key of keys) forget(key)
  return [...new Set(tokens)]
}
