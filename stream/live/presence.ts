import { isFast as isImpossible } from '../anomalies.ts'
import { distanceM } from '../geometry.ts'

/**
 * Whether a subject moves, stands, or is silent: told from its newest fix, where it was before, and the time.
 *
 * `moving` is above 1 m/s by the device's own word, or more than 25 m from where it stood 60 s before the fix. Either says
 * something of a minute: a subject that has fallen silent is `idle` a minute after its newest fix, and `offline` when it is as
 * old as the organization's `settings.offlineAfterMinutes` say.
 */
export type State = 'moving' | 'idle' | 'offline'

export const DEFAULT_OFFLINE_AFTER_MS = 10 * 60_000

const MOVING_ABOVE_MPS = 1
const MOVED_OVER_M = 25
const MOVED_WITHIN_MS = 60_000
/** Of a minute that makes seven places of 24 bytes at the most, however often a device sends. */
const REMEMBERED_EVERY_MS = 10_000
const VALUES = 3

interface Place {
  recordedAt: number
  lat: number
  lng: number
}

/** What of a subject's fixes decides its state, beside the time. */
export interface Motion {
  /** Where it was: time, latitude and longitude of each place, the oldest of them where it stood a minute ago. */
  past: number[]
  moves: boolean
}

/** The motion with the first fix that is known of a subject. */
export const firstMotion = (speed: number | null): Motion => ({ past: [], moves: isFast(speed) })

/** Takes the next fix of a subject; `before` is the one that was its newest. */
export function follow(motion: Motion, before: Place, fix: Place & { speed: number | null }): void {
  const { past } = motion
  if (isWorthIt(past, before, fix)) past.push(before.recordedAt, before.lat, before.lng)
  const since = fix.recordedAt - MOVED_WITHIN_MS
  while (past.length > VALUES && (past[VALUES] as number) <= since) past.splice(0, VALUES)
  const [, lat, lng] = past as [number, number, number]
  motion.moves = isFast(fix.speed) || distanceM({ lat, lng }, fix) > MOVED_OVER_M
}

/** Where it was some time after the last place that is remembered, unless it has jumped there and back. */
function isWorthIt(past: readonly number[], before: Place, fix: Place): boolean {
  if (past.length === 0) return true
  const [recordedAt, lat, lng] = past.slice(-VALUES) as [number, number, number]
  if (before.recordedAt - recordedAt < REMEMBERED_EVERY_MS) return false
  return !(isImpossible({ recordedAt, lat, lng }, before) && isImpossible(before, fix))
}

const isFast = (speed: number | null) => speed !== null && speed > MOVING_ABOVE_MPS

export function stateAt(now: number, recordedAt: number, moves: boolean, offlineAfterMs: number): State {
  const ageMs = now - recordedAt
  if (ageMs >= offlineAfterMs) return 'offline'
  return moves && ageMs < MOVED_WITHIN_MS ? 'moving' : 'idle'
}

/** When the state becomes another by the time alone. */
export function changesAt(recordedAt: number, moves: boolean, offlineAfterMs: number): number[] {
  const offlineAt = recordedAt + offlineAfterMs
  const idleAt = recordedAt + MOVED_WITHIN_MS
  return moves && idleAt < offlineAt ? [idleAt, offlineAt] : [offlineAt]
}
