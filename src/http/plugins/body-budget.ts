import { withinHeap } from '../../../stream/back-pressure.ts'
import type { App } from '../../services.ts'
import { RequestError } from '../errors.ts'
import { addressKey } from './rate-limits.ts'

/**
 * Bodies under way, from before they are read until they are answered: 150 uploads of 4 MiB took 500 MB. An organization,
 * or an address where nobody is signed in, has up to half of what is left, so whoever comes next finds room as well.
 */
const MAX_TOGETHER_BYTES = withinHeap(64 * 1024 * 1024)
const RETRY_AFTER_S = 2

declare module 'fastify' {
  interface FastifyRequest {
    /** Gives back what its body may take. */
    giveBackBody: (() => void) | null
  }
}

/** After the caller is known, and before its body is read. */
export function addBodyBudget(app: App): void {
  const held = new Map<string, number>()
  let together = 0

  app.decorateRequest('giveBackBody', null)
  app.addHook('onRequest', async request => {
    const { headers, method, publisher, routeOptions, ip } = request
    // A file goes to the disk as it comes.
    if (method === 'GET' || method === 'HEAD' || routeOptions.config.upload) return
    const announced = headers['transfer-encoding']
      ? Number.POSITIVE_INFINITY
      : Number(headers['content-length'])
    // Without a length, and unpacked, it may become as long as it may be.
    const unbounded = announced > routeOptions.bodyLimit || headers['content-encoding'] !== undefined
    const bytes = unbounded ? routeOptions.bodyLimit : announced || 0
    if (bytes === 0) return
    const owner = publisher?.organizationId ?? addressKey(ip)
    const own = held.get(owner) ?? 0
    if (own + bytes > (MAX_TOGETHER_BYTES - together) / 2) {
      const message = 'Too much is being sent at once. Send this again in a few seconds.'
      throw new RequestError('unavailable', message, {}, RETRY_AFTER_S)
    }
    together += bytes
    held.set(owner, own + bytes)
    request.giveBackBody = () => {
      request.giveBackBody = null
      together -= bytes
      const left = (held.get(owner) ?? 0) - bytes
      if (left > 0) held.set(owner, left)
      else held.delete(owner)
    }
  })
  // Also of who has hung up: it is there until its request is done.
  app.addHook('onSend', async (request, _reply, payload) => {
    request.giveBackBody?.()
    return payload
  })
}
