import { ZERO_MPS } from '../../texts/format.ts'

/** The server's limit: a faster subject counts as moving, while its position is new. */
const IDLE_MPS = 1

/**
 * The speed of the newest fix, if it agrees with the state. Some devices send 0 while they move, and a silent one keeps its
 * last speed.
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
