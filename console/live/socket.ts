import type { Changes } from './changes.ts'
import type { FromThread, ToThread } from './socket-thread.ts'

interface SocketEvents {
  onOpened(): void
  onChanged(changes: Changes): void
  /** `code`: the server's, where it is one. */
  onClosed(code?: number): void
}

/** One live socket after the other, in a thread of its own. Nothing is heard of one that was closed or followed by another. */
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
    // Its file could not be loaded, or what came was no message: whoever opens again starts another one.
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
