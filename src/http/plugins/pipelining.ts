import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { createScheduler } from '../../../fair/scheduler.ts'
import { closeWithFailure, isAnswering } from './raw-errors.ts'

/** Requests that wait on one connection, at 5 KB each. Clients that pipeline at all send about ten. */
export const MAX_PIPELINED = 100
const RETRY_AFTER_S = 1

interface Connection {
  busy: boolean
  waiting: Waiting[]
}

interface Waiting extends Owner {
  run(): void
}

/** The owner whose turn a request waits for: a user under its organization's root (fair/roots.ts), or an address. */
interface Owner {
  owner: string
  root?: string | undefined
}

/**
 * Node emits all requests of a chunk in one tick, though they are answered in order: 64 KiB hold 3,600 of them, and
 * 1,500 on each of three sockets blocked the process for 42 s. So the requests of a connection are handled one after
 * the other, and the connections take turns by owner (`ownerOf`).
 */
export function pace(
  listener: RequestListener,
  ownerOf: (request: IncomingMessage) => Owner = ({ socket }) => ({ owner: socket.remoteAddress ?? '' }),
): RequestListener {
  const connections = new WeakMap<Socket, Connection>()
  const scheduler = createScheduler()

  function open(socket: Socket): Connection {
    const connection: Connection = { busy: false, waiting: [] }
    connections.set(socket, connection)
    // Node resumes the socket with each complete request.
    socket.on('resume', () => {
      if (connection.waiting.length > 0) socket.pause()
    })
    return connection
  }

  function handle(socket: Socket, { owner, root, run }: Waiting): void {
    const work = () => {
      if (!socket.destroyed) run()
      return false
    }
    if (scheduler.isFree) work()
    else scheduler.enter(owner, work, root)
  }

  function next(socket: Socket, connection: Connection): void {
    if (socket.destroyed) return
    const first = connection.waiting.shift()
    connection.busy = first !== undefined
    if (first) handle(socket, first)
    if (connection.waiting.length === 0) socket.resume()
  }

  return (request, response) => {
    const { socket } = request
    // Closed already (below).
    if (socket.writableEnded) return
    const connection = connections.get(socket) ?? open(socket)
    const one = {
      ...ownerOf(request),
      run() {
        response.once('close', () => setImmediate(next, socket, connection))
        listener(request, response)
      },
    }
    if (!connection.busy) {
      connection.busy = true
      handle(socket, one)
      return
    }
    connection.waiting.push(one)
    if (connection.waiting.length <= MAX_PIPELINED) {
      socket.pause()
      return
    }
    connection.waiting = []
    const message = `At most ${MAX_PIPELINED} requests may wait on a connection.`
    if (!isAnswering(socket))
      closeWithFailure(socket, 'rate-limited', message, [`Retry-After: ${RETRY_AFTER_S}`])
    socket.destroySoon()
  }
}
