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

export interface LinkEvents {
  onTracked(tracked: Tracked): void
  onPoint(point: Point): void
  onConnected(connected: boolean): void
  /** It is unknown, expired or revoked. */
  onGone(): void
}

const LINK_ENDED = 4403
const RETRY_FIRST_MS = 1_000
const RETRY_LAST_MS = 20_000

/** Reads what is there, then follows it live; what was lost meanwhile is read again with the next connection. */
export function followLink(token: string, events: LinkEvents): void {
  let retryMs = RETRY_FIRST_MS
  let waiting: ReturnType<typeof setTimeout> | undefined
  let busy = false

  async function start(): Promise<void> {
    clearTimeout(waiting)
    if (busy) return
    busy = true
    try {
      const answer = await fetch(`/api/v3/location-history/tracking/${encodeURIComponent(token)}`)
      if (answer.status === 404) return events.onGone()
      if (!answer.ok) return again()
      events.onTracked(((await answer.json()) as { data: Tracked }).data)
    } catch {
      return again()
    }
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
    const socket = new WebSocket(
      `${scheme}://${location.host}/api/v3/live/tracking/${encodeURIComponent(token)}`,
    )
    socket.onopen = () => {
      retryMs = RETRY_FIRST_MS
      events.onConnected(true)
    }
    socket.onmessage = ({ data }) => {
      const { positions = [] } = JSON.parse(data as string) as { positions?: Point[] }
      for (const point of positions) events.onPoint(point)
    }
    socket.onclose = ({ code }) => {
      if (code === LINK_ENDED) return events.onGone()
      again()
    }
  }

  function again(): void {
    busy = false
    events.onConnected(false)
    waiting = setTimeout(() => void start(), retryMs)
    retryMs = Math.min(RETRY_LAST_MS, retryMs * 2)
  }

  window.addEventListener('online', () => void start())
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void start()
  })
  void start()
}
