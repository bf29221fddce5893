import { useSyncExternalStore } from 'react'

const AGAIN_AFTER_MS = 2_000

let waiting = 0
const listeners = new Set<() => void>()

function count(by: 1 | -1): void {
  waiting += by
  for (const listener of listeners) listener()
}

/** Loads a part of the page. While the server is away it waits for it: the page stays, with what is typed there. */
export const patient =
  <T>(load: () => Promise<T>) =>
  async (): Promise<T> => {
    try {
      return await load()
    } catch {
      count(1)
      await reachServer().finally(() => count(-1))
      return load()
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
