import type { FastifyRequest, RequestPayload } from 'fastify'
import { networkOf } from '../../../fair/network.ts'
import { rootOf } from '../../../fair/roots.ts'
import { withinHeap } from '../../../stream/back-pressure.ts'
import type { App } from '../../services.ts'
import { type BodyPlace, type BodyRoom, createBodyRoom } from '../body-room.ts'
import { RequestError } from '../errors.ts'

/** For all bodies that arrive or are processed: 150 uploads of 4 MiB took 500 MB. */
const MAX_TOGETHER_BYTES = withinHeap(64 * 1024 * 1024)
/** At this pace, 480 KiB take the 30 s in which a body must arrive. */
const BYTES_PER_S = 16 * 1024
const GRACE_MS = 2_000
const RETRY_AFTER_S = 2

declare module 'fastify' {
  interface FastifyRequest {
    /** The memory that the body takes; null before it arrives and after the request is answered. */
    bodyPlace: BodyPlace | null
    /** Reserves further bytes for the body. Throws 503 if there is no room. */
    holdBody(bytes: number): void
  }
}

/** Runs after the caller is known and after every other hook that comes before its body is read. */
export function addBodyBudget(app: App): void {
  const room = createBodyRoom({ maxBytes: MAX_TOGETHER_BYTES, bytesPerS: BYTES_PER_S, graceMs: GRACE_MS })

  app.decorateRequest('bodyPlace', null)
  app.decorateRequest('holdBody', function holdBody(bytes) {
    if (this.bodyPlace && !this.bodyPlace.grow(bytes)) throw noRoom()
  })
  // Not async: the reader of the body must start to listen in the same tick.
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { headers, method, routeOptions } = request
    const announced = Number(headers['content-length'] ?? 0)
    const hasBody = announced > 0 || headers['transfer-encoding'] !== undefined
    const isRead = method !== 'GET' && method !== 'HEAD' && announced <= routeOptions.bodyLimit
    // A file is written to the disk as it arrives.
    if (hasBody && isRead && !routeOptions.config.upload) holdAsItArrives(request, payload, room)
    done()
  })
  // Runs also when the client has disconnected: the body stays in memory until its request is done.
  app.addHook('onSend', async (request, _reply, payload) => {
    request.bodyPlace?.giveBack()
    request.bodyPlace = null
    return payload
  })
}

const noRoom = () =>
  new RequestError(
    'unavailable',
    'Too much is being sent at once. Send this again in a few seconds.',
    {},
    RETRY_AFTER_S,
  )

function holdAsItArrives(request: FastifyRequest, payload: RequestPayload, room: BodyRoom): void {
  const { publisher, ip, routeOptions } = request
  let left = routeOptions.bodyLimit
  const hold = ({ length }: Buffer) => {
    left -= length
    if (left < 0) {
      // The body is too large: its reader has dropped it, and the rest is discarded as it arrives.
      payload.off('data', hold)
      place.giveBack()
    } else if (!place.add(length)) cutOff()
  }
  const cutOff = () => {
    payload.off('data', hold)
    // The reader of the body receives this like any other failure.
    payload.emit('error', noRoom())
  }
  const place = room.enter(publisher ? rootOf(publisher.organizationId) : networkOf(ip), cutOff)
  request.bodyPlace = place
  payload.on('data', hold)
  payload.once('end', place.complete)
  // Needed even when its reader no longer listens: an unhandled error event ends the process.
  payload.on('error', place.complete)
}
