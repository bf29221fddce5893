import type { FastifyRequest, RequestPayload } from 'fastify'
import { rootOf } from '../../../db/roots.ts'
import { withinHeap } from '../../../stream/back-pressure.ts'
import type { App } from '../../services.ts'
import { RequestError } from '../errors.ts'
import { addressKey } from './rate-limits.ts'

/**
 * Bodies under way, from before they are read until they are answered: 150 uploads of 4 MiB took 500 MB. A root of organizations,
 * or an address where nobody is signed in, has up to half of what is left, so whoever comes next finds room as well.
 */
const MAX_TOGETHER_BYTES = withinHeap(64 * 1024 * 1024)
const RETRY_AFTER_S = 2

declare module 'fastify' {
  interface FastifyRequest {
    /** What its body takes of the room; null before it may, and when it is answered. */
    heldBody: { owner: string; bytes: number } | null
    /** Takes room for so much more of its body. Throws a 503 where there is none. */
    holdBody(bytes: number): void
  }
}

/** After the caller is known and after every other hook that comes before its body is read. */
export function addBodyBudget(app: App): void {
  const held = new Map<string, number>()
  let together = 0

  const giveBack = (request: FastifyRequest) => {
    const { heldBody } = request
    request.heldBody = null
    if (!heldBody) return
    together -= heldBody.bytes
    const left = (held.get(heldBody.owner) ?? 0) - heldBody.bytes
    if (left > 0) held.set(heldBody.owner, left)
    else held.delete(heldBody.owner)
  }

  app.decorateRequest('heldBody', null)
  app.decorateRequest('holdBody', function holdBody(bytes) {
    const { heldBody } = this
    // Nothing takes no room, however little of it others have left.
    if (!heldBody || bytes === 0) return
    const own = held.get(heldBody.owner) ?? 0
    if (own + bytes > (MAX_TOGETHER_BYTES - together) / 2) {
      // What has come of it makes room for others, which might all be cut off half way otherwise.
      giveBack(this)
      const message = 'Too much is being sent at once. Send this again in a few seconds.'
      throw new RequestError('unavailable', message, {}, RETRY_AFTER_S)
    }
    together += bytes
    heldBody.bytes += bytes
    held.set(heldBody.owner, own + bytes)
  })
  app.addHook('onRequest', async request => {
    const { headers, method, publisher, routeOptions, ip } = request
    // A file goes to the disk as it comes.
    if (method === 'GET' || method === 'HEAD' || routeOptions.config.upload) return
    request.heldBody = { owner: publisher ? rootOf(publisher.organizationId) : addressKey(ip), bytes: 0 }
    const announced = Number(headers['content-length'] ?? 0)
    // What is longer than it may be is refused unread.
    if (announced <= routeOptions.bodyLimit) request.holdBody(announced)
  })
  // Not async: what reads the body has to listen in the same turn.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (request.heldBody && request.headers['transfer-encoding'] !== undefined)
      holdAsItComes(request, payload)
    done()
  })
  // Also of who has hung up: it is there until its request is done.
  app.addHook('onSend', async (request, _reply, payload) => {
    giveBack(request)
    return payload
  })
}

/** Of a body that says no length: whoever sends nothing of it yet takes no room from others. */
function holdAsItComes(request: FastifyRequest, payload: RequestPayload): void {
  let left = request.routeOptions.bodyLimit
  const hold = ({ length }: Buffer) => {
    left -= length
    // It is refused, and only read through.
    if (left < 0) return void payload.off('data', hold)
    try {
      request.holdBody(length)
    } catch (error) {
      payload.off('data', hold)
      // As what reads it hears of every other failure.
      payload.emit('error', error)
    }
  }
  payload.on('data', hold)
}
