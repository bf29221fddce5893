import { forget, keep, onKept, readKept } from './storage.ts'

/**
 * Who is signed in. The token is kept where a browser shows it to scripts of this origin alone, and the page's policy lets
 * none but ours run here (docs/security.md). It is never in an address or a cookie. All tabs share it.
 */
export interface Session {
  token: string
  expiresAt: number
  /** Who it is in every organization. */
  email?: string
}

const KEY = 'fieldline.session'
const listeners = new Set<() => void>()
let current = read()
/** Also when it has ended. */
let last = current
let held: Session | null = null
const unsaved = new Map<object, Unsaved>()
let left = false
let entered = false
let moved = false

function read(): Session | null {
  return readKept(KEY, ({ token, expiresAt, email }) => {
    if (typeof token !== 'string' || typeof expiresAt !== 'number' || expiresAt <= Date.now()) return null
    const { sub, org } = readClaims({ token })
    if (typeof sub !== 'string' || typeof org !== 'string') return null
    return typeof email === 'string' ? { token, expiresAt, email } : { token, expiresAt }
  })
}

function set(session: Session | null, isOwn = false): void {
  if (left) held = null
  else if (hasUnsaved()) held = current ?? held
  // It waits for whoever typed it, who may be in another organization meanwhile.
  if (session && held && !isMove(held, session)) held = null
  if (session) {
    moved = last !== null && !isOwn && isMove(last, session)
    left = false
    last = session
  }
  current = session
  for (const listener of listeners) listener()
}

onKept(KEY, () => {
  const stored = read()
  if (stored?.token !== current?.token) set(stored)
})

export const getSession = (): Session | null => current

/**
 * The session that ended, elsewhere or with its time, while something was typed and not saved: that waits, unseen, until the
 * same account is here again in the same organization, also while the same person is in another one.
 */
export const getHeld = (): Session | null => held

/** What waits is not wanted any more. */
export function discardHeld(): void {
  held = null
  for (const listener of listeners) listener()
}

/** Whether another tab has taken this one along to another organization. */
export const wasMoved = (): boolean => moved

/** Typed and not saved, or shown this once. */
export type Unsaved = 'typed' | 'shown'

/** Something is there that would be lost, until what is answered is called. */
export function holdUnsaved(kind: Unsaved): () => void {
  const one = {}
  unsaved.set(one, kind)
  return () => void unsaved.delete(one)
}

export const hasUnsaved = (kind?: Unsaved): boolean =>
  kind === undefined ? unsaved.size > 0 : [...unsaved.values()].includes(kind)

/** Whose token it is, and in which organization. Throws where it is no JWT. */
export function readClaims({ token }: Pick<Session, 'token'>): { sub: string; org: string } {
  const [, claims] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token) ?? []
  return JSON.parse(atob((claims as string).replaceAll('-', '+').replaceAll('_', '/')))
}

export function accountOf(session: Session): string {
  const { sub, org } = readClaims(session)
  return `${org}/${sub}`
}

/** The same person in another organization. */
const isMove = (from: Session, to: Session): boolean =>
  from.email !== undefined && from.email === to.email && readClaims(from).org !== readClaims(to).org

export function onSession(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Whether somebody has signed in since this was asked last. */
export function hasJustEntered(): boolean {
  const was = entered
  entered = false
  return was
}

/** Whether somebody signed out here, rather than came without a session or lost it. */
export const hasLeft = (): boolean => left

/**
 * Over here at once, however long the server takes and wherever it is; there as soon as it hears of it, also from a page that is
 * gone, else within hours.
 */
export function leaveSession(token: string): void {
  left = true
  if (read()?.token === token) forget(KEY)
  endSession(token)
  void revoke(token)
}

const REVOKED_AGAIN_MS = [2_000, 10_000, 60_000]

async function revoke(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  for (const waitMs of REVOKED_AGAIN_MS) {
    const answer = await fetch('/api/v3/auth/logout', { method: 'POST', headers, keepalive: true }).catch(
      () => null,
    )
    // Too many requests, a database that is away, no server: later it hears of it.
    if (answer && answer.status !== 429 && answer.status < 500) return
    await new Promise(resolve => setTimeout(resolve, waitMs))
  }
}

/**
 * While another organization is asked for: the server ends the session then, which the socket may hear before the answer is
 * here. What one was looking at is nothing there.
 */
export function expectEnd(isExpected: boolean): void {
  left = isExpected
}

/** The answer of signing in, switching and creating an organization. */
export function startSession(answer: { token: string; expires_in: number; data: { email: string } }): void {
  const { token, expires_in, data } = answer
  const session = { token, expiresAt: Date.now() + expires_in * 1_000, email: data.email }
  keep(KEY, session)
  entered = true
  set(session, true)
}

/**
 * The server has ended it. It stays in the storage: another tab may be putting the next one in its place, and of two that write
 * there at once the last one counts.
 */
export function endSession(token: string): void {
  if (current?.token !== token) return
  const stored = read()
  set(stored && stored.token !== token ? stored : null)
}
