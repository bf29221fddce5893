import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../db/client.ts'

/** What a point takes of two cores, from its packet to its row: 15 µs for 110 bytes (docs/benchmarks.md). */
const MS_A_BYTE = 0.015 / 110
/** Fewer points than that are nobody's hurry. */
const QUIET_SHARE = 0.1
/** Beside points that take all that the machine has, work in the background takes a tenth. */
const REST = 9
const MAX_REST_MS = 10_000
/** Points are stored many at once: less time says nothing of how many come. */
const LOOK_MS = 200

/**
 * For work in the background that could take all that the machine has, between two pieces of it: rests longer, the more
 * points were stored since the last piece. So an import goes at full speed on a quiet machine, and takes hardly anything
 * from devices on a busy one. It knows the points that this process stores.
 */
export function createGiveWay(
  { writer }: Pick<Database, 'writer'>,
  signal: AbortSignal,
): () => Promise<void> {
  let begun = performance.now()
  let copied = writer.copiedBytes()
  return async () => {
    const workedMs = performance.now() - begun
    if (workedMs < LOOK_MS) return
    const share = Math.min(((writer.copiedBytes() - copied) * MS_A_BYTE) / workedMs, 1)
    // Whoever stops it is heard by the next piece.
    if (share > QUIET_SHARE)
      await sleep(Math.min(workedMs * REST * share, MAX_REST_MS), null, { signal }).catch(() => {})
    begun = performance.now()
    copied = writer.copiedBytes()
  }
}
