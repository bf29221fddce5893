import { readRetryAfter } from '../api/retry-after.ts'
import { fetchTimed } from '../clock.ts'

/** A position of a tracking link. */
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

/**
 * `silent`: no message for so long that the last one says nothing about now. `lost`: no server answers. `busy`: the server
 * asks for a later request.
 */
export type Heard = 'live' | 'silent' | 'lost' | 'busy'

interface Frame {
  type: string
  /** In a frame that changes the name. */
  name?: string
  positions?: Point[]
  /** In a snapshot. */
  trailMinutes?: number
}

export interface LinkEvents {
  onTracked(tracked: Tracked): void
  onPoint(point: Point): void
  /** The length of the trail that the link shows, before the first new point. */
  onTrailMinutes(minutes: number): void
  /** The current name of the subject. */
  onName(name: string): void
  onHeard(heard: Heard): void
  /** The link is unknown, expired or revoked. */
  onGone(): void
}

const LINK_ENDED = 4403
const RETRY_FIRST_MS = 1_000
const RETRY_LAST_MS = 5_000
const ANSWER_WITHIN_MS = 10_000
/** The server sends a message at least every 15 seconds. */
const SILENT_MS = 20_000

/**
 * Reads the current state of a link, then follows it live. A silent socket is replaced, also as soon as the page is visible
 * again or the network is back. The next read brings everything missed meanwhile.
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
  /** No request is sent before this time. */
  let busyUntil = 0
  let newest = ''
  /** Whether a part of the trail is missing. */
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
      // While the socket is open, only the connection of the request may have died.
      if (!socket) lose()
      else setTimeout(() => misses && void read(), RETRY_FIRST_MS)
    } finally {
      reading = false
    }
  }

  /** Always over a new connection, whatever the browser believes about its old ones. */
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

  /** A read tells whether the link has ended; a refused socket does not. */
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
