import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  extendKey,
  isKeyUsed,
  keepAnswer,
  releaseKey,
  takeKey,
} from '../../../db/queries/idempotency-keys.ts'
import { rootOf } from '../../../fair/roots.ts'
import type { App, Services } from '../../services.ts'
import { createAnswerRoom } from '../answer-room.ts'
import { conflict, invalid, RequestError } from '../errors.ts'
import { createBox } from '../secrets.ts'

/**
 * `Idempotency-Key` on any POST: the first answer is stored for 24 hours and sent again for the same key and body. Keys
 * belong to an account and organization or, where nobody is signed in, to a body. A duplicate that arrives meanwhile
 * waits. Failures that a repeated request may overcome (401, 429, 5xx) are not stored, nor any failure of a stranger, who
 * could fill the database with them. Signing in takes no key: it
 * creates nothing twice but a session, and a stored answer would hold a token that may have ended, and would bypass the
 * lock of the account.
 *
 * An answer is stored after the transaction that it reports. If the process dies in between, the key has no answer, and
 * the repeated request is carried out again.
 */
const LEASE_MS = 30_000
const TWIN_WAITS_MS = 60_000
const LONGEST_KEY = 255
/**
 * Whose an Idempotency-Key is. The secrets of an API key share theirs, so that a request may be repeated after a rotation.
 * Where the answer is a secret, each has its own, and another one once it is to end: a former secret, which may have
 * leaked, would be told what the present one was told, or its own successor.
 */
function ownerOf({ caller, routeOptions }: FastifyRequest): string | null {
  if (!caller) return null
  const owner = `${caller.accountId} ${caller.organizationId}`
  if (!caller.apiKey || !routeOptions.config.answersSecret) return owner
  return `${owner} ${caller.sessionId} ${caller.expiresAt}`
}

/**
 * A larger answer is not stored, only the fact that it was sent, nor one that finds no room (answer-room.ts). For a stream only the key and the request are stored:
 * streams are exports, which change nothing when they are repeated.
 */
const MAX_ANSWER_BYTES = 1024 * 1024

declare module 'fastify' {
  interface FastifyRequest {
    /** The key that this request holds until it is answered. */
    idempotency: { id: Buffer; heartbeat: NodeJS.Timeout } | null
    /** Whether it was carried out before under its Idempotency-Key, and only the answer is needed again. */
    isRepeated: boolean
  }
  interface FastifyReply {
    /**
     * Takes the request's Idempotency-Key, if it has one. Resolves to true if a stored answer has been sent: the
     * handler has nothing left to do. Called for every body that is read before the handler; a handler that reads a
     * file calls it after that.
     */
    replay(bodyDigest: string | undefined): Promise<boolean>
  }
}

