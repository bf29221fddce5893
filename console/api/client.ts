import createClient from 'openapi-fetch'
import { fetchTimed } from '../clock.ts'
import { endSession, getSession } from '../session.ts'
import { Failure } from './failure.ts'
import type { components, paths } from './interface.d.ts'
import { findNewerToken, mayBeRenewed } from './renewal.ts'
import { readRetryAfter } from './retry-after.ts'

/**
 * A server that hangs accepts a connection and sends nothing. This bounds the wait for the response's head; its body may take
 * longer.
 */
const ANSWER_WITHIN_MS = 20_000
const AGAIN_AFTER_MS = 5_000

async function fetchInTime(request: Request): Promise<Response> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Failure(0, undefined, [], AGAIN_AFTER_MS)), ANSWER_WITHIN_MS)
  try {
    return await fetchTimed(request, { signal: AbortSignal.any([request.signal, late.signal]) })
  } finally {
    clearTimeout(timer)
  }
}

/** Sends a request again when its token was refused because the session was renewed meanwhile. */
async function fetchRenewed(request: Request): Promise<Response> {
  if (!mayBeRenewed()) return fetchInTime(request)
  const copy = request.clone()
  const response = await fetchInTime(request)
  const refused = response.status === 401 ? tokenOf(request) : undefined
  const token = refused ? await findNewerToken(refused) : null
  if (token === null) return response
  copy.headers.set('authorization', `Bearer ${token}`)
  return fetchInTime(copy)
}

const tokenOf = ({ headers }: Request) => headers.get('authorization')?.slice('Bearer '.length)

/** The API's client, typed by the OpenAPI document. */
export const api = createClient<paths>({ fetch: fetchRenewed })

api.use({
  onRequest({ request }) {
    const session = getSession()
    if (session) request.headers.set('authorization', `Bearer ${session.token}`)
    return request
  },
  onResponse({ request, response }) {
    const token = tokenOf(request)
    if (response.status === 401 && token) endSession(token)
    if (response.status === 403) for (const listener of refusals) listener()
  },
})

const refusals = new Set<() => void>()

/** Calls the listener whenever a request is forbidden: the role may have changed. */
export function onRefusal(listener: () => void): () => void {
  refusals.add(listener)
  return () => void refusals.delete(listener)
}

type Answered<T> = { data?: T; error?: unknown; response: Response }

/** The code of a failure without one, such as a proxy's. */
const UNKNOWN = 'unknown'

/** The response's body. Throws a Failure with the server's code. */
export async function answered<T>(request: Promise<Answered<T>>): Promise<NonNullable<T>> {
  const { data, error, response } = await request.catch((cause: unknown) => {
    if (cause instanceof Failure) throw cause
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new Failure(0)
  })
  if (data !== undefined && data !== null && response.ok) return data
  const {
    code = UNKNOWN,
    message = response.statusText || `HTTP ${response.status}`,
    params,
    challenge,
    errors,
  } = (error ?? {}) as Partial<components['schemas']['Failure']>
  throw new Failure(response.status, { code, message, params, challenge }, errors, readRetryAfter(response))
}
