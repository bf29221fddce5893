import { FAILURES, type FailureCode, type FieldCode } from './error-codes.ts'

const RETRY_AFTER_S = 5

/** One value that is wrong, by its place in the body or query. */
export interface FieldError {
  path: string
  code: FieldCode
  message: string
}

/** The fields of the envelope beside status, code, message and requestId. */
export interface Details {
  errors?: readonly FieldError[]
  [field: string]: unknown
}

/** An expected failure. The message is a sentence that a person can act on. */
export class RequestError extends Error {
  readonly code: FailureCode
  readonly statusCode: number
  /** The other fields of the envelope. */
  readonly details: Details
  /** When the same request may succeed, in whole seconds from now. */
  readonly retryAfterS: number

  constructor(code: FailureCode, message: string, details: Details = {}, retryAfterS = RETRY_AFTER_S) {
    super(message)
    this.code = code
    this.statusCode = FAILURES[code].status
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

/** One value that is wrong. The sentence may name it in another way than its path. */
export const invalid = (path: string, message: string, code: FieldCode = 'invalid', said = path) =>
  new FieldErrors([{ path, code, message }], message, said)

/** Several of them, under one sentence. */
export class FieldErrors extends RequestError {
  constructor(errors: FieldError[], message: string, said = errors[0]?.path ?? '') {
    super('invalid-input', aboutField(said, message), { errors })
  }
}

export const conflict = (
  message: string,
  code: 'conflict' | 'not-unique' | 'in-use' | 'too-many-records' = 'conflict',
) => new RequestError(code, message)

export const forbidden = (message: string, code: 'forbidden' | 'restricted-field' = 'forbidden') =>
  new RequestError(code, message)

/** Also of two that end one session at once: the second has no session any more. */
export const sessionEnded = () =>
  new RequestError('unauthorized', 'The token is expired, revoked or not valid.')
