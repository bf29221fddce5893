import type { Changes } from './changes.ts'
import type { FromThread, ToThread } from './socket-thread.ts'

interface SocketEvents {
  onOpened(): void
  onChanged(changes: Changes): void
  /** `code`: the close code of the server, if there is one. */
  onClosed(code?: number): void
}

/** A live socket in a thread of its own, one after the other. Events of a socket that was closed or replaced are ignored. */
export function createSocket(events: SocketEvents) {
  let thread: Worker | null = null
  let socket = 0
  const ask = (order: ToThread) => thread?.postMessage(order)

  function start(): Worker {
    const started = new Worker(new URL('./socket-thread.ts', import.meta.url), { type: 'module' })
    started.onmessage = ({ data }: MessageEvent<FromThread>) => {
      try {
        if (data.socket !== socket) return
        if (data.what === 'opened') events.onOpened()
        else if (data.what === 'closed') events.onClosed(data.code)
        else events.onChanged(data.changes)
      } finally {
        if (data.what === 'changed') ask({ do: 'taken' })
      }
    }
    // The thread's file could not be loaded, or a message was invalid: the next open starts a new thread.
    started.onerror = () => {
      end()
      events.onClosed()
    }
    return started
  }
  function end() {
    thread?.terminate()
    thread = null
    socket++
  }

  return {
    open(url: string, token: string) {
      thread ??= start()
      ask({ do: 'open', socket: ++socket, url, token })
    },
    say: (message: object) => ask({ do: 'say', text: JSON.stringify(message) }),
    close() {
      socket++
      ask({ do: 'close' })
    },
    end,
  }
}
