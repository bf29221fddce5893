import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { type Measured, measureJson, parseJson } from '../../../fair/parse-json.ts'
import { atOnce, type Scheduler } from '../../../fair/scheduler.ts'
import type { App, Services } from '../../services.ts'
import { invalid, RequestError } from '../errors.ts'
import { mayBeMissing } from '../validation.ts'

/**
 * Bodies are JSON in UTF-8, read whole and never piped, so that no stream is left without a listener. The cost of a
 * body is bounded before it is parsed: `JSON.parse` takes 1.5 s for 4 MiB of brackets, 0.06 s for 4 MiB of points. A body
 * that is not small is parsed in steps, because keys that differ from point to point take ten times as long.
 */
const SMALL_BYTES = 16 * 1024
/** A record with twenty of the longest texts. */
export const BODY_BYTES = 256 * 1024
const RECORD_BOUNDS = { depth: 64, values: 20_000 }
/** 5,000 points of 40 values. A point that is nested too deeply is rejected alone, later. */
const POINTS_BOUNDS = { depth: 10_000, values: 200_000 }
export const COMPRESSED = 'A compressed body is not accepted here: send it as it is.'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the body may be compressed. */
    gzip?: boolean
    /** The maximum of values and lists in a body that holds many records. */
    maxValues?: number
  }
  interface FastifyRequest {
    /** SHA-256 of the body as it arrived; undefined without a body. */
    bodyDigest: string | undefined
    /** The size after decompression; 0 without a body. */
    bodyBytes: number
  }
}

export function addBodies(app: App, { scheduler }: Pick<Services, 'scheduler'>): void {
  app.decorateRequest('bodyDigest', undefined)
  app.decorateRequest('bodyBytes', 0)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    // RFC 7396 calls a PATCH that merges by the second type, and ours do.
    ['application/json', 'application/merge-patch+json'],
    { parseAs: 'buffer' },
    (request: FastifyRequest, compressed: Buffer) => readJson(request, compressed, scheduler),
  )
  app.addHook('onRoute', route => {
    // A caller who is not signed in sends no more than a name, an address and a password.
    route.bodyLimit ??= route.config?.access === 'public' ? SMALL_BYTES : BODY_BYTES
  })
}

/**
 * Staggers the validation of large bodies, as their parsing is staggered. Between the two, the callers of several
 * requests are looked up together, which lines the requests up again.
 */
export function addBodyTurns(app: App, { scheduler }: Pick<Services, 'scheduler'>): void {
  app.addHook('preValidation', async request => {
    if (request.bodyBytes > SMALL_BYTES) await scheduler.pass(ownerOf(request))
  })
}

/** Whether a body is parsed in one piece. */
export const isSmall = (body: Buffer) => body.length <= SMALL_BYTES

export const ownerOf = ({ publisher, trackers, ip }: FastifyRequest) =>
  (publisher ?? trackers)?.organizationId ?? ip

async function readJson(request: FastifyRequest, compressed: Buffer, scheduler: Scheduler): Promise<unknown> {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw new RequestError('unsupported-media-type', 'JSON is accepted in UTF-8 alone.')
  }
  const { bytes, measured } = await unpackBody(request, compressed, scheduler)
  if (bytes.length === 0) {
    const body = request.routeOptions.schema?.body
    if (!body || mayBeMissing(body)) return undefined
    throw invalid('', 'The body is empty: send JSON.', 'required')
  }
  if (!isUtf8(bytes)) throw invalid('', 'The body is not valid UTF-8.', 'malformed')
  const parsing = parseJson(bytes, measured)
  try {
    return isSmall(bytes) ? atOnce(parsing) : await scheduler.walk(ownerOf(request), parsing)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw invalid('', 'The body is not valid JSON.', 'malformed')
  }
}

/** Unpacks a body, checks its bounds, and waits for its turn to be parsed. */
export async function unpackBody(
  request: FastifyRequest,
  compressed: Buffer,
  scheduler: Scheduler,
): Promise<{ bytes: Buffer; measured: Measured }> {
  if (request.headers['idempotency-key'] !== undefined) {
    request.bodyDigest = createHash('sha256').update(compressed).digest('base64')
  }
  const bytes = await decompress(request, compressed)
  request.bodyBytes = bytes.length
  // Bodies that arrive at the same moment would otherwise be parsed in one go, however many they are.
  if (!isSmall(bytes)) await scheduler.pass(ownerOf(request))
  const { role, maxValues } = request.routeOptions.config
  const bounds = role === 'ingest' ? POINTS_BOUNDS : RECORD_BOUNDS
  const { depth, values } = { ...bounds, ...(maxValues && { values: maxValues }) }
  const measured = measureJson(bytes, { depth, values })
  if (measured.exceeded === 'depth')
    throw invalid('', `The body is nested more than ${depth} levels deep.`, 'too-large')
  if (measured.exceeded === 'values') {
    throw new RequestError('too-large', `A body has at most ${values} values and lists here.`)
  }
  return { bytes, measured }
}

const inflate = promisify(gunzip)

async function decompress(request: FastifyRequest, compressed: Buffer): Promise<Buffer> {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity') return compressed
  const { config, bodyLimit } = request.routeOptions
  if (!config.gzip) {
    throw new RequestError('unsupported-media-type', COMPRESSED)
  }
  if (encoding !== 'gzip') {
    throw new RequestError(
      'unsupported-media-type',
      'The only content encoding that is accepted here is gzip.',
    )
  }
  // gzip stores the unpacked size in its last four bytes; of several parts, that of the last one.
  const announced = compressed.length < 4 ? 0 : compressed.readUInt32LE(compressed.length - 4)
  const expected = Math.max(1, Math.min(announced, bodyLimit))
  request.holdBody(expected)
  try {
    return await inflate(compressed, { maxOutputLength: expected }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ERR_BUFFER_TOO_LARGE' || expected === bodyLimit) throw error
      request.holdBody(bodyLimit - expected)
      return inflate(compressed, { maxOutputLength: bodyLimit })
    })
  } catch (error) {
    if (error instanceof RequestError) throw error
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new RequestError('too-large', 'The decompressed body is larger than what is accepted here.')
    }
    throw invalid('', 'The body is not gzip, or it is not whole.', 'malformed')
  }
}
