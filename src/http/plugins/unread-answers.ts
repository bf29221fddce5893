import type { Server } from 'node:http'

const UNREAD_MS = 30_000
/** Longer than anybody waits for an answer: a twin under one Idempotency-Key waits a minute. */
const SILENT_MS = 90_000

/**
 * Cuts off whoever takes nothing of an answer; one that is taken at all moves on within that time, however long it is. Node
 * begins anew where the system has taken a part of what waits, so it is up to twice `unreadMs`.
 */
export function cutUnread(server: Server, unreadMs = UNREAD_MS, silentMs = SILENT_MS): Server {
  return server.setTimeout(unreadMs, socket => {
    // A close would leave what waits to the system, which goes on offering it.
    if (socket.writableLength > 0) socket.resetAndDestroy()
    // Nothing is there to be taken yet.
    else if (socket.timeout === unreadMs) socket.setTimeout(silentMs - unreadMs)
    else socket.destroy()
  })
}
