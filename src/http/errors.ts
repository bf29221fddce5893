import type { ErrorParams } from './envelope.ts'
import { FAILURES, type FailureCode, type FieldCode } from './error-codes.ts'

const RETRY_AFTER_S = 5

/** One wrong value, by its place in the body or query. */
export interface FieldError {
  path: string
  code: FieldCode
  message: string
  params?: ErrorParams
}

/** The fields of the envelope beside status, code, message and requestId. */
export interface Details {
  params?: ErrorParams
  errors?: readonly FieldError[]
  [field: string]: unknown
}

/** An expected failure. The message is a sentence that a person can act on. */
export class RequestError extends Error {
  readonly code: FailureCode
  readonly statusCode: number
  /** The other fields of the envelope. */
  readonly details: Details
  /** Whole seconds from now until the same request may succeed. */
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
    return this.statusCode === 503 || this.statusCode === 429
  }
}

export const notFound = (what: string) => new RequestError('not-found', `There is no such ${what}.`)

/** Returns the record, or throws 404 if there is none. */
export function found<T>(what: string, record: T | null | undefined): T {
  if (record === null || record === undefined) throw notFound(what)
  return record
}

/** A sentence that says where in the request the fault is. */
export const notValid = (path: string, message: string) =>
  `${path === '' ? 'The request' : `"${path.slice(0, 200)}"`} is not valid: ${message.replace(/^Th/, 'th')}`

/** Replaces "this" at the beginning of a message with the field's name; other messages stay as they are. */
const aboutField = (path: string, message: string) =>
  path !== '' && message.startsWith('This ') ? notValid(path, message) : message

/** The name of a path's parameter in a query: `filter[age]` for `filter.age`. */
export const inQuery = (path: string) => path.replace(/\.(.*)$/s, '[$1]')

/**
 * A failure about one value. `subject` names the value in the message where its path is not what a reader knows it by.
 */
export const invalid = (
  path: string,
  message: string,
  code: FieldCode = 'invalid',
  { subject = path, params }: { subject?: string; params?: ErrorParams } = {},
) => new FieldErrors([{ path, code, message, ...(params && { params }) }], message, subject)

/** A failure about several values, under one message. */
export class FieldErrors extends RequestError {
  constructor(errors: FieldError[], message: string, subject = errors[0]?.path ?? '') {
    super('invalid-input', aboutField(subject, message), { errors })
  }
}

export const conflict = (
  message: string,
  code: Extract<
    FailureCode,
    'conflict' | 'not-unique' | 'in-use' | 'reference-deleted' | 'too-many-records' | 'too-many-vertices'
  > = 'conflict',
  params?: ErrorParams,
) => new RequestError(code, message, params && { params })

export const forbidden = (message: string, code: 'forbidden' | 'no-organization' = 'forbidden') =>
  new RequestError(code, message)

export const lacksPermission = (
  permission: string,
  message = `Your role lacks the permission ${permission}.`,
) => new RequestError('forbidden', message, { params: { permission } })

export const lacksSecondFactor = () =>
  new RequestError(
    'second-factor-required',
    'This organization demands a second factor. Set one up, then go on.',
  )

/** Also thrown when two requests end one session at once: the second one finds no session. */
export const sessionEnded = () =>
  new RequestError('unauthorized', 'The token is expired, revoked or not valid.')
