/** A part of the process that has connections and ends them in order. */
export interface Draining {
  /**
   * Refuses new lasting connections (MQTT, WebSocket). Returns a function for each open one, which asks it to end by
   * itself.
   */
  begin(): (() => void)[]
  /** Refuses new work, and finishes the work under way. */
  refuse?(): void
  /** Accepts no more connections. The open ones go on. */
  stopListening?(): void
  /** Closes idle connections between two HTTP requests, and returns the number of connections that are left. */
  remaining(): number
}

/** With few connections the end comes sooner: a second or two for a fleet of forty. */
const MIN_PER_SECOND = 20
const TICK_MS = 20
/** The share of the time in which new requests are served and lasting connections end; the rest is for work under way. */
const SERVING_SHARE = 2 / 3

/**
 * Ends all connections in order, within `withinMs`. Devices and screens are asked to go one after the other, because
 * they reconnect to another process at once. Meanwhile requests are answered, even new ones: a load balancer learns
 * from `/ready` that this process is ending, but only after a while.
 */
export async function drain(parts: readonly Draining[], withinMs: number): Promise<void> {
  const begun = performance.now()
  const servingMs = withinMs * SERVING_SHARE
  const isOver = (ms: number) => performance.now() - begun >= ms
  const endings = parts.flatMap(part => part.begin())
  const closing = closeEvenly(endings, servingMs)
  let isRefusing = false
  let isListening = true
  while (!isOver(withinMs)) {
    // Requests that arrived before are read first, and count as under way.
    await sleep(TICK_MS)
    if (!isRefusing && isOver(servingMs)) {
      isRefusing = true
      for (const part of parts) part.refuse?.()
    }
    if (parts.reduce((sum, part) => sum + part.remaining(), 0) > 0) continue
    if (!isListening) break
    // A connection that was accepted before this has its requests answered as well.
    isListening = false
    for (const part of parts) part.stopListening?.()
  }
  await closing
}

/** Calls the functions one after the other at an even rate, all of them within `withinMs`. */
export async function closeEvenly(endings: readonly (() => void)[], withinMs: number): Promise<void> {
  const begun = performance.now()
  for (let ended = 0; ended < endings.length; ) {
    const share = withinMs > 0 ? (performance.now() - begun) / withinMs : 1
    const due = Math.max(share * endings.length, (share * withinMs * MIN_PER_SECOND) / 1_000)
    for (; ended < endings.length && ended <= due; ended++) endings[ended]?.()
    if (ended < endings.length) await sleep(TICK_MS)
  }
}

/** By the global timer, which a test can move on; the one of `node:timers/promises` it cannot. */
const sleep = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))
