import { fetchTimed } from '../clock.ts'
import { getSession, onSession, readClaims, renewSession, type Session } from '../session.ts'

/**
 * Renews the session while a page is open, so that whoever works, and a screen on a wall, stays signed in. The server renews a
 * session in its last four hours and ends the token that it had. All tabs share the session: each waits for a random time, and
 * the first one renews it for all.
 */
const LAST_MS = 4 * 3_600_000
const SPREAD_MS = 20 * 60_000
const AGAIN_MS = 60_000
/** Another tab stores the new token within this time, after the server has ended the old one. */
const STORED_WITHIN_MS = 1_000

let renewing: Promise<void> = Promise.resolve()
let timer: ReturnType<typeof setTimeout> | undefined

/** Renews the sessions of this page from now on. */
export function keepRenewing(): void {
  onSession(plan)
  plan()
}

function plan(): void {
  clearTimeout(timer)
  const session = getSession()
  if (!session) return
  const leftMs = session.expiresAt - Date.now()
  const spreadMs = Math.min(SPREAD_MS, leftMs / 2)
  const waitMs = Math.max(leftMs - LAST_MS, 0) + Math.random() * spreadMs
  timer = setTimeout(() => void renew(session), waitMs)
}

/** Whether the session may be renewed while a request is on its way. */
export function mayBeRenewed(): boolean {
  const session = getSession()
  return session !== null && session.expiresAt - Date.now() < LAST_MS
}

async function renew(session: Session): Promise<void> {
  renewing = ask(session)
  await renewing
}

async function ask({ token }: Session): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetchTimed('/api/v3/auth/renew', { method: 'POST', headers }).catch(() => null)
  if (response?.ok) return renewSession(token, await response.json())
  // The server or the network is away, or the session has reached its longest time. 401: another tab was faster.
  if (response?.status !== 401) timer = setTimeout(plan, AGAIN_MS)
}

/**
 * The token that has taken the place of this one, which the server has refused, or null where the session has ended. The
 * refused request has changed nothing, and can be sent again.
 */
export async function findNewerToken(refused: string): Promise<string | null> {
  await renewing
  const session = getSession()
  if (session?.token === refused && session.expiresAt - Date.now() < LAST_MS)
    await new Promise(resolve => setTimeout(resolve, STORED_WITHIN_MS))
  const now = getSession()
  const isRenewed = now && now.token !== refused && readClaims(now).jti === readClaims({ token: refused }).jti
  return isRenewed ? now.token : null
}
