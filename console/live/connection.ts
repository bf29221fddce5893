import type { Position } from './fleet.ts'

export interface Filter {
  hubIds?: string[]
  teamIds?: string[]
}

export type LiveState =
  | { name: 'connecting' | 'live' | 'catching-up' | 'forbidden' }
  /** `since`: when it was heard last. */
  | { name: 'offline'; since: number }

export interface LiveEvents {
  onSnapshot(positions: Position[]): void
  onPositions(positions: Position[]): void
  onGone(subjectIds: string[]): void
  onState(state: LiveState): void
  /** Somebody went into a geofence or out of it; also when there may be more that nobody told of. */
  onCrossings(): void
  /** The token has ended. */
  onEnded(): void
}

type Message =
  | { type: 'snapshot' | 'positions'; cursor: string; positions: Position[] }
  | { type: 'gone'; subjectIds: string[] }
  | { type: 'watching'; topics: string[] }
  | { type: 'geofence' }
  | { type: 'error'; message: string }

const TOKEN_ENDED = 4401
const PERMISSION_LOST = 4403
const RETRY_FIRST_MS = 500
const RETRY_LAST_MS = 10_000
/** The server's pings are not shown to a page: it asks something itself, and a network that has died answers nothing. */
const ASK_EVERY_MS = 15_000
const ANSWER_WITHIN_MS = 10_000
const TICK_MS = 1_000

/**
 * The live socket, kept open: a lost one is opened again with the cursor of the last message, so nothing is missed. It is
 * "catching up" from the moment when it is open again until the server has sent what changed meanwhile.
 */
export function openLive(token: string, filter: Filter, events: LiveEvents) {
  let socket: WebSocket | null = null
  let cursor: string | null = null
  let wanted = filter
  let retryMs = RETRY_FIRST_MS
  let timer: ReturnType<typeof setTimeout> | undefined
  let heardAt = Date.now()
  let askedAt = 0
  let ticked = Date.now()
  let closed = false
  let wasLive = false
  /** Whether the server has said since this socket was opened that it tells of geofences. */
  let watches = false

  const say = (message: object) => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message))
  }
  const ask = () => {
    askedAt = Date.now()
    say({ type: 'watch', topics: ['geofences'] })
  }

  function connect() {
    clearTimeout(timer)
    if (closed) return
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
    const opened = new WebSocket(`${scheme}://${location.host}/api/v3/live`, ['bearer', token])
    socket = opened
    if (!wasLive) events.onState({ name: 'connecting' })
    opened.onopen = () => {
      if (wasLive) events.onState({ name: 'catching-up' })
      heardAt = Date.now()
      // Answered at once, with what was missed: from then on it is live.
      say({ type: 'subscribe', filter: wanted, since: cursor })
      watches = false
      ask()
    }
    opened.onmessage = ({ data }) => {
      if (socket === opened) hear(JSON.parse(data as string) as Message)
    }
    opened.onclose = ({ code }) => {
      if (socket === opened) lose(code)
    }
  }

  function hear(message: Message) {
    heardAt = Date.now()
    retryMs = RETRY_FIRST_MS
    askedAt = 0
    if (message.type === 'snapshot') events.onSnapshot(message.positions)
    else if (message.type === 'positions') events.onPositions(message.positions)
    else if (message.type === 'gone') events.onGone(message.subjectIds)
    else if (message.type === 'geofence' || (message.type === 'watching' && !watches)) {
      watches = true
      events.onCrossings()
    }
    if (!('cursor' in message)) return
    cursor = message.cursor
    wasLive = true
    events.onState({ name: 'live' })
  }

  function lose(code?: number) {
    if (socket) socket.onclose = socket.onmessage = socket.onopen = null
    socket?.close()
    socket = null
    if (closed) return
    if (code === TOKEN_ENDED) return events.onEnded()
    if (code === PERMISSION_LOST) return events.onState({ name: 'forbidden' })
    events.onState({ name: 'offline', since: heardAt })
    clearTimeout(timer)
    timer = setTimeout(connect, retryMs * (0.75 + Math.random() / 2))
    retryMs = Math.min(RETRY_LAST_MS, retryMs * 2)
  }

  const hurry = () => {
    if (socket) return
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
    const slept = now - ticked > ASK_EVERY_MS * 2
    ticked = now
    if (socket?.readyState !== WebSocket.OPEN) return
    // Timers stood still: the machine slept, and what was open then rarely is any more.
    if (slept) {
      lose()
      hurry()
    } else if (askedAt > 0 && now - askedAt > ANSWER_WITHIN_MS) lose()
    else if (askedAt === 0 && now - heardAt > ASK_EVERY_MS) ask()
  }, TICK_MS)
  window.addEventListener('online', hurry)
  window.addEventListener('offline', onOffline)
  document.addEventListener('visibilitychange', onVisible)
  connect()

  return {
    setFilter(next: Filter) {
      wanted = next
      cursor = null
      say({ type: 'subscribe', filter: wanted, since: null })
    },
    close() {
      closed = true
      clearInterval(ticking)
      clearTimeout(timer)
      window.removeEventListener('online', hurry)
      window.removeEventListener('offline', onOffline)
      document.removeEventListener('visibilitychange', onVisible)
      lose()
    },
  }
}
