import { useEffect, useRef } from 'react'
import type { components } from '../api/interface.d.ts'
import { endSession, getSession } from '../session.ts'

type Schemas = components['schemas']
type Gone = { _id: string; deleted: true }

/** The messages about records that are watched (contract 7.5). */
export type Watched =
  | { type: 'task'; deleted?: boolean; task: Schemas['Task'] | Gone }
  | { type: 'import'; import: Schemas['ImportRecord'] }
  | { type: 'export'; export: Schemas['ExportLog'] }
type Heard = Watched | { type: 'watching' } | { type: 'error' }

interface Listener {
  /** The server sends every change from now on: what was read before may be old. */
  onWatching(): void
  onChange(message: Watched): void
}

const TOKEN_ENDED = 4401
const RETRY_FIRST_MS = 500
const RETRY_LAST_MS = 10_000
/** The page asks at this interval, and takes a socket without an answer since then for dead. */
const ASK_EVERY_MS = 15_000

/**
 * Watches topics while a page is open, over a socket of its own: the one of the live map is closed to roles without positions,
 * and its messages are parsed in a thread that knows positions alone. A lost socket is opened again.
 */
export function useWatched(topic: 'tasks' | 'imports' | 'exports', listener: Listener): void {
  const latest = useRef(listener)
  latest.current = listener
  useEffect(() => openWatch(topic, () => latest.current), [topic])
}

function openWatch(topic: string, listener: () => Listener): () => void {
  let socket: WebSocket | null = null
  let retryMs = RETRY_FIRST_MS
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Answers that are due to questions of ours. Any other `watching` tells that the role has changed. */
  let asked = 0
  let isFirst = true

  function connect() {
    clearTimeout(timer)
    const session = getSession()
    if (!session) return
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws'
    const opened = new WebSocket(`${scheme}://${location.host}/api/v3/live`, ['bearer', session.token])
    socket = opened
    asked = 0
    isFirst = true
    opened.onopen = ask
    opened.onmessage = ({ data }) => hear(JSON.parse(data as string) as Heard)
    opened.onclose = ({ code }) => {
      if (code === TOKEN_ENDED) return endSession(session.token)
      lose()
    }
  }

  function ask() {
    if (socket?.readyState !== WebSocket.OPEN) return
    asked++
    socket.send(JSON.stringify({ type: 'watch', topics: [topic] }))
  }

  function hear(message: Heard) {
    if (message.type !== 'watching') return message.type !== 'error' && listener().onChange(message)
    retryMs = RETRY_FIRST_MS
    const isAnswer = asked > 0
    asked = 0
    if (isFirst || !isAnswer) listener().onWatching()
    isFirst = false
  }

  function drop() {
    if (!socket) return
    socket.onopen = socket.onmessage = socket.onclose = null
    socket.close()
    socket = null
  }

  function lose() {
    drop()
    clearTimeout(timer)
    timer = setTimeout(connect, retryMs * (0.75 + Math.random() / 2))
    retryMs = Math.min(RETRY_LAST_MS, retryMs * 2)
  }

  const hurry = () => {
    drop()
    retryMs = RETRY_FIRST_MS
    connect()
  }
  const ticking = setInterval(() => {
    if (socket?.readyState !== WebSocket.OPEN) return
    if (asked > 0) lose()
    else ask()
  }, ASK_EVERY_MS)
  window.addEventListener('online', hurry)
  connect()
  return () => {
    clearInterval(ticking)
    clearTimeout(timer)
    window.removeEventListener('online', hurry)
    drop()
  }
}
