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
  /** `since`: when it was heard last. */
  | { name: 'offline'; since: number }

export interface LiveEvents {
  onSnapshot(positions: Packed): void
  onPositions(positions: Packed): void
  onGone(subjectIds: string[]): void
  onState(state: LiveState): void
  /** Somebody went into a geofence or out of it; also when there may be more that nobody told of. */
  onCrossings(): void
  /** The token has ended. */
  onEnded(): void
}

const TOKEN_ENDED = 4401
const PERMISSION_LOST = 4403
const RETRY_FIRST_MS = 500
const RETRY_LAST_MS = 10_000
/**
 * The server's pings are not shown to a page: where nothing came it asks something itself, and a network that has died or a
 * server that stands still answers nothing. Both together are how long a screen shows as live what is not.
 */
const ASK_AFTER_MS = 4_000
const ANSWER_WITHIN_MS = 5_000
/** A connection is open, and on it what there is, maybe 10,000 positions over a bad mobile line. */
const OPEN_WITHIN_MS = 30_000
/** Nothing else keeps timers from running for so long: those of a page that nobody sees run once a minute. */
const SLEPT_MS = 90_000
const TICK_MS = 1_000

/**
 * The live socket, kept open: a lost one is opened again with the cursor of the last message, so nothing is missed. It is
 * "catching up" from the moment when it is open again until the server has sent what changed meanwhile.
 */
export function openLive(token: string, filter: Filter, events: LiveEvents) {
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
    socket.open(`${scheme}://${location.host}/api/v3/live`, token)
  }

  function onOpened() {
    phase = 'open'
    if (wasLive) events.onState({ name: 'catching-up' })
    heardAt = Date.now()
    // Answered at once, with what was missed: from then on it is live.
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
    if (code === TOKEN_ENDED) return events.onEnded()
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
    // Timers stood still: the machine slept, and what was open then rarely is any more.
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
