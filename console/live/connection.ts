import { serverNow } from '../clock.ts'
import type { Changes } from './changes.ts'
import type { Packed } from './packed.ts'
import { createSocket } from './socket.ts'

export interface Filter {
  hubIds?: string[]
  teamIds?: string[]
}

export type LiveState =
  | { name: 'connecting' | 'live' | 'catching-up' | 'forbidden' }
  /** `since`: the time of the last message. */
  | { name: 'offline'; since: number }

export interface LiveEvents {
  onSnapshot(positions: Packed): void
  onPositions(positions: Packed): void
  onGone(subjectIds: string[]): void
  onState(state: LiveState): void
  /** A subject may have entered or left a geofence. */
  onCrossings(): void
  /** The session of this token has ended. */
  onEnded(token: string): void
}

const TOKEN_ENDED = 4401
const PERMISSION_LOST = 4403
const RETRY_FIRST_MS = 500
const RETRY_LAST_MS = 10_000
/**
 * Browsers do not show a page the server's pings. When no message comes, the page sends a request of its own, which a dead
 * network or a hanging server does not answer. Both times together bound how long a screen shows stale positions as live.
 */
const ASK_AFTER_MS = 4_000
const ANSWER_WITHIN_MS = 5_000
/** Time to connect and to receive the snapshot, which may hold 10,000 positions over a bad mobile connection. */
const OPEN_WITHIN_MS = 30_000
/** Only a sleeping machine stops timers for this long: those of a hidden page run once a minute. */
const SLEPT_MS = 90_000
const TICK_MS = 1_000

/**
 * Keeps the live socket open. A lost one is opened again with the cursor of the last message, so nothing is missed. The state
 * is "catching-up" from then until the server has sent what changed meanwhile.
 */
export function openLive(readToken: () => string, filter: Filter, events: LiveEvents) {
  /** An open socket outlives its token when the session is renewed. */
  let token = readToken()
  let phase: 'closed' | 'opening' | 'open' = 'closed'
  let cursor: string | null = null
  let wanted = filter
  let retryMs = RETRY_FIRST_MS
  let timer: ReturnType<typeof setTimeout> | undefined
  let heardAt = Date.now()
  let askedAt = 0
  let patienceMs = OPEN_WITHIN_MS
  let ticked = Date.now()
  let closed = false
  let wasLive = false
  const socket = createSocket({ onOpened, onChanged, onClosed: lose })

  const ask = () => {
    askedAt = Date.now()
    socket.say({ type: 'watch', topics: ['geofences'] })
  }

  function connect() {
    clearTimeout(timer)
    if (closed) return
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
    phase = 'opening'
    askedAt = Date.now()
    patienceMs = OPEN_WITHIN_MS
    if (!wasLive) events.onState({ name: 'connecting' })
    token = readToken()
    socket.open(`${scheme}://${location.host}/api/v3/live`, token)
  }

  function onOpened() {
    phase = 'open'
    if (wasLive) events.onState({ name: 'catching-up' })
    heardAt = Date.now()
    // The server answers at once with everything missed: after that the state is live.
    socket.say({ type: 'subscribe', filter: wanted, since: cursor })
    ask()
  }

  function onChanged(changes: Changes) {
    heardAt = Date.now()
    retryMs = RETRY_FIRST_MS
    askedAt = 0
    if (changes.isAll) events.onSnapshot(changes.positions)
    else {
      if (changes.gone.length > 0) events.onGone(changes.gone)
      if (changes.positions.ids.length > 0) events.onPositions(changes.positions)
    }
    if (changes.crossings) events.onCrossings()
    if (changes.cursor === null) return
    cursor = changes.cursor
    patienceMs = ANSWER_WITHIN_MS
    wasLive = true
    events.onState({ name: 'live' })
  }

  function lose(code?: number) {
    socket.close()
    phase = 'closed'
    if (closed) return
    if (code === TOKEN_ENDED) return events.onEnded(token)
    if (code === PERMISSION_LOST) return events.onState({ name: 'forbidden' })
    events.onState({ name: 'offline', since: serverNow() - (Date.now() - heardAt) })
    clearTimeout(timer)
    timer = setTimeout(connect, retryMs * (0.75 + Math.random() / 2))
    retryMs = Math.min(RETRY_LAST_MS, retryMs * 2)
  }

  const hurry = () => {
    if (phase !== 'closed') return
    retryMs = RETRY_FIRST_MS
    connect()
  }
  const onOffline = () => lose()
  const onVisible = () => {
    if (document.visibilityState !== 'visible') return
    hurry()
    ask()
  }
  const ticking = setInterval(() => {
    const now = Date.now()
    const slept = now - ticked > SLEPT_MS
    ticked = now
    if (phase === 'closed') return
    // The machine slept. A connection rarely survives that.
    if (slept) {
      lose()
      hurry()
    } else if (askedAt > 0 && now - askedAt > patienceMs) lose()
    else if (askedAt === 0 && now - heardAt > ASK_AFTER_MS) ask()
  }, TICK_MS)
  window.addEventListener('online', hurry)
  window.addEventListener('offline', onOffline)
  document.addEventListener('visibilitychange', onVisible)
  connect()

  return {
    setFilter(next: Filter) {
      wanted = next
      cursor = null
      patienceMs = OPEN_WITHIN_MS
      socket.say({ type: 'subscribe', filter: wanted, since: null })
    },
    close() {
      closed = true
      clearInterval(ticking)
      clearTimeout(timer)
      window.removeEventListener('online', hurry)
      window.removeEventListener('offline', onOffline)
      document.removeEventListener('visibilitychange', onVisible)
      lose()
      socket.end()
    },
  }
}
