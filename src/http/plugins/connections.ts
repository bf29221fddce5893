import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Connections } from '../../../ingest/connections.ts'

/** Several hooks listen for the end of an answer, and Node warns at more than ten listeners. */
const MAX_LISTENERS = 20

/**
 * Counts the HTTP connections. A connection is busy from the moment a whole request has arrived until its answer ends,
 * and permanently once it is a WebSocket. Before and between requests, and while a head or a body arrives byte by byte,
 * it is idle.
 */
export function countConnections(server: Server, connections: Connections): void {
  server.prependListener('connection', (socket: Socket) => void connections.enter(socket))
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket, headers } = request
    let works = false
    const work = () => {
      works = true
      connections.work(socket)
    }
    response.setMaxListeners(MAX_LISTENERS)
    if (Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined)
      request.once('end', work)
    else work()
    response.once('close', () => {
      // The body of a request that is answered early may end after its answer.
      request.off('end', work)
      if (works) connections.leaveWork(socket)
    })
  })
  server.prependListener('upgrade', ({ socket }: IncomingMessage) => connections.work(socket))
}
