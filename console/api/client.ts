import createClient from 'openapi-fetch'
import { fetchTimed, serverNow } from '../clock.ts'
import { endSession, getSession } from '../session.ts'
import { Failure } from './failure.ts'
import type { paths } from './interface.d.ts'

/** A server that stands still takes a connection and says nothing. What it says after that may take its time. */
const ANSWER_WITHIN_MS = 20_000
const AGAIN_AFTER_MS = 5_000

async function fetchInTime(request: Request): Promise<Response> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Failure(0, '', [], AGAIN_AFTER_MS)), ANSWER_WITHIN_MS)
  try {
    return await fetchTimed(request, { signal: AbortSignal.any([request.signal, late.signal]) })
  } finally {
    clearTimeout(timer)
  }
}

/** The interface, typed by its own document. */
export const api = createClient<paths>({ fetch: fetchInTime })

api.use({
  onRequest({ request }) {
    const session = getSession()
    if (session) request.headers.set('authorization', `Bearer ${session.token}`)
    return request
  },
  onResponse({ request, response }) {
    const token = request.headers.get('authorization')?.slice('Bearer '.length)
    if (response.status === 401 && token) endSession(token)
    if (response.status === 403) for (const listener of refusals) listener()
  },
})

const refusals = new Set<() => void>()

/** Whenever the role may not what was asked: it may be another one than it was. */
export function onRefusal(listener: () => void): () => void {
  refusals.add(listener)
  return () => void refusals.delete(listener)
}

type Answered<T> = { data?: T; error?: unknown; response: Response }

/** What was answered. Throws a Failure with the server's own words. */
export async function answered<T>(request: Promise<Answered<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await request.catch((cause: unknown) => {
    if (cause instanceof Failure) throw cause
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new Failure(0, '')
  })
  if (data !== undefined && data !== null && response.ok) return data
  const { message = response.statusText, errors = [] } = (error ?? {}) as {
    message?: string
    errors?: { path: string; message: string }[]
  }
  const retryAfterMs = BUSY.has(response.status) ? readRetryAfter(response.headers) : undefined
  throw new Failure(response.status, message, errors, retryAfterMs)
}

const BUSY: ReadonlySet<number> = new Set([429, 503])
/** Nobody looks at a page for longer that says it is tried again. */
const MAX_RETRY_AFTER_MS = 60_000
const MIN_RETRY_AFTER_MS = 1_000

/** Seconds or a date (RFC 9110, 10.2.3), and up to a fifth more: pages that were refused at once do not come back at once. */
function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after') ?? ''
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - serverNow()
  if (Number.isNaN(ms)) return undefined
  const bounded = Math.min(Math.max(ms, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS)
  return bounded * (1 + Math.random() / 5)
}
