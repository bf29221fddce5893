import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AppRequest, appendAppRequest } from '../../../ingest/app-requests.ts'
import type { TrackerConnection } from '../../../ingest/connections/connection.ts'
import { takeRequest } from '../../../ingest/connections/requests.ts'
import { type Parsed, parseLargePayload } from '../../../ingest/decode.ts'
import { type Fields, type Format, NoPoint } from '../../../ingest/formats/format.ts'
import { FORMATS } from '../../../ingest/formats/table.ts'
import type { TrackerMessage } from '../../../ingest/profiles/profile.ts'
import { RequestError } from '../../http/errors.ts'
import { isSmall, ownerOf, unpackBody } from '../../http/plugins/bodies.ts'
import { parseQuery } from '../../http/plugins/strict-inputs.ts'
import type { App, Services } from '../../services.ts'
import { appOperations, connectionOperations, FORM_BYTES } from './schemas.ts'
import { createTeam } from './team.ts'

interface Body {
  body: Buffer
  /** The body as JSON, where it is not small. */
  parsed?: Parsed
  unreadable: NoPoint | null
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The content type as an app sent it, or an empty text. */
    sentType: string
  }
}

/** The endpoints for common phone apps: every format of the table that uses HTTP. */
export function ingestRoutes(app: App, { db, log, metrics, scheduler, intake }: Services): void {
  const findTeam = createTeam(db)
  // Bodies of any media type are read as bytes: an unreadable one is recorded as a rejection, and the request succeeds.
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.decorateRequest('sentType', '')
    // Fastify answers 415 to an empty or malformed content type, and the app would send its points again and again.
    scope.addHook('onRequest', async request => {
      request.sentType = request.headers['content-type'] ?? ''
      delete request.raw.headers['content-type']
    })
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer' },
      async (request: FastifyRequest, sent: Buffer): Promise<Body> => {
        try {
          const { bytes: body, measured } = await unpackBody(request, sent, scheduler)
          // Any large body, whatever its type says: parsing a form fails at its first character.
          if (isSmall(body)) return { body, unreadable: null }
          const parsed = await scheduler.walk(ownerOf(request), parseLargePayload(body, measured))
          return { body, parsed, unreadable: null }
        } catch (error) {
          if (!(error instanceof RequestError) || error.code !== 'invalid-input') throw error
          return { body: sent, unreadable: new NoPoint('not-json', error.message) }
        }
      },
    )
    for (const [name, format] of Object.entries<Format>(FORMATS)) {
      const { http } = format
      if (!http) continue
      const handler = async (request: FastifyRequest, reply: FastifyReply) => {
        // A HEAD request, as link checkers send it, carries no point.
        if (request.method === 'HEAD') return reply.type('text/plain; charset=utf-8').send('')
        if (!log || log.full)
          throw new RequestError('unavailable', 'Too much is waiting to be stored. Send the request again.')
        const sent = readRequest(request, http.fields !== undefined)
        const services = { log, metrics: metrics.ingest, scheduler }
        if (!(await appendAppRequest(format, sent, request.publisher, services)))
          throw new RequestError('unavailable', 'The points could not be stored yet. Send the request again.')
        if (http.answersTeam) return reply.send(await findTeam(request.publisher))
        if (typeof http.answer === 'string') reply.type('text/plain; charset=utf-8')
        return reply.send(http.answer)
      }
      const operations = appOperations(http)
      scope.post(`/ingest/${name}`, operations.post, handler)
      if (http.fields) scope.get(`/ingest/${name}`, operations.get, handler)
    }

    const takeMessage = async (request: FastifyRequest, reply: FastifyReply) => {
      if (request.method === 'HEAD') return reply.send('')
      if (!log || !intake || log.full)
        throw new RequestError('unavailable', 'Too much is waiting to be stored. Send the request again.')
      const { message, unreadable } = readTrackerMessage(request)
      if (!(await takeRequest(intake, request.trackers as TrackerConnection, message, unreadable)))
        throw new RequestError('unavailable', 'The points could not be stored yet. Send the request again.')
      return reply.send({})
    }
    scope.post('/ingest/connection/:id', connectionOperations.post, takeMessage)
    scope.get('/ingest/connection/:id', connectionOperations.get, takeMessage)
  })
}

const MULTIPART =
  'A form in several parts (multipart/form-data) is not read: send application/x-www-form-urlencoded.'

/**
 * Reads JSON or form fields. Everything that is not JSON counts as a form, as in Traccar, since GPSLogger sends no
 * content type. A field of the form overrides the same one in the address.
 */
function readRequest(request: FastifyRequest, takesFields: boolean): AppRequest {
  const { body, parsed, unreadable } = (request.body ?? { body: Buffer.alloc(0), unreadable: null }) as Body
  const nothing = { body, parsed, fields: null, unreadable }
  if (!takesFields || unreadable || isJson(request, body)) return nothing
  // The body is dropped, since it may contain the key.
  const refused = (message: string): AppRequest => ({
    ...{ body: Buffer.alloc(0), fields: null },
    unreadable: new NoPoint('bad-shape', message),
  })
  if (/^multipart\//i.test(request.sentType)) return refused(MULTIPART)
  if (body.length > FORM_BYTES)
    return refused(`A form holds one fix, and has at most ${FORM_BYTES / 1024} KiB.`)
  const form = parseQuery(body.toString('utf8').trim())
  return { body, fields: withoutKey({ ...(request.query as Fields), ...form }), unreadable }
}

/**
 * Many clients send JSON with the content type of a form, and some with none, so the first character counts as well.
 */
function isJson({ sentType }: FastifyRequest, body: Buffer): boolean {
  if (body.length === 0) return false
  if (/^(\xef\xbb\xbf)?\s*[[{]/.test(body.toString('latin1', 0, 64))) return true
  return /^application\/([\w.-]+\+)?json\b/i.test(sentType)
}

/** A request of a tracker's platform. Fields of a form, and of the address, are read by the profile as well. */
function readTrackerMessage(request: FastifyRequest): {
  message: TrackerMessage
  unreadable: NoPoint | null
} {
  const { body, parsed, unreadable } = (request.body ?? { body: Buffer.alloc(0), unreadable: null }) as Body
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(request.sentType) && body.length <= FORM_BYTES
  const form = isForm && !isJson(request, body) ? parseQuery(body.toString('utf8').trim()) : {}
  const { key: _, ...query } = { ...(request.query as Fields), ...form }
  return {
    message: { payload: body, parsed, topic: null, clientId: null, username: null, query },
    unreadable,
  }
}

/** The key is stored neither with a point nor with a rejection. */
function withoutKey({ token: _key, ...fields }: Fields): Fields {
  return fields
}
