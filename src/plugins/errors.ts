import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { isAway, isTransient } from '../../db/errors.ts'
import { type FieldError, RequestError } from '../errors.ts'
import type { App } from '../services.ts'

const RETRY_AFTER_S = 5

/** What the server itself refuses, in sentences that a person can act on. */
const SENTENCES: { [code: string]: string } = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is larger than what is taken here.',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'This media type is not taken here. Send application/json.',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The body is empty. Send JSON, or leave the content-type out.',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body is not as long as its Content-Length says.',
}

/** The one place that turns errors into answers of HTTP. */
export function addErrorHandling(app: App): void {
  app.setNotFoundHandler((request, reply) => answer(request, reply, 404, 'There is nothing at this address.'))

  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (error instanceof RequestError) {
      if (error.retryable) reply.header('retry-after', error.retryAfterS)
      return answer(request, reply, error.statusCode, error.message, error.details)
    }
    if (hasZodFastifySchemaValidationErrors(error)) {
      const errors = error.validation.flatMap(toFieldErrors)
      const what = errors.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
      return answer(request, reply, 400, `The ${error.validationContext ?? 'input'} is not valid. ${what}`, {
        errors,
      })
    }
    if (isAway(error)) {
      request.log.warn({ err: error }, 'The database is away')
      reply.header('retry-after', RETRY_AFTER_S)
      return answer(request, reply, 503, 'The service cannot reach its database. Send the request again.')
    }
    if (isTransient(error)) {
      reply.header('retry-after', 1)
      return answer(request, reply, 503, 'Another request was in the way. Send the request again.')
    }
    const status = error.statusCode ?? 500
    if (status < 500) {
      const message = SENTENCES[error.code] ?? error.message
      return answer(
        request,
        reply,
        status,
        message,
        status === 400 ? { errors: [{ path: '', message }] } : {},
      )
    }
    request.log.error({ err: error }, 'The request failed')
    return answer(request, reply, 500, 'Something went wrong on our side.')
  })
}

function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  message: string,
  details: Record<string, unknown> = {},
) {
  // As text: the schema of a failure is the same everywhere, and an undocumented status must not fail itself.
  const body = JSON.stringify({ status: false, message, ...details, requestId: request.id })
  return reply.code(status).type('application/json; charset=utf-8').send(body)
}

interface ZodFailure {
  keyword: string
  /** The path with slashes, as the type provider writes it. */
  instancePath: string
  message: string
  params: { keys?: string[] }
}

/** An unknown key is named itself, the others by their path. */
function toFieldErrors(validation: unknown): FieldError[] {
  const { keyword, instancePath, message, params } = validation as ZodFailure
  const path = instancePath.split('/').filter(part => part !== '')
  if (keyword !== 'unrecognized_keys') return [{ path: path.join('.'), message }]
  return (params.keys ?? []).map(key => ({
    path: [...path, key].join('.'),
    message: 'There is no such field.',
  }))
}
