/** One entry of `errors` in the answer to a request that is wrong: its place, the rule, and a sentence. */
export interface InvalidValue {
  path: string
  code: string
  message: string
}

interface FailureBody {
  message?: string
  code?: string
  requestId?: string
  errors?: InvalidValue[]
}

/** A request that failed for good, or for longer than the client retries. */
export class FieldlineError extends Error {
  /** The HTTP status; 0 where the server gave no answer. */
  readonly status: number
  /** A word of the interface's closed list, such as `not-unique`; `unreachable` where the server gave no answer. */
  readonly code: string
  /** Names the request in the server's log. */
  readonly requestId: string | null
  readonly errors: readonly InvalidValue[]
  /** The JSON of the answer; null where there was none. */
  readonly body: unknown

  constructor(status: number, code: string, message: string, body: unknown = null, cause?: unknown) {
    super(message, { cause })
    this.name = 'FieldlineError'
    const { requestId, errors } = (body ?? {}) as FailureBody
    this.status = status
    this.code = code
    this.requestId = requestId ?? null
    this.errors = errors ?? []
    this.body = body
  }
}

/** A failure that the server answered with. */
export function fromAnswer(status: number, body: unknown): FieldlineError {
  const { code, message } = (typeof body === 'object' && body !== null ? body : {}) as FailureBody
  // A proxy answers with a page of its own.
  if (message === undefined)
    return new FieldlineError(status, 'failed', `The server answers ${status}.`, body)
  return new FieldlineError(status, code ?? 'failed', message, body)
}

export const unreachable = (url: string, cause: unknown) =>
  new FieldlineError(0, 'unreachable', `There is no server at ${url}.`, null, cause)
