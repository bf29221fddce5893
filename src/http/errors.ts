/** The ways in which a request fails; `plugins/errors.ts` puts them into the envelope. */
const STATUS = {
  'invalid-input': 400,
  unauthorized: 401,
  forbidden: 403,
  'not-found': 404,
  'wrong-method': 405,
  conflict: 409,
  'too-large': 413,
  'url-too-long': 414,
  'unsupported-media-type': 415,
  'bad-range': 416,
  unimportable: 422,
  'upgrade-required': 426,
  'rate-limited': 429,
  unavailable: 503,
} as const

const RETRY_AFTER_S = 5

export type ErrorCode = keyof typeof STATUS

/** One value that is wrong, by its place in the body or query. */
export interface FieldError {
  path: string
  message: string
}

/** An expected failure. The message is a sentence that a person can act on. */
export class RequestError extends Error {
  readonly code: ErrorCode
  readonly statusCode: number
  /** What else stands in the envelope. */
  readonly details: Record<string, unknown>
  /** When the same request may succeed, in whole seconds from now. */
  readonly retryAfterS: number

  constructor(
    code: ErrorCode,
    message: string,
    details: Record<string, unknown> = {},
    retryAfterS = RETRY_AFTER_S,
  ) {
    super(message)
    this.code = code
    this.statusCode = STATUS[code]
    this.details = details
    this.retryAfterS = Math.ceil(retryAfterS)
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return this.code === 'unavailable' || this.code === 'rate-limited'
  }
}

export const notFound = (what: string) => new RequestError('not-found', `There is no such ${what}.`)

/** The record, or 404 where there is none. */
export function found<T>(what: string, record: T | null | undefined): T {
  if (record === null || record === undefined) throw notFound(what)
  return record
}

/** What is wrong, said of where it is. */
export const notValid = (path: string, message: string) =>
  `${path === '' ? 'The request' : `"${path.slice(0, 200)}"`} is not valid: ${message.replace(/^Th/, 'th')}`

/** What is wrong with "this" is said of what it is; a sentence that says it itself stays. */
const aboutField = (path: string, message: string) =>
  path !== '' && message.startsWith('This ') ? notValid(path, message) : message

/** How a query names what stands at a path: `filter[age]` for `filter.age`. */
export const inQuery = (path: string) => path.replace(/\.(.*)$/s, '[$1]')

/** A value in the body that is well formed and still wrong, an identifier of nothing among them. The sentence may name it in another way than its path. */
export const invalid = (path: string, message: string, said = path) =>
  new FieldErrors([{ path, message }], message, said)

/** Several of them, under one sentence. */
export class FieldErrors extends RequestError {
  constructor(errors: FieldError[], message: string, said = errors[0]?.path ?? '') {
    super('invalid-input', aboutField(said, message), { errors })
  }
}

export const conflict = (message: string) => new RequestError('conflict', message)

export const forbidden = (message: string) => new RequestError('forbidden', message)

/** Also of two that end one session at once: the second has no session any more. */
export const sessionEnded = () =>
  new RequestError('unauthorized', 'The token is expired, revoked or not valid.')
