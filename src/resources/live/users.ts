import { setTimeout as wait } from 'node:timers/promises'
import { MAX_UNREAD_BYTES_PER_USER, READY_BELOW_BYTES, SUBSCRIBE_SHARE } from './limits.ts'

/** A socket as far as its user's limits need it. */
interface Socket {
  readonly bufferedAmount: number
}

interface User {
  sockets: number
  /** What each socket asks to be shown: the newest of it, for whoever pans a map subscribes many times. */
  asked: Map<Socket, () => void>
  serving: boolean
}

const LOOK_AGAIN_MS = 50

/** What the sockets of each user have in common: how many they are, and whose turn it is to be shown something. */
export function createUsers(maxSockets: number, onError: (error: unknown) => void) {
  const users = new Map<string, User>()

  /**
   * To show something costs what its filter names and what its organization has. The next of the same user waits nine
   * times as long as the last one took, so that one who asks without end takes a tenth of the server's time.
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
    /** Counts a socket that is about to be opened. Null where the user has as many as it may; else how to leave. */
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

    /** Calls `show` when it is the user's turn and the socket has read what it was sent, unless it asks again before. */
    ask(userId: string, socket: Socket, show: () => void): void {
      const user = users.get(userId)
      if (!user) return
      user.asked.set(socket, show)
      void serve(user)
    },

    /** The socket wants nothing any more. */
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
