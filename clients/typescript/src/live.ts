import { openSocket } from '#socket'
import { FieldlineError } from './error.ts'
import { createInbox } from './inbox.ts'
import type { LiveMessage, Topic } from './messages.ts'
import { backOff, wait } from './retry.ts'

export interface LiveOptions {
  /** Keys are ANDed, values ORed. `bbox` is west, south, east, north. */
  filter?: {
    subjectIds?: string[]
    hubIds?: string[]
    teamIds?: string[]
    bbox?: [number, number, number, number]
  }
  /** The cursor of the last message that an earlier reader had. */
  since?: string | null
  /** Changes to send besides positions. */
  watch?: Topic[]
  /** Ends the loop. */
  signal?: AbortSignal
  /** Called when the connection is lost, with the reason; it is opened again. */
  onLost?: (reason: string) => void
}

/** The server whose live socket is opened. */
interface Server {
  baseUrl: string
  readToken(): string | undefined
  /** Asks for the socket's path over HTTP, which is 426 for whoever may open it; throws a FieldlineError. */
  knock(signal: AbortSignal): Promise<unknown>
}

/** No token, no permission, or no Fieldline. */
const REFUSED = new Set([400, 401, 403, 404])
/** The token has ended, or a permission was taken away. */
const DENIED = new Set([4401, 4403])
/** A lost network cuts nothing by itself, and a browser shows no pings: after so much silence the server is asked to answer. */
const ASK_AFTER_MS = 20_000
const ANSWER_WITHIN_MS = 20_000

/** How a connection ended, where another attempt makes sense. */
interface Lost {
  reason: string
  /** Whether the server may have refused it: that tells a browser nothing, but a request does. */
  isRefused: boolean
}

export async function* followLive(server: Server, options: LiveOptions): AsyncGenerator<LiveMessage> {
  const inbox = createInbox(options.since ?? null)
  const left = new AbortController()
  const signal = AbortSignal.any([left.signal, ...(options.signal ? [options.signal] : [])])
  const connected = keepConnected(server, options, inbox, signal).then(inbox.end, inbox.fail)
  try {
    for (;;) {
      const messages = await inbox.take()
      if (messages === null) return
      yield* messages
    }
  } finally {
    left.abort()
    await connected
  }
}

/** Connects again and again. Resolves when the signal is aborted; throws where the token or a permission is missing. */
async function keepConnected(
  server: Server,
  options: LiveOptions,
  inbox: ReturnType<typeof createInbox>,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 0; !signal.aborted; attempt++) {
    const lost = await connectOnce(server, options, inbox, signal)
    if (signal.aborted) return
    if (lost.isRefused) await requireAccess(server, signal)
    else attempt = 0
    options.onLost?.(lost.reason)
    await wait(backOff(attempt), signal).catch(() => {})
  }
}

function connectOnce(
  server: Server,
  { filter, watch = [] }: LiveOptions,
  inbox: ReturnType<typeof createInbox>,
  signal: AbortSignal,
): Promise<Lost> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(`${server.baseUrl.replace(/^http/, 'ws')}/api/v3/live`, [
      'bearer',
      server.readToken() ?? '',
    ])
    const say = (message: object) => socket.send(JSON.stringify(message))
    const ask = () => say({ type: 'watch', topics: watch })
    let wasOpen = false
    let reason = 'there is no answer'
    const silence = watchSilence(
      () => wasOpen && ask(),
      () => {
        reason = wasOpen ? 'the server has become silent' : reason
        socket.close()
        // A dead network does not answer the closing handshake either.
        end(() => resolve({ reason, isRefused: !wasOpen }))
      },
    )
    const leave = () => {
      socket.close()
      end(() => resolve({ reason, isRefused: !wasOpen }))
    }
    function end(settle: () => void) {
      silence.stop()
      signal.removeEventListener('abort', leave)
      // A message that comes while it closes belongs to no connection any more.
      socket.onmessage = null
      settle()
    }
    signal.addEventListener('abort', leave, { once: true })
    socket.onopen = () => {
      wasOpen = true
      inbox.connect(watch.length > 0)
      say({ type: 'subscribe', filter, since: inbox.cursor })
      ask()
    }
    socket.onmessage = ({ data }) => {
      silence.hear()
      const message = JSON.parse(String(data)) as LiveMessage | { type: 'error'; message: string }
      if (message.type === 'error') {
        socket.close()
        end(() => reject(new FieldlineError(400, 'refused', message.message)))
      } else if (!inbox.put(message)) {
        reason = 'the reader is too slow'
        socket.close()
      }
    }
    socket.onerror = event => {
      reason = (event as { message?: string }).message ?? reason
    }
    socket.onclose = ({ code, reason: text }) =>
      end(() => {
        resolve({ reason: text || reason, isRefused: !wasOpen || DENIED.has(code) })
      })
  })
}

/** Calls `ask` after a silence, and `lose` if nothing is heard then either. */
function watchSilence(ask: () => void, lose: () => void) {
  let timer: ReturnType<typeof setTimeout>
  const hear = () => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      ask()
      timer = setTimeout(lose, ANSWER_WITHIN_MS)
    }, ASK_AFTER_MS)
  }
  hear()
  return { hear, stop: () => clearTimeout(timer) }
}

/** Throws where the server refuses the socket for good. Resolves where it is away or full. */
async function requireAccess(server: Server, signal: AbortSignal): Promise<void> {
  try {
    await server.knock(signal)
  } catch (error) {
    if (error instanceof FieldlineError && REFUSED.has(error.status)) throw error
  }
}
