import { forget, keep, onKept, readKept } from './storage.ts'

/**
 * The session of the person who is signed in. The token is in the browser's storage, which only scripts of this origin can read, and
 * the page's policy runs no scripts but ours (docs/security.md). It is never in an address or a cookie. All tabs share it.
 */
export interface Session {
  token: string
  expiresAt: number
  /** The same in every organization of the person. */
  email?: string
}

const KEY = 'fieldline.session'
const listeners = new Set<() => void>()
/** Input that is not saved, and secrets that are shown only once, each by the object that holds it. */
const unsaved = new Map<object, Unsaved>()

interface State {
  current: Session | null
  /** The current session, also after it has ended. */
  last: Session | null
  /** See `getHeld`. */
  held: Session | null
  /** See `hasLeft`. */
  hasLeft: boolean
  /** See `hasJustEntered`. */
  hasEntered: boolean
  /** See `wasMoved`. */
  wasMoved: boolean
}

const stored = read()
const state: State = {
  current: stored,
  last: stored,
  held: null,
  hasLeft: false,
  hasEntered: false,
  wasMoved: false,
}

/** Changes the state, and calls the listeners. */
function change(fields: Partial<State>): void {
  Object.assign(state, fields)
  for (const listener of listeners) listener()
}

function read(): Session | null {
  return readKept(KEY, ({ token, expiresAt, email }) => {
    if (typeof token !== 'string' || typeof expiresAt !== 'number' || expiresAt <= Date.now()) return null
    const { sub, org } = readClaims({ token })
    if (typeof sub !== 'string' || typeof org !== 'string') return null
    return typeof email === 'string' ? { token, expiresAt, email } : { token, expiresAt }
  })
}

function set(session: Session | null, isOwn = false): void {
  const { last } = state
  const held = heldBeside(session)
  if (session) {
    const wasMoved = last !== null && !isOwn && isMove(last, session)
    change({ current: session, last: session, held, wasMoved, hasLeft: false })
  } else change({ current: null, held })
}

/** The session that is held when another one, or none, becomes the current one. */
function heldBeside(next: Session | null): Session | null {
  const { current, held: before, hasLeft } = state
  if (hasLeft) return null
  const held = hasUnsaved() ? (current ?? before) : before
  // Input waits for the person who typed it, who may be in another organization meanwhile.
  return held && next && !isMove(held, next) ? null : held
}

onKept(KEY, () => {
  const session = read()
  if (session?.token !== state.current?.token) set(session)
})

export const getSession = (): Session | null => state.current

/**
 * The session that ended, in another tab or by its expiry, while something was typed and not saved. The input waits, unseen, until
 * the same account signs in again in the same organization, also while the same person is in another organization.
 */
export const getHeld = (): Session | null => state.held

/** Gives up the input that waits. */
export const discardHeld = (): void => change({ held: null })

/** Whether another tab has switched this one to another organization too. */
export const wasMoved = (): boolean => state.wasMoved

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

/** Reads the account and the organization of a token. Throws when the token is no JWT. */
export function readClaims({ token }: Pick<Session, 'token'>): { sub: string; org: string; jti: string } {
  const [, claims] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token) ?? []
  return JSON.parse(atob((claims as string).replaceAll('-', '+').replaceAll('_', '/')))
}

export function accountOf(session: Session): string {
  const { sub, org } = readClaims(session)
  return `${org}/${sub}`
}

/** Whether both are sessions of the same person in different organizations. */
const isMove = (from: Session, to: Session): boolean =>
  from.email !== undefined && from.email === to.email && readClaims(from).org !== readClaims(to).org

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
 * Ends the session in this browser at once, whether or not the server can be reached. The server revokes it as soon as the request
 * arrives, also from a page that is closed meanwhile; otherwise the session expires within hours.
 */
export function leaveSession(token: string): void {
  state.hasLeft = true
  if (read()?.token === token) forget(KEY)
  endSession(token)
  void revoke(token)
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
 * Expects the end of the session while the person switches to another organization: the server ends it then, and the live socket
 * may learn so before the answer arrives. The address is not kept, as the other organization has no such record.
 */
export function expectEnd(isExpected: boolean): void {
  state.hasLeft = isExpected
}

/** Takes the answer to signing in, to switching and to creating an organization. */
export function startSession(answer: { token: string; expires_in: number; data: { email: string } }): void {
  const { token, expires_in, data } = answer
  const session = { token, expiresAt: Date.now() + expires_in * 1_000, email: data.email }
  keep(KEY, session)
  state.hasEntered = true
  set(session, true)
}

/** Takes the new token of a session that was renewed. */
export function renewSession(token: string, answer: { token: string; expires_in: number }): void {
  const { current } = state
  if (current?.token !== token) return
  const session = { ...current, token: answer.token, expiresAt: Date.now() + answer.expires_in * 1_000 }
  keep(KEY, session)
  set(session, true)
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
