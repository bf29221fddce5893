import { ZERO_MPS } from '../../texts/format.ts'

/** The server takes what is faster for moving, as long as it is news. */
const IDLE_MPS = 1

/**
 * The speed of its newest fix, where that goes with what is seen of it: some of what moves by its way say 0, and one that
 * has fallen silent says how fast it was.
 */
export function readSpeed({
  state,
  speed,
}: {
  state: 'moving' | 'idle' | 'offline'
  speed: number | null
}): number | null {
  if (speed === null || state === 'offline') return null
  return (state === 'moving' ? speed >= ZERO_MPS : speed <= IDLE_MPS) ? speed : null
}
