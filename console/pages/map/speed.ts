import type { Position } from '../../live/packed.ts'
import { ZERO_MPS } from '../../texts/format.ts'

/** The server's limit: a faster subject counts as moving, while its position is new. */
const IDLE_MPS = 1

/** Whether its last fix had it moving and none has come since, for a minute or more. */
export const hasFallenSilent = ({ state, speed }: Pick<Position, 'state' | 'speed'>): boolean =>
  state === 'idle' && speed !== null && speed > IDLE_MPS

/**
 * The speed of the newest fix, if it agrees with the state. Some devices send 0 while they move, and a silent one keeps its
 * last speed.
 */
export function readSpeed({ state, speed }: Pick<Position, 'state' | 'speed'>): number | null {
  if (speed === null || state === 'offline') return null
  return (state === 'moving' ? speed >= ZERO_MPS : speed <= IDLE_MPS) ? speed : null
}
