import WebSocket from 'ws'

/** A position as the live stream sends it (contract section 7.5): degrees, m/s. */
export interface LivePosition {
  subjectId: string
  name: string
  lat: number
  lng: number
  timestamp: string
  speed: number | null
  heading: number | null
  state: 'moving' | 'idle' | 'offline'
}

export type LiveMessage =
  | { type: 'snapshot' | 'positions'; cursor: string; positions: LivePosition[] }
  | { type: 'gone'; subjectIds: string[] }
  | { type: 'error'; message: string }

/** How a live connection ended. Only after `away` another attempt makes sense. */
export type Ending =
  | { kind: 'stopped' }
  | { kind: 'token-ended' }
  | { kind: 'forbidden' }
  | { kind: 'not-there' }
  | { kind: 'away'; failure: unknown }

const TOKEN_ENDED = 4401
const PERMISSION_LOST = 4403
/** The server pings every 25 s; after a longer silence the connection is considered dead. */
const SILENCE_MS = 60_000

/** Opens the live socket, subscribes from `since` on, and resolves to how it ended. */
export function followLive(options: {
  url: string
  token: string
  since: string | null
  stop: AbortSignal
  onMessage: (message: LiveMessage) => void
}): Promise<Ending> {
  const { stop } = options
  return new Promise(resolve => {
    const socket = new WebSocket(`${options.url.replace(/^http/, 'ws')}/api/v3/live`, {
      headers: { authorization: `Bearer ${options.token}` },
      handshakeTimeout: 15_000,
    })
    let failure: unknown
    let denied: Ending | undefined
    const silence = setTimeout(() => {
      failure = 'the server has become silent'
      socket.terminate()
    }, SILENCE_MS)
    const leave = () => socket.close(1000)
    stop.addEventListener('abort', leave, { once: true })

    socket.on('open', () => socket.send(JSON.stringify({ type: 'subscribe', since: options.since })))
    socket.on('ping', () => silence.refresh())
    socket.on('message', data => {
      silence.refresh()
      const message = JSON.parse(data.toString()) as LiveMessage
      // The only request is the subscription, so an error means that its permission is missing.
      if (message.type !== 'error') return options.onMessage(message)
      denied = { kind: 'forbidden' }
      socket.terminate()
    })
    socket.on('unexpected-response', (_request, { statusCode }) => {
      if (statusCode === 401) denied = { kind: 'token-ended' }
      else if (statusCode === 403) denied = { kind: 'forbidden' }
      else if (statusCode === 404) denied = { kind: 'not-there' }
      else failure = `the server answers ${statusCode}`
      socket.terminate()
    })
    socket.on('error', error => {
      failure ??= error
    })
    socket.on('close', (code, reason) => {
      clearTimeout(silence)
      stop.removeEventListener('abort', leave)
      if (stop.aborted) resolve({ kind: 'stopped' })
      else if (denied) resolve(denied)
      else if (code === TOKEN_ENDED) resolve({ kind: 'token-ended' })
      else if (code === PERMISSION_LOST) resolve({ kind: 'forbidden' })
      else {
        const closeReason = reason.toString() || 'the connection was cut'
        resolve({ kind: 'away', failure: failure ?? closeReason })
      }
    })
  })
}
