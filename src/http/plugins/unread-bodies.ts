import type { IncomingMessage } from 'node:http'
import type { App } from '../../services.ts'

/**
 * Most clients send all of a body before they read the answer, and one whose connection closes meanwhile never reads
 * it. So what is left of a body that nobody reads is read and thrown away first, up to a bound.
 */
export const DRAINED_BYTES = 64 * 1024 * 1024
const DRAINED_MS = 10_000

export function addUnreadBodies(app: App): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (!isArriving(request.raw)) return payload
    await drain(request.raw)
    // Fastify closes after a body that it has not read, since it reads no further.
    if (isArriving(request.raw)) reply.header('connection', 'close')
    else reply.removeHeader('connection')
    return payload
  })
}

function isArriving({ headers, complete, destroyed }: IncomingMessage): boolean {
  const announced = headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
  return announced && !complete && !destroyed
}

/** Resolves when no more of the body comes, or has been waited for. */
export async function drain(request: IncomingMessage): Promise<void> {
  if (!isArriving(request)) return
  // It cannot be read through, and whoever announces so much is told at once.
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
