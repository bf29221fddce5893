import { lazy, useSyncExternalStore } from 'react'

const AGAIN_AFTER_MS = 2_000
/** A server that hangs accepts a connection and sends nothing. */
const REACHED_WITHIN_MS = 5_000
/** The tiles of the map load first. */
const PRELOAD_AFTER_MS = 2_000

const counts = { waiting: 0, failed: 0 }
const listeners = new Set<() => void>()

function count(name: keyof typeof counts, by: 1 | -1): void {
  counts[name] += by
  for (const listener of listeners) listener()
}

/**
 * A part of the page failed to load although the server answers: the server has another version of it, or the download was cut
 * off.
 */
export class LoadFailure extends Error {}

/** The parts that are not loaded yet. */
const notLoaded = new Set<() => Promise<unknown>>()

/**
 * Makes a loader of a part of the page that waits while the server is away. The page stays meanwhile, with everything typed into
 * it. A browser never requests a module again that it once failed to load, so the loader reaches the server first. The part is
 * also loaded by `preload`. Throws a LoadFailure.
 */
export function withRetry<T>(load: () => Promise<T>): () => Promise<T> {
  notLoaded.add(load)
  return async () => {
    if (notLoaded.has(load)) await reachServer()
    try {
      const part = await load()
      notLoaded.delete(load)
      return part
    } catch (cause) {
      await reachServer()
      throw new LoadFailure('A part of the page could not be loaded', { cause })
    }
  }
}

/** Has `preload` load a part that its page loads in another way. */
export const alsoPreload = (load: () => Promise<unknown>): void => void notLoaded.add(load)

/** Never settles when a part fails to load: the page stays as it is, and offers to reload itself once the server answers. */
export const orAskToReload = <T>(loaded: Promise<T>): Promise<T> =>
  loaded.catch(async () => {
    await reachServer()
    count('failed', 1)
    return new Promise<never>(() => {})
  })

/** React's `lazy` for a part within a page. The rest of the page stays when the part fails to load. */
export const lazyWithRetry: typeof lazy = load => {
  const loadPart = withRetry(load)
  return lazy(() => orAskToReload(loadPart()))
}

/** Loads a part that replaces a shown one, such as another language. It is not preloaded. */
export const loadReplacement = <T>(load: () => Promise<T>): Promise<T> =>
  orAskToReload(reachServer().then(load))

/** Safari has no requestIdleCallback. */
const whenIdle = window.requestIdleCallback ?? ((step: () => void) => setTimeout(step, 200))

/**
 * Loads the remaining parts one after the other while the browser is idle, so that they open without the server too. Loads nothing
 * in a browser that saves data. Returns a function that stops it.
 */
export function preload(): () => void {
  const { connection } = navigator as { connection?: { saveData: boolean } }
  if (connection?.saveData) return () => {}
  let isStopped = false
  const step = async () => {
    const [load] = notLoaded
    if (!load || isStopped) return
    try {
      await reach()
      await load()
      notLoaded.delete(load)
      whenIdle(step)
    } catch {
      // The server is away. The caller starts again when the page is live.
    }
  }
  const timer = setTimeout(() => whenIdle(step), PRELOAD_AFTER_MS)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

async function reachServer(): Promise<void> {
  try {
    await reach()
  } catch {
    count('waiting', 1)
    try {
      await reachAgain()
    } finally {
      count('waiting', -1)
    }
  }
}

async function reachAgain(): Promise<void> {
  for (;;) {
    await new Promise(resolve => setTimeout(resolve, AGAIN_AFTER_MS))
    try {
      await reach()
      return
    } catch {}
  }
}

const reach = async () =>
  (await fetch('/health', { signal: AbortSignal.timeout(REACHED_WITHIN_MS) })).arrayBuffer()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Whether a part that somebody opened waits for the server. */
export const useIsWaitingForServer = (): boolean => useSyncExternalStore(subscribe, () => counts.waiting > 0)

/** The number of parts that failed to load. */
export const useFailedLoads = (): number => useSyncExternalStore(subscribe, () => counts.failed)
