import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Connections } from '../../../ingest/connections.ts'

/** Every rule about an answer's end listens for it, and Node warns of more than ten. */
const MAX_LISTENERS = 20

/**
 * Counts the connections of HTTP. One is worked on from when a whole request is there to the end of its answer, and for ever
 * once it is a WebSocket; before, in between, and while a head or a body arrives byte by byte it is idle.
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
