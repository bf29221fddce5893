import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { extendKey, keepAnswer, releaseKey, takeKey } from '../../db/queries/idempotency-keys.ts'
import { conflict, invalid, RequestError } from '../errors.ts'
import type { App, Services } from '../services.ts'

/**
 * `Idempotency-Key` on any POST: the first answer is stored for 24 hours and given again for the same key and body,
 * per account and organization; where nobody is signed in, per body. A twin that comes meanwhile waits. What may well
 * succeed when it is sent again (401, 429, 5xx) is not stored.
 *
 * An answer is stored after the transaction that it tells of. A process that dies in between leaves a key without
 * an answer, and the same request is then carried out again.
 */
const LEASE_MS = 30_000
const TWIN_WAITS_MS = 60_000
const LONGEST_KEY = 255
/** Larger ones, and streams, are made again: they are exports, which change nothing. */
const MOST_BYTES = 1024 * 1024

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that this request holds until it is answered. */
    idempotency: { id: Buffer; heartbeat: NodeJS.Timeout } | null
  }
}

export function addIdempotency(app: App, { db, config }: Services): void {
  const box = createBox(config.jwtSecret)
  app.decorateRequest('idempotency', null)

  // After the caller is known and the body is read, and before it is judged: a refusal is an answer like any other.
  app.addHook('preValidation', async (request, reply) => {
    const key = request.headers['idempotency-key']
    const device = request.publisher?.kind === 'device'
    if (key === undefined || request.method !== 'POST' || device) return
    if (request.routeOptions.config.idempotencyKey === false) return
    if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY) {
      throw invalid('Idempotency-Key', `An Idempotency-Key has 1 to ${LONGEST_KEY} characters.`)
    }
    // A body that is still to be read, a file, is told apart by its length.
    const body = JSON.stringify(request.body) ?? request.headers['content-length'] ?? ''
    const fingerprint = digest(request.url, body)
    const { caller } = request
    const whose = caller ? `${caller.accountId} ${caller.organizationId}` : fingerprint.toString('base64')
    const id = digest(box.name, whose, key)
    const organizationId = caller?.organizationId ?? null

    const deadline = Date.now() + TWIN_WAITS_MS
    for (let wait = 20; ; wait = Math.min(wait * 2, 500)) {
      const state = await takeKey(db.autocommit, { id, organizationId, fingerprint, leaseMs: LEASE_MS })
      if (state.kind === 'mine') {
        const heartbeat = setInterval(() => {
          extendKey(db.autocommit, id, LEASE_MS).catch(err =>
            request.log.warn({ err }, 'Holding a key failed'),
          )
        }, LEASE_MS / 3)
        request.idempotency = { id, heartbeat }
        return
      }
      if (state.kind === 'other') {
        throw conflict('This Idempotency-Key was used with another request. Take a new one for each.')
      }
      if (state.kind === 'answered') {
        const { type, body } = JSON.parse(box.open(state.answer, id)) as { type: string; body: string }
        return reply.code(state.status).header('idempotency-replayed', 'true').type(type).send(body)
      }
      if (Date.now() > deadline) {
        throw new RequestError('unavailable', 'The first request with this Idempotency-Key is not done yet.')
      }
      await sleep(wait)
    }
  })

  app.addHook('onSend', async (request, reply, payload) => {
    const held = take(request)
    if (!held) return payload
    const status = reply.statusCode
    const stored = typeof payload === 'string' && payload.length <= MOST_BYTES
    try {
      if (status === 401 || status === 429 || status >= 500 || !stored) {
        await releaseKey(db.autocommit, held)
      } else {
        const type = String(reply.getHeader('content-type') ?? 'application/json')
        await keepAnswer(db.autocommit, held, status, box.seal(JSON.stringify({ type, body: payload }), held))
      }
    } catch (err) {
      // What was done is done: the answer is the truth, though it cannot be given again.
      request.log.warn({ err }, 'Storing an answer failed')
    }
    return payload
  })
  // Whoever hangs up before the answer gets it when it asks again, but nothing holds the key for longer than that.
  app.addHook('onResponse', async request => void take(request))

  function take(request: FastifyRequest): Buffer | null {
    const held = request.idempotency
    if (!held) return null
    clearInterval(held.heartbeat)
    request.idempotency = null
    return held.id
  }
}

const digest = (...parts: string[]) => createHash('sha256').update(JSON.stringify(parts)).digest()

/** AES-256-GCM with a key of its own made from the secret; what is sealed opens under its identifier alone. */
function createBox(secret: string) {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'fieldline idempotency', 32))
  return {
    /** Another secret opens nothing of before, so its keys are others too. */
    name: createHash('sha256').update(key).digest('base64url').slice(0, 8),
    seal(text: string, id: Buffer): Buffer {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(id)
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed])
    },
    open(sealed: Buffer, id: Buffer): string {
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12)).setAAD(id)
      decipher.setAuthTag(sealed.subarray(12, 28))
      return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString('utf8')
    },
  }
}
