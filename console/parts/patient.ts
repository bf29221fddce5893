import { useSyncExternalStore } from 'react'

const AGAIN_AFTER_MS = 2_000
/** Until then tiles of the map are on their way. */
const AHEAD_AFTER_MS = 2_000

let waiting = 0
const listeners = new Set<() => void>()

function count(by: 1 | -1): void {
  waiting += by
  for (const listener of listeners) listener()
}

/** What nobody has opened yet. */
const ahead = new Set<() => Promise<unknown>>()

/**
 * Loads a part of the page when it is opened, or ahead of that. While the server is away it waits for it: the page stays, with
 * what is typed there.
 */
export function patient<T>(load: () => Promise<T>): () => Promise<T> {
  ahead.add(load)
  return async () => {
    try {
      return await load()
    } catch {
      count(1)
      await reachServer().finally(() => count(-1))
      return load()
    }
  }
}

/** Safari has none. */
const whenIdle = window.requestIdleCallback ?? ((step: () => void) => setTimeout(step, 200))

/**
 * Loads what was not opened yet, one part after the other, whenever the browser has nothing else to do: it opens then whether or not
 * the server is there. Where data is dear it comes when it is opened. Answers how to stop.
 */
export function loadAhead(): () => void {
  const { connection } = navigator as { connection?: { saveData: boolean } }
  if (connection?.saveData) return () => {}
  let isStopped = false
  const step = () => {
    const [load] = ahead
    if (!load || isStopped) return
    load().then(
      () => {
        ahead.delete(load)
        whenIdle(step)
      },
      // The server is away: it goes on when the page is live again.
      () => {},
    )
  }
  const timer = setTimeout(() => whenIdle(step), AHEAD_AFTER_MS)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

async function reachServer(): Promise<void> {
  for (;;) {
    try {
      await fetch('/health')
      return
    } catch {
      await new Promise(resolve => setTimeout(resolve, AGAIN_AFTER_MS))
    }
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Whether something that was opened waits for the server. */
export const useIsWaiting = (): boolean => useSyncExternalStore(subscribe, () => waiting > 0)
