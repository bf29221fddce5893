import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Basemap } from '../../basemap/tiles.ts'
import { RequestError } from '../../http/errors.ts'
import { MAX_URL } from '../../http/plugins/methods.ts'
import type { App, Services } from '../../services.ts'
import { signInMethods } from '../sign-in-methods/methods.ts'
import { readBuiltFiles, readDocument, type StaticFile } from './files.ts'
import { chooseEncoding, isKnown } from './negotiation.ts'
import { createPage, type Page, writePolicy } from './pages.ts'

/** The console is not part of the documented interface. */
const hidden = { schema: { hide: true } }
/** For files whose name changes with their content. */
const FOREVER = 'public, max-age=31536000, immutable'

/** The part of the server for people: the pages and their files. */
export interface Console {
  files: Map<string, StaticFile>
  page: Page
  /**
   * The addresses of its pages, in the router's notation: `/hubs/:id?`. The build derives them from the console's own
   * routes.
   */
  paths: readonly string[]
  track: Page
  /** The page of the API reference, which shows no map. */
  reference: Page
  /** The OpenAPI document, for programs. */
  document: StaticFile
  basemap: Basemap | null
}

/** Reads the built console; null in a process without the role api. */
export function openConsole({ config, basemap }: Services): Console | null {
  if (!config.roles.has('api')) return null
  const files = readBuiltFiles()
  const page = (name: string) => createPage(files.get(name) as StaticFile, signInMethods(config))
  return {
    files,
    page: page('index.html'),
    paths: JSON.parse(String(files.get('paths.json')?.bytes)),
    track: page('track.html'),
    reference: page('reference.html'),
    document: readDocument(),
    basemap,
  }
}

export function consoleRoutes(app: App, built: Console | null): void {
  if (!built) return
  const { page, paths, track, basemap, files } = built
  for (const path of paths) app.get(path, hidden, (_request, reply) => sendPage(reply, page, basemap))
  app.get('/track/:token', hidden, (_request, reply) =>
    sendPage(reply.header('x-robots-tag', 'noindex'), track, basemap),
  )
  app.get<{ Params: { name: string } }>('/assets/:name', hidden, (request, reply) => {
    const file = files.get(`assets/${request.params.name}`)
    if (!file) throw new RequestError('not-found', 'There is nothing at this address.')
    reply.header('cache-control', FOREVER)
    return sendFile(request, reply, file)
  })
}

export function addMissingPage(app: App, built: Console | null): void {
  app.addHook('onRequest', async (request, reply) => {
    const status = request.url.length > MAX_URL ? 414 : request.is404 ? 404 : null
    if (status !== null) return sendMissingPage(request, reply, built, status)
  })
}

/**
 * Shows a page to a person who follows a broken link. Callers of the interface get no page but an answer in the
 * envelope.
 */
export function sendMissingPage(
  { method, url, headers }: FastifyRequest,
  reply: FastifyReply,
  built: Console | null,
  status: 400 | 404 | 414,
): FastifyReply | undefined {
  if (!built || (method !== 'GET' && method !== 'HEAD') || /^\/+(api|mqtt)(\/|\?|$)/i.test(url)) return
  if (!headers.accept?.includes('text/html') || headers.upgrade !== undefined) return
  return sendPage(reply.code(status), built.page, built.basemap)
}

export function sendPage(reply: FastifyReply, page: Page, basemap: Basemap | null): FastifyReply {
  const nonce = randomBytes(16).toString('base64url')
  return reply
    .headers({
      'content-security-policy': writePolicy(nonce),
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      'referrer-policy': 'no-referrer',
    })
    .type('text/html; charset=utf-8')
    .send(page(nonce, basemap?.about ?? null))
}

export function sendFile({ headers }: FastifyRequest, reply: FastifyReply, file: StaticFile): FastifyReply {
  const vary = [reply.getHeader('vary'), 'accept-encoding'].filter(Boolean).join(', ')
  reply.headers({ etag: file.etag, vary })
  if (isKnown(headers['if-none-match'] ?? '', file.etag)) return reply.code(304).send()
  const available = (['br', 'gzip'] as const).filter(coding => file[coding])
  const encoding = chooseEncoding(headers['accept-encoding'] ?? '', available)
  if (encoding) reply.header('content-encoding', encoding)
  return reply.type(file.type).send(encoding ? file[encoding] : file.bytes)
}
