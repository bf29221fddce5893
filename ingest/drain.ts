import { setTimeout as sleep } from 'node:timers/promises'

/** What has connections to the process and ends them in order. */
export interface Draining {
  /** Opens nothing that stays. Returns how each connection that does is told to end, which then ends by itself. */
  begin(): (() => void)[]
  /** Carries out nothing new: what is under way is finished. */
  refuse?(): void
  /** Connections that are left; of those that nothing is under way on, it closes what never stays. */
  remaining(): number
}

/** Few of them end sooner than many: a second or two for a fleet of forty. */
const MIN_PER_SECOND = 20
const TICK_MS = 20
/** Of the time, for new requests and connections that stay; the rest is for what is under way then. */
const SERVING_SHARE = 2 / 3

/**
 * Ends in order what is connected, at the most for `withinMs`. Devices and screens are told to go one after the other, since
 * they come to another process at once. Requests are answered meanwhile, new ones too: whoever shares them out
 * among processes sees by `/ready` that this one goes, and not at once.
 */
export async function drain(parts: readonly Draining[], withinMs: number): Promise<void> {
  const begun = performance.now()
  const servingMs = withinMs * SERVING_SHARE
  const isOver = (ms: number) => performance.now() - begun >= ms
  const endings = parts.flatMap(part => part.begin())
  const closing = closeEvenly(endings, servingMs)
  let isRefusing = false
  while (!isOver(withinMs)) {
    // What had arrived before is read first, and counts.
    await sleep(TICK_MS)
    if (!isRefusing && isOver(servingMs)) {
      isRefusing = true
      for (const part of parts) part.refuse?.()
    }
    if (parts.reduce((sum, part) => sum + part.remaining(), 0) === 0) break
  }
  await closing
}

/** Calls one after the other at an even rate, all of them within `withinMs`. */
export async function closeEvenly(endings: readonly (() => void)[], withinMs: number): Promise<void> {
  const begun = performance.now()
  for (let ended = 0; ended < endings.length; ) {
    const share = withinMs > 0 ? (performance.now() - begun) / withinMs : 1
    const due = Math.max(share * endings.length, (share * withinMs * MIN_PER_SECOND) / 1_000)
    for (; ended < endings.length && ended <= due; ended++) endings[ended]?.()
    if (ended < endings.length) await sleep(TICK_MS)
  }
}
