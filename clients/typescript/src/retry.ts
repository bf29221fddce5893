import { type FieldlineError, fromAnswer, unreachable } from './error.ts'

export interface RetryOptions {
  /** For how long a request is sent again while the server is away or asks to wait, in ms. */
  retryForMs: number
  /** How long one attempt waits for the head of an answer, in ms. Its body may take longer. */
  answerWithinMs: number
  /** Gets the failure before each wait; throws to end the attempts. */
  onWait?: (failure: FieldlineError, waitMs: number) => void
}

const FIRST_WAIT_MS = 500
const LAST_WAIT_MS = 10_000
/** The server is busy or away, or something in front of it is; the request was not refused. */
const PASSING = new Set([408, 429, 502, 503, 504])

/**
 * Sends requests, and sends them again after failures that pass: no connection, or an answer of PASSING. A POST has an
 * Idempotency-Key, so that the server carries it out once however often it comes.
 */
export function createRetryingFetch(options: RetryOptions): (request: Request) => Promise<Response> {
  return async request => {
    const until = performance.now() + options.retryForMs
    if (request.method === 'POST' && !request.headers.has('idempotency-key'))
      request.headers.set('idempotency-key', crypto.randomUUID())
    for (let attempt = 0; ; attempt++) {
      const answer = await attemptOnce(request.clone(), options.answerWithinMs)
      if (answer instanceof Response && !PASSING.has(answer.status)) return answer
      request.signal.throwIfAborted()
      const waitMs = (answer instanceof Response && readRetryAfter(answer)) || backOff(attempt)
      const isLast = performance.now() + waitMs > until
      if (answer instanceof Response) {
        if (isLast) return answer
        options.onWait?.(fromAnswer(answer.status, await answer.json().catch(() => null)), waitMs)
      } else {
        const failure = unreachable(new URL(request.url).origin, answer.failed)
        if (isLast) throw failure
        options.onWait?.(failure, waitMs)
      }
      await wait(waitMs, request.signal)
    }
  }
}

async function attemptOnce(request: Request, answerWithinMs: number): Promise<Response | { failed: Error }> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Error('There is no answer in time.')), answerWithinMs)
  try {
    return await fetch(request, { signal: AbortSignal.any([request.signal, late.signal]) })
  } catch (error) {
    return { failed: error as Error }
  } finally {
    clearTimeout(timer)
  }
}

/** Milliseconds; null without the header. It holds seconds or a date. */
export function readRetryAfter({ headers }: Response): number | null {
  const text = headers.get('retry-after')
  if (text === null) return null
  const seconds = Number(text)
  if (seconds >= 0) return seconds * 1000
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now())
}

/** Doubles with each attempt, and is spread, so that many clients do not return at the same moment. */
export function backOff(attempt: number): number {
  return Math.min(LAST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) * (0.75 + Math.random() / 2)
}

/** Resolves after so many milliseconds, or rejects with the signal's reason. */
export function wait(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
