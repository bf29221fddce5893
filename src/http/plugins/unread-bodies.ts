import type { IncomingMessage } from 'node:http'
import type { App } from '../../services.ts'

/**
 * Most clients send all of a body before they read the answer, and never read it if the connection closes meanwhile. So
 * the rest of an unread body is first read and discarded, up to this bound.
 */
export const DRAINED_BYTES = 64 * 1024 * 1024
/** Just less than a body has to arrive, after which it is answered 408: 48 bodies of 3 MiB at once took longer than 10 s. */
const DRAINED_MS = 25_000

export function addUnreadBodies(app: App): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (!isArriving(request.raw)) return payload
    await drain(request.raw)
    // Fastify closes the connection after a body that it has not read, since it reads no further.
    if (isArriving(request.raw)) reply.header('connection', 'close')
    else reply.removeHeader('connection')
    return payload
  })
}

function isArriving({ headers, complete, destroyed }: IncomingMessage): boolean {
  const announced = headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
  return announced && !complete && !destroyed
}

/** Resolves when the body ends, or when the time for it is over. */
export async function drain(request: IncomingMessage): Promise<void> {
  if (!isArriving(request)) return
  // The announced body is too long to be read and discarded, so the request is answered at once.
  if (Number(request.headers['content-length']) > DRAINED_BYTES) {
    request.resume()
    return
  }
  let bytes = 0
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, DRAINED_MS)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    for (const event of ['end', 'close', 'error']) request.once(event, end)
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > DRAINED_BYTES) end()
    })
    request.resume()
  })
}
