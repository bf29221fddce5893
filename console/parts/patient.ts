import { lazy, useSyncExternalStore } from 'react'

const AGAIN_AFTER_MS = 2_000
/** A server that stands still takes a connection and says nothing. */
const REACHED_WITHIN_MS = 5_000
/** Until then tiles of the map are on their way. */
const AHEAD_AFTER_MS = 2_000

const counts = { waiting: 0, failed: 0 }
const listeners = new Set<() => void>()

function count(name: keyof typeof counts, by: 1 | -1): void {
  counts[name] += by
  for (const listener of listeners) listener()
}

/** A part of the page did not come though the server is there: it belongs to another version, or was cut off on its way. */
export class PartFailure extends Error {}

/** What nobody has opened yet. */
const ahead = new Set<() => Promise<unknown>>()

/**
 * Loads a part of the page when it is opened, or ahead of that. While the server is away it waits for it: the page stays, with
 * what is typed there. A browser never asks again for a module that it once failed to load, so the server is reached first.
 */
export function patient<T>(load: () => Promise<T>): () => Promise<T> {
  ahead.add(load)
  return async () => {
    if (ahead.has(load)) await reachServer()
    try {
      const part = await load()
      ahead.delete(load)
      return part
    } catch (cause) {
      await reachServer()
      throw new PartFailure('A part of the page could not be loaded', { cause })
    }
  }
}

/** Where it does not come the page stays as it is, and says so as soon as the server is there to load it anew. */
export const orStay = <T>(loaded: Promise<T>): Promise<T> =>
  loaded.catch(async () => {
    await reachServer()
    count('failed', 1)
    return new Promise<never>(() => {})
  })

/** A part that is shown within a page as soon as it has come. What is around it stays, also where it does not come. */
export const part: typeof lazy = load => {
  const patiently = patient(load)
  return lazy(() => orStay(patiently()))
}

/** Loads what takes the place of something that is there until it has come, and is not loaded ahead. */
export const replacement = <T>(load: () => Promise<T>): Promise<T> => orStay(reachServer().then(load))

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
  const step = async () => {
    const [load] = ahead
    if (!load || isStopped) return
    try {
      await reach()
      await load()
      ahead.delete(load)
      whenIdle(step)
    } catch {
      // The server is away: it goes on when the page is live again.
    }
  }
  const timer = setTimeout(() => whenIdle(step), AHEAD_AFTER_MS)
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

/** Whether something that was opened waits for the server. */
export const useIsWaiting = (): boolean => useSyncExternalStore(subscribe, () => counts.waiting > 0)

/** How many parts of a page did not come. */
export const useFailedParts = (): number => useSyncExternalStore(subscribe, () => counts.failed)
