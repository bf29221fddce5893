import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { isGzip, typeOf, unpack } from '../../basemap/media.ts'
import { BasemapAway, isTile } from '../../basemap/tiles.ts'
import { RequestError } from '../../http/errors.ts'
import type { App, Services } from '../../services.ts'
import { chooseEncoding, isKnown } from '../console/negotiation.ts'
import * as operations from './schemas.ts'

/** A tile is the same for everybody; its address may hold a link's token, so that only the browser itself keeps it. */
const ONE_DAY = 'private, max-age=86400'

export function tileRoutes(app: App, { basemap }: Services): void {
  app.get('/tiles/:z/:x/:y', operations.getTile, async (request, reply) => {
    const about = basemap?.about
    const tile = about && isTile(request.params) ? await readTile(request) : null
    const type = tile && typeOf(tile, about?.vector ?? false)
    if (about) reply.header('cache-control', ONE_DAY)
    if (!tile || !type) return reply.code(204).send(null)
    const etag = `W/"${createHash('sha256').update(tile).digest('base64url').slice(0, 22)}"`
    const vary = [reply.getHeader('vary'), 'accept-encoding'].filter(Boolean).join(', ')
    reply.headers({ etag, vary })
    if (isKnown(request.headers['if-none-match'] ?? '', etag)) return reply.code(304).send(null)
    reply.type(type)
    if (!isGzip(tile)) return reply.send(tile)
    const encoding = chooseEncoding(request.headers['accept-encoding'] ?? '', ['gzip'])
    if (!encoding) return reply.send(await unpack(tile))
    return reply.header('content-encoding', encoding).send(tile)
  })

  async function readTile({ params, caller, link }: FastifyRequest) {
    try {
      return (await basemap?.read(params as never, caller?.userId ?? link?.id ?? '')) ?? null
    } catch (error) {
      if (!(error instanceof BasemapAway)) throw error
      throw new RequestError(
        'unavailable',
        'The server that holds the basemap does not answer. Ask again later.',
      )
    }
  }
}