export function addIdempotency(app: App, { db, config }: Services): void {
  const box = createBox(config.jwtSecret, 'idempotency')
  const room = createAnswerRoom()
  app.decorateRequest('idempotency', null)
  app.decorateRequest('isRepeated', false)

  // Runs after the caller is known and the body is read, and before validation: a failure is an answer like any other.
  app.addHook('preValidation', async (request, reply) => {
    if (request.routeOptions.config.upload) readKey(request)
    else if (await replay(request, reply, request.bodyDigest)) return reply
  })
  app.decorateReply('replay', function (bodyDigest) {
    return replay(this.request, this, bodyDigest)
  })

  /** The valid key of a request; null if it has none. */
  function readKey(request: FastifyRequest): string | null {
    const key = request.headers['idempotency-key']
    const device = request.publisher?.kind === 'device'
    if (key === undefined || request.method !== 'POST' || device) return null
    if (request.routeOptions.config.idempotencyKey === false) return null
    if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY) {
      throw invalid('Idempotency-Key', `An Idempotency-Key has 1 to ${LONGEST_KEY} characters.`, 'too-long')
    }
    return key
  }

  /**
   * The identifier of a key, and the fingerprint of its request. They are digests of a secret, so a key that was used
   * before the secret was replaced is found under that of the older one.
   */
  async function identify(request: FastifyRequest, key: string, bodyDigest: string) {
    const owner = ownerOf(request)
    // A trailing slash makes no difference. A body may hold a password, so its digest is keyed: nobody can test guesses
    // against it.
    const parts = [request.url.replace(/\/(?=\?|$)/, ''), bodyDigest]
    const whose = (fingerprint: Buffer) => owner ?? fingerprint.toString('base64')
    for (const [index, fingerprint] of box.olderDigests(...parts).entries()) {
      const id = box.olderDigests(whose(fingerprint), key)[index]
      if (id && (await isKeyUsed(db.system, id))) return { id, fingerprint }
    }
    const fingerprint = box.digest(...parts)
    // With another secret, stored answers cannot be opened, so the keys' identifiers must differ as well.
    return { id: box.digest(whose(fingerprint), key), fingerprint }
  }

  async function replay(request: FastifyRequest, reply: FastifyReply, bodyDigest = ''): Promise<boolean> {
    const key = readKey(request)
    if (key === null) return false
    const { caller } = request
    const { id, fingerprint } = await identify(request, key, bodyDigest)
    const organizationId = caller?.organizationId ?? null

    const deadline = performance.now() + TWIN_WAITS_MS
    for (let wait = 20; ; wait = Math.min(wait * 2, 500)) {
      const state = await takeKey(db.system, { id, organizationId, fingerprint, leaseMs: LEASE_MS })
      if (state.kind === 'mine') {
        const heartbeat = setInterval(() => {
          extendKey(db.system, id, LEASE_MS).catch(err =>
            request.log.warn({ err }, 'Extending the lease of a key failed'),
          )
        }, LEASE_MS / 3)
        request.idempotency = { id, heartbeat }
        return false
      }
      if (state.kind === 'repeated') {
        request.isRepeated = true
        return false
      }
      if (state.kind === 'other') {
        throw conflict('This Idempotency-Key was used with another request. Use a new one for each.')
      }
      if (state.kind === 'answered') {
        const answer = box.open(state.answer, id)
        if (answer === null)
          throw conflict('The answer of this Idempotency-Key cannot be read any more. Use a new one.')
        const { type, body } = JSON.parse(answer) as { type: string; body: string | null }
        if (body === null)
          throw conflict('This was carried out already, and its answer was too large to be stored.')
        void reply.code(state.status).header('idempotency-replayed', 'true').type(type).send(body)
        return true
      }
      if (performance.now() > deadline) {
        throw new RequestError('unavailable', 'The first request with this Idempotency-Key is not done yet.')
      }
      await sleep(wait)
    }
  }

  app.addHook('onSend', async (request, reply, payload) => {
    const leased = endLease(request)
    if (!leased) return payload
    const status = reply.statusCode
    try {
      const isOfStranger = !request.caller && status >= 400
      if (status === 401 || status === 429 || status >= 500 || isOfStranger)
        await releaseKey(db.system, leased)
      else if (typeof payload !== 'string') await keepAnswer(db.system, leased, status, null)
      else {
        const type = String(reply.getHeader('content-type') ?? 'application/json')
        const owner = rootOf(request.caller?.organizationId ?? '')
        const whole = payload.length <= MAX_ANSWER_BYTES && JSON.stringify({ type, body: payload })
        const hasRoom = whole && room.take(owner, Buffer.byteLength(whole))
        const stored = hasRoom ? whole : JSON.stringify({ type, body: null })
        await keepAnswer(db.system, leased, status, box.seal(stored, leased))
      }
    } catch (err) {
      // The work is committed, so the answer is true, though it cannot be sent again.
      request.log.warn({ err }, 'Storing an answer failed')
    }
    return payload
  })
  // A client that disconnects before the answer gets it when it asks again, but the lease ends here.
  app.addHook('onResponse', async request => void endLease(request))

  function endLease(request: FastifyRequest): Buffer | null {
    const leased = request.idempotency
    if (!leased) return null
    clearInterval(leased.heartbeat)
    request.idempotency = null
    return leased.id
  }
}
