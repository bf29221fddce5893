import createClient from 'openapi-fetch'
import { fetchTimed } from '../clock.ts'
import { endSession, getSession } from '../session.ts'
import { Failure } from './failure.ts'
import type { paths } from './interface.d.ts'
import { readRetryAfter } from './retry-after.ts'

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
  throw new Failure(response.status, message, errors, readRetryAfter(response))
}
