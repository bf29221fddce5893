import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { UntrustedClockError } from '../../../db/clock.ts'
import { isAway, isBusy, isReferenced, isTimeout, isTransient, overCap } from '../../../db/errors.ts'
import type { App } from '../../services.ts'
import { codeOfStatus, FAILURES, type FailureCode } from '../error-codes.ts'
import { type Details, RequestError } from '../errors.ts'
import { InvalidInput } from '../validation.ts'

const RETRY_AFTER_S = 5
const BUSY_RETRY_AFTER_S = 2
/** Enough to correct a body, which may be wrong in 20,000 places. */
const MAX_ERRORS = 100

/** Fastify's own failures, in sentences that a person can act on. */
const SENTENCES: { [code: string]: string } = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is larger than what is accepted here.',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'This media type is not accepted here: send application/json.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body is not as long as its Content-Length says.',
  FST_ERR_BAD_URL: 'The address is not a valid URL.',
}
const INVALID = 'The request is not valid.'

/** The one place that turns errors into HTTP answers. */
export function addErrorHandling(app: App): void {
  app.setNotFoundHandler((request, reply) =>
    answer(request, reply, 'not-found', 'There is nothing at this address.'),
  )
  app.setErrorHandler(answerError)
}

/** Also answers failures before a route is found. */
export function answerError(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  // A client that disconnects in the middle of a body reads no answer. The error is not the database's, though both may
  // be connection resets.
  if (error === request.raw.errored)
    return answer(request, reply, 'malformed-request', 'The body did not arrive whole.')
  if (error instanceof RequestError) {
    if (error.retryable) reply.header('retry-after', error.retryAfterS)
    return answer(request, reply, error.code, error.message, error.details)
  }
  if (error instanceof InvalidInput) {
    if (error.validationContext === 'params') {
      const [, resource = 'record'] = /([a-z-]+)\/:id/.exec(request.routeOptions.url ?? '') ?? []
      const kind = resource
        .replace(/-monitoring$/, '')
        .replaceAll('-', ' ')
        .replace(/^api\b/, 'API')
      return answer(request, reply, 'not-found', `There is no such ${kind}.`)
    }
    return answer(request, reply, 'invalid-input', error.message, { errors: error.errors })
  }
  if (isBusy(error)) {
    reply.header('retry-after', BUSY_RETRY_AFTER_S)
    return answer(
      request,
      reply,
      'unavailable',
      'Too many requests are under way. Send this one again in a few seconds.',
    )
  }
  if (isTimeout(error)) {
    request.log.warn({ err: error }, 'A statement took too long')
    reply.header('retry-after', RETRY_AFTER_S)
    return answer(
      request,
      reply,
      'unavailable',
      'This took longer than it may. Ask for less at once, or send it again later.',
    )
  }
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') {
    request.log.error({ err: error }, 'The disk of DATA_DIR is full')
    reply.header('retry-after', RETRY_AFTER_S)
    return answer(
      request,
      reply,
      'unavailable',
      'The service has no room for this just now. Send it again later.',
    )
  }
  if (error instanceof UntrustedClockError) {
    reply.header('retry-after', RETRY_AFTER_S)
    return answer(
      request,
      reply,
      'unavailable',
      'The clock of the service is wrong just now. Send this again later.',
    )
  }
  if (isAway(error)) {
    request.log.warn({ err: error }, 'The database is away')
    reply.header('retry-after', RETRY_AFTER_S)
    return answer(
      request,
      reply,
      'unavailable',
      'The service cannot reach its database. Send the request again.',
    )
  }
  if (isTransient(error)) {
    reply.header('retry-after', 1)
    return answer(request, reply, 'unavailable', 'Another request was in the way. Send the request again.')
  }
  const tooMany = overCap(error)
  if (tooMany !== null)
    return answer(request, reply, 'too-many-records', `${tooMany} Delete some of them first.`)
  // The referenced record was there when it was looked up, and has been deleted since.
  if (isReferenced(error)) {
    const gone =
      'A record that this refers to was deleted at the same moment. Read it again, and send the present state.'
    return answer(request, reply, 'reference-deleted', gone)
  }
  const status = error.statusCode ?? 500
  if (status < 500) {
    const message = SENTENCES[error.code] ?? INVALID
    const details: Details = status === 400 ? { errors: [{ path: '', code: 'malformed', message }] } : {}
    return answer(request, reply, codeOfStatus(status), message, details, status)
  }
  request.log.error({ err: error }, 'The request failed')
  return answer(request, reply, 'internal', 'Something went wrong on our side.')
}

/** The body of a failure, as text, so that an undocumented status does not fail in the serializer. */
export function failureText(
  code: FailureCode,
  message: string,
  requestId: string,
  details: Details = {},
): string {
  const { errors } = details
  const bounded = errors ? { ...details, errors: errors.slice(0, MAX_ERRORS) } : details
  return JSON.stringify({ status: false, code, message, ...bounded, requestId })
}

function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  code: FailureCode,
  message: string,
  details: Details = {},
  status: number = FAILURES[code].status,
) {
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send(failureText(code, message, request.id, details))
}
