import { readRetryAfter } from '../api/retry-after.ts'
import { fetchTimed } from '../clock.ts'

/** What a tracking link shows, and how it goes on. */
export interface Point {
  lat: number
  lng: number
  timestamp: string
  speed: number | null
  heading: number | null
}

interface Tracked {
  name: string
  position: Point | null
  trail: Point[]
  expiresAt: string
}

/** Silent: nothing was heard for so long that what was heard last says nothing of now. Lost: nobody answers. Busy: who answers wants to be asked later. */
export type Heard = 'live' | 'silent' | 'lost' | 'busy'

interface Frame {
  type: string
  /** Of a frame that says that it is another. */
  name?: string
  positions?: Point[]
  /** Of a snapshot. */
  trailMinutes?: number
}

export interface LinkEvents {
  onTracked(tracked: Tracked): void
  onPoint(point: Point): void
  /** How much of its way the link shows, said before the first point that is new. */
  onTrailMinutes(minutes: number): void
  /** What it is called now. */
  onName(name: string): void
  onHeard(heard: Heard): void
  /** It is unknown, expired or revoked. */
  onGone(): void
}

const LINK_ENDED = 4403
const RETRY_FIRST_MS = 1_000
const RETRY_LAST_MS = 5_000
const ANSWER_WITHIN_MS = 10_000
/** Every 15 seconds the server says something, if nothing else then that it is there. */
const SILENT_MS = 20_000

/**
 * Reads what is there, then follows it live. A socket that was silent for long is replaced, also as soon as somebody looks
 * again or the network is back; what was missed meanwhile comes with the next one.
 */
export function followLink(token: string, events: LinkEvents): void {
  const path = encodeURIComponent(token)
  const over = new AbortController()
  let socket: WebSocket | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let retryMs = RETRY_FIRST_MS
  let heard: Heard = 'live'
  let heardAt = 0
  let reading = false
  /** Until when nobody is asked again. */
  let busyUntil = 0
  let newest = ''
  /** Whether there is a part of the trail that nobody told of. */
  let misses = false

  function next(step: () => void, ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(step, ms)
  }

  async function read(): Promise<void> {
    if (reading || over.signal.aborted) return
    reading = true
    try {
      const answer = await fetchTimed(`/api/v3/location-history/tracking/${path}`, {
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      })
      if (over.signal.aborted) return
      if (answer.status === 404) return end()
      busyUntil = Date.now() + (readRetryAfter(answer) ?? 0)
      if (!answer.ok) throw new Error(answer.statusText)
      const { data: tracked } = (await answer.json()) as { data: Tracked }
      newest = tracked.position?.timestamp ?? ''
      misses = false
      events.onTracked(tracked)
      if (!socket) connect()
    } catch {
      if (over.signal.aborted) return
      // Where the socket is open, the connection that was asked over alone may have died.
      if (!socket) lose()
      else setTimeout(() => misses && void read(), RETRY_FIRST_MS)
    } finally {
      reading = false
    }
  }

  /** Always over a new connection, whatever the browser believes of those it has. */
  function connect(): void {
    leave()
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
    const opened = new WebSocket(`${scheme}://${location.host}/api/v3/live/tracking/${path}`)
    socket = opened
    next(lose, ANSWER_WITHIN_MS)
    opened.onopen = () => {
      retryMs = RETRY_FIRST_MS
      hear()
    }
    opened.onmessage = ({ data }) => {
      hear()
      const { type, name, positions = [], trailMinutes } = JSON.parse(data as string) as Frame
      if (name !== undefined) events.onName(name)
      if (trailMinutes !== undefined) events.onTrailMinutes(trailMinutes)
      for (const point of positions) {
        if (point.timestamp <= newest) continue
        newest = point.timestamp
        if (type === 'snapshot') misses = true
        events.onPoint(point)
      }
      if (misses) void read()
    }
    opened.onclose = ({ code }) => (code === LINK_ENDED ? end() : lose())
  }

  function hear(): void {
    heardAt = Date.now()
    tell('live')
    next(replace, SILENT_MS)
  }

  function replace(): void {
    tell('silent')
    connect()
  }

  function tell(now: Heard): void {
    if (now === heard) return
    heard = now
    events.onHeard(now)
  }

  function leave(): void {
    if (socket) socket.onopen = socket.onmessage = socket.onclose = null
    socket?.close()
    socket = undefined
  }

  function lose(): void {
    leave()
    const busyMs = busyUntil - Date.now()
    tell(busyMs > 0 ? 'busy' : 'lost')
    next(tryAgain, Math.max(retryMs, busyMs))
    retryMs = Math.min(RETRY_LAST_MS, retryMs * 2)
  }

  /** Whether the link has ended meanwhile is told to who reads, and not to a socket that was not let in. */
  function tryAgain(): void {
    connect()
    void read()
  }

  function end(): void {
    over.abort()
    clearTimeout(timer)
    leave()
    events.onGone()
  }

  const { signal } = over
  window.addEventListener('online', tryAgain, { signal })
  window.addEventListener('offline', lose, { signal })
  const onVisible = () => {
    if (document.visibilityState === 'visible' && Date.now() - heardAt > SILENT_MS / 2) tryAgain()
  }
  document.addEventListener('visibilitychange', onVisible, { signal })
  void read()
}
