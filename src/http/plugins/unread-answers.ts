import type { Server } from 'node:http'

const UNREAD_MS = 30_000
/** Longer than any client waits for an answer: a duplicate under one Idempotency-Key waits a minute. */
const SILENT_MS = 90_000

/**
 * Cuts off clients that read nothing of an answer. A client that reads at all makes progress within this time, however
 * long the answer is. Node restarts the timer when the system has taken a part of the waiting bytes, so it can take up
 * to twice `unreadMs`.
 */
export function cutUnread(server: Server, unreadMs = UNREAD_MS, silentMs = SILENT_MS): Server {
  return server.setTimeout(unreadMs, socket => {
    // An ordinary close would leave the waiting bytes to the system, which goes on offering them.
    if (socket.writableLength > 0) socket.resetAndDestroy()
    // Nothing waits to be read yet.
    else if (socket.timeout === unreadMs) socket.setTimeout(silentMs - unreadMs)
    else socket.destroy()
  })
}
