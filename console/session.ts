import {
  forgetSession,
  forgetSessions,
  keepOpened,
  keepRenewed,
  readClaims,
  readOther,
  readSession,
  type Session,
} from './kept-sessions.ts'
import { organizationIn } from './organization-address.ts'
import { onKept } from './storage.ts'

export { readClaims, type Session } from './kept-sessions.ts'

const listeners = new Set<() => void>()
/** Input that is not saved, and secrets that are shown only once, each by the object that holds it. */
const unsaved = new Map<object, Unsaved>()

interface State {
  current: Session | null
  /** See `getHeld`. */
  held: Session | null
  /** See `hasLeft`. */
  hasLeft: boolean
  /** See `hasJustEntered`. */
  hasEntered: boolean
  /** The organization of this tab, which its address names. Null until somebody signs in. */
  organization: string | null
}

const named = organizationIn(location.pathname)
const state: State = {
  current: readSession(named),
  held: null,
  hasLeft: false,
  hasEntered: false,
  organization: named,
}

/** Changes the state, and calls the listeners. */
function change(fields: Partial<State>): void {
  Object.assign(state, fields)
  for (const listener of listeners) listener()
}

const read = (): Session | null => readSession(state.organization)

function set(session: Session | null): void {
  const { current, held: before, hasLeft } = state
  // Input waits for the person who typed it.
  const held = hasLeft || session ? null : hasUnsaved() ? (current ?? before) : before
  change(session ? { current: session, held, hasLeft: false } : { current: null, held })
}

onKept('fieldline.session', () => {
  const session = read()
  if (session?.token !== state.current?.token) set(session)
  // A session in another organization may open the one of this tab.
  else change({})
})

export const getSession = (): Session | null => state.current

/** The organization of this tab. */
export const getOrganization = (): string | null => state.organization

/** Gives a tab whose address names no organization the one of its session. */
export function adoptOrganization(): void {
  if (state.organization === null && state.current) state.organization = readClaims(state.current).org
}

/** The token of a session of this browser in another organization than the one of this tab. */
export const getOtherToken = (): string | null => readOther(state.organization)?.token ?? null

/** Goes on in the organization of a token that the browser keeps. */
export function enterOrganization(token: string): void {
  state.organization = readClaims({ token }).org
  set(read())
}

/** Forgets a session in another organization that the server has refused. */
export function dropOther(token: string): void {
  forgetSession(token)
  change({})
}

/**
 * The session that ended, in another tab or by its expiry, while something was typed and not saved. The input waits, unseen, until
 * the same account signs in again in the same organization.
 */
export const getHeld = (): Session | null => state.held

/** Input that is not saved, or a secret that is shown only once. */
export type Unsaved = 'typed' | 'shown'

/** Marks something that would be lost with the page, until the returned function is called. */
export function holdUnsaved(kind: Unsaved): () => void {
  const one = {}
  unsaved.set(one, kind)
  return () => void unsaved.delete(one)
}

export const hasUnsaved = (kind?: Unsaved): boolean =>
  kind === undefined ? unsaved.size > 0 : [...unsaved.values()].includes(kind)

export function accountOf(session: Session): string {
  const { sub, org } = readClaims(session)
  return `${org}/${sub}`
}

export function onSession(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Whether somebody has signed in since the last call. */
export function hasJustEntered(): boolean {
  const { hasEntered } = state
  state.hasEntered = false
  return hasEntered
}

/** Whether somebody signed out in this tab, as opposed to arriving without a session or losing it. */
export const hasLeft = (): boolean => state.hasLeft

/**
 * Signs out: ends every session of this browser at once, in all tabs, whether or not the server can be reached. The server revokes
 * them as soon as the request arrives, also from a page that is closed meanwhile; otherwise they expire within hours.
 */
export function leaveSession(token: string): void {
  state.hasLeft = true
  state.organization = null
  const others = forgetSessions().filter(one => one !== token)
  endSession(token)
  change({})
  void revoke(token).then(() => Promise.all(others.map(revoke)))
}

const REVOKE_RETRIES_MS = [2_000, 10_000, 60_000]

async function revoke(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  for (const waitMs of REVOKE_RETRIES_MS) {
    const answer = await fetch('/api/v3/auth/logout', { method: 'POST', headers, keepalive: true }).catch(
      () => null,
    )
    // There were too many requests, or the server or its database is away: it is sent again later.
    if (answer && answer.status !== 429 && answer.status < 500) return
    await new Promise(resolve => setTimeout(resolve, waitMs))
  }
}

/**
 * Expects the end of the session while the person creates an organization: the server ends it then, and the live socket may learn so
 * before the answer arrives.
 */
export function expectEnd(isExpected: boolean): void {
  state.hasLeft = isExpected
}

/** Takes the answer to signing in, and to opening and creating an organization. */
export function startSession(answer: { token: string; expires_in: number; data: { email: string } }): void {
  const { token, expires_in, data } = answer
  const session = { token, expiresAt: Date.now() + expires_in * 1_000, email: data.email }
  keepOpened(session)
  state.hasEntered = true
  state.organization = readClaims(session).org
  set(session)
}

/** Takes the new token of a session that was renewed. */
export function renewSession(token: string, answer: { token: string; expires_in: number }): void {
  const { current } = state
  if (current?.token !== token) return
  const session = { ...current, token: answer.token, expiresAt: Date.now() + answer.expires_in * 1_000 }
  keepRenewed(token, session)
  set(session)
}

/**
 * Drops a session that the server has ended. It stays in the storage: another tab may be storing the next session, and of two
 * writes at the same time the last one counts.
 */
export function endSession(token: string): void {
  if (state.current?.token !== token) return
  const next = read()
  set(next && next.token !== token ? next : null)
}
