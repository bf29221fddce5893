import { setTimeout as wait } from 'node:timers/promises'
import { MAX_UNREAD_BYTES_PER_USER, READY_BELOW_BYTES, SUBSCRIBE_SHARE } from './limits.ts'

/** The part of a socket that its user's limits need. */
interface Socket {
  readonly bufferedAmount: number
}

interface User {
  sockets: number
  /** The pending view of each socket. Only the newest counts, because a user who pans a map subscribes many times. */
  asked: Map<Socket, () => void>
  serving: boolean
}

const LOOK_AGAIN_MS = 50

/** The limits shared by all sockets of a user: their number, and the turn of each view. */
export function createUsers(maxSockets: number, onError: (error: unknown) => void) {
  const users = new Map<string, User>()

  /**
   * The cost of a view depends on its filter and its organization. The next view of the same user waits nine times as
   * long as the last one took, so that a user who subscribes without end takes a tenth of the server's time.
   */
  async function serve(user: User): Promise<void> {
    if (user.serving) return
    user.serving = true
    while (user.asked.size > 0) {
      const begun = performance.now()
      const socket = findReady(user)
      if (socket) {
        const show = user.asked.get(socket)
        user.asked.delete(socket)
        try {
          show?.()
        } catch (error) {
          onError(error)
        }
      }
      const tookMs = performance.now() - begun
      await wait(socket ? tookMs * (1 / SUBSCRIBE_SHARE - 1) : LOOK_AGAIN_MS, undefined, { ref: false })
    }
    user.serving = false
  }

  return {
    /** Counts a socket that is about to open. Returns a function to call when it closes, or null at the user's limit. */
    enter(userId: string): (() => void) | null {
      const user = users.get(userId) ?? { sockets: 0, asked: new Map(), serving: false }
      if (maxSockets > 0 && user.sockets >= maxSockets) return null
      users.set(userId, user)
      user.sockets++
      return () => {
        user.sockets--
        if (user.sockets === 0) users.delete(userId)
      }
    },

    /** Calls `show` when it is the user's turn and the socket has read its messages; a newer call replaces it. */
    ask(userId: string, socket: Socket, show: () => void): void {
      const user = users.get(userId)
      if (!user) return
      user.asked.set(socket, show)
      void serve(user)
    },

    /** Drops the pending view of a socket. */
    forget(userId: string, socket: Socket): void {
      users.get(userId)?.asked.delete(socket)
    },
  }
}

function findReady({ asked }: User): Socket | undefined {
  let unread = 0
  for (const socket of asked.keys()) unread += socket.bufferedAmount
  if (unread > MAX_UNREAD_BYTES_PER_USER) return undefined
  for (const socket of asked.keys()) if (socket.bufferedAmount < READY_BELOW_BYTES) return socket
  return undefined
}
